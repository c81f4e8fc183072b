"""Routes of monitoring: life, readiness and Prometheus metrics."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import math
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cosched.access.principals import Principal, Role, Scope
from cosched.app.figures.deadline_outlook import deadlines
from cosched.app.services import DomainServices
from cosched.portal.dependencies import Portal, needs

__all__ = ["register_metrics", "router"]

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_GOES_ON = ("mistake: ", "not started: ")  # faults beside which cosched does its work
_OURSELVES = Principal("cosched", Role.ADMINISTRATOR)


router = APIRouter()


def register_metrics(registry: CollectorRegistry, services: DomainServices) -> None:
    """Have a registry tell of a domain and of this process."""
    registry.register(_DomainCollector(services))
    ProcessCollector(registry=registry)


@router.get("/healthz", response_class=PlainTextResponse)
async def _health() -> str:
    """Answer while the server lives."""
    return "ok\n"


@router.get("/metrics", include_in_schema=False, dependencies=[needs(Scope.METRICS)])
async def metrics(portal: Portal) -> Response:
    text = await to_thread.run_sync(generate_latest, portal.registry, limiter=portal.watchers)
    return Response(text, media_type=_MEDIA_TYPE)


@router.get("/readyz", include_in_schema=False)
async def ready(portal: Portal) -> Response:
    found = await to_thread.run_sync(portal.services.domain.status, _OURSELVES, limiter=portal.watchers)
    faults = [fault for fault in found.faults if not fault.startswith(_GOES_ON)]
    words = "ready\n" if not faults else "not ready: see the faults in /api/v1/status\n"
    status = HTTPStatus.OK if not faults else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(words, status, media_type="text/plain; charset=utf-8")


class _DomainCollector(Collector):
    """Collects the metrics of the domain whenever they are asked for."""

    def __init__(self, services: DomainServices) -> None:
        self._services = services

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        status = self._services.domain.status(_OURSELVES)
        yield _labelled(GaugeMetricFamily, "cosched_tasks", "Tasks in the database.", "state", status.tasks)
        hosts = {"up": status.hosts_up, "down": status.hosts_down}
        yield _labelled(GaugeMetricFamily, "cosched_hosts", "Hosts of the domain.", "state", hosts)
        yield GaugeMetricFamily("cosched_faults", "What does not work.", len(status.faults))
        mistakes = self._services.domain.mistakes()
        yield CounterMetricFamily("cosched_mistakes", "Events that cosched could not handle.", mistakes)
        refused = self._services.domain.refused_letters()
        yield _labelled(CounterMetricFamily, "cosched_refused_letters", "Letters refused.", "peer", refused)
        yield _labelled(
            CounterMetricFamily, "cosched_manager_calls", "Calls of the resource manager.", "verb", status.calls
        )
        if status.as_of is None or status.as_of == status.time:
            yield from self._plan()
            yield from self._elastic()

    def _plan(self) -> Iterator[Metric]:
        """Measure the plan; it is the core's, which may not answer."""
        plan = self._services.domain.plan(_OURSELVES)
        yield GaugeMetricFamily("cosched_plan_makespan_seconds", "Seconds until all is done.", plan.makespan)
        gap = math.nan if plan.gap is None else plan.gap  # not known before the search has said it
        yield GaugeMetricFamily("cosched_plan_gap_ratio", "How far the plan is above its lower bound.", gap)
        late = len(deadlines(plan).late)
        yield GaugeMetricFamily(
            "cosched_plan_late_tasks", "Tasks that are late for their deadlines, or planned to be.", late
        )
        unstarted = sum(spot.unstarted > 0 for spot in plan.placements)
        yield GaugeMetricFamily("cosched_plan_unstarted_tasks", "Jobs that should have begun, and have not.", unstarted)
        over = sum(spot.overrun > 0 for spot in plan.placements)
        yield GaugeMetricFamily("cosched_plan_overrun_tasks", "Tasks that run longer than predicted.", over)
        called_back = plan.called_back
        yield CounterMetricFamily("cosched_called_back", "Jobs that had not begun.", called_back)
        running = sum(spot.occupies and not spot.lent for spot in plan.placements)
        yield GaugeMetricFamily("cosched_plan_running_tasks", "Tasks that hold hosts.", running)

    def _elastic(self) -> Iterator[Metric]:
        """Count the workers of elastic tasks; the core knows them, which may not answer."""
        found = self._services.elastic.counts()
        yield GaugeMetricFamily("cosched_elastic_tasks", "Elastic tasks that run.", found.tasks)
        workers = {"running": found.running, "wanted": found.wanted, "lent": found.lent, "leaving": found.leaving}
        words = "Workers of elastic tasks: running, wanted, on lent hosts, and leaving."
        yield _labelled(GaugeMetricFamily, "cosched_elastic_workers", words, "kind", workers)
        words = "Seconds that a worker takes to leave, as learnt."
        yield GaugeMetricFamily("cosched_elastic_drain_seconds", words, found.drain)
        words = "Hosts on which elastic tasks run, those of their leads among them."
        yield GaugeMetricFamily("cosched_elastic_width", words, found.width)
        resizes = {"grow": found.resizes.grown, "shrink": found.resizes.shrunk}
        words = "Hosts that elastic tasks were lent, and that they left as they were told."
        yield _labelled(CounterMetricFamily, "cosched_elastic_resizes", words, "direction", resizes)
        words = "Jobs of elastic tasks that were ended by force, for they had not gone in time."
        yield CounterMetricFamily("cosched_elastic_forced", words, found.resizes.forced)
        words = "Seconds of hosts that were lent to elastic tasks."
        yield CounterMetricFamily("cosched_elastic_lent_host_seconds", words, found.lent_seconds)


def _labelled(kind: Any, name: str, text: str, label: str, values: Any) -> Metric:
    family: Metric = kind(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)  # type: ignore[attr-defined]  # of every kind but the base
    return family
