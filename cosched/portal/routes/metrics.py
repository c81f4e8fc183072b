"""Routes of monitoring: life, readiness and Prometheus metrics."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import math
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cosched.access.principals import Principal, Role, Scope
from cosched.app.services import DomainServices
from cosched.errors import CoschedError
from cosched.portal.dependencies import Portal, Services, needs

__all__ = ["register_metrics", "router"]

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
def metrics(portal: Portal) -> Response:
    return Response(generate_latest(portal.registry), media_type=_MEDIA_TYPE)


@router.get("/readyz", include_in_schema=False)
def ready(services: Services) -> Response:
    try:
        faults = len(services.domain.status(_OURSELVES).faults)
    except CoschedError:
        faults = 1
    words = "ready\n" if not faults else "not ready: see the faults in /api/v1/status\n"
    status = HTTPStatus.OK if not faults else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(words, status, media_type="text/plain; charset=utf-8")


class _DomainCollector(Collector):
    """What the daemon says of its domain when it is asked."""

    def __init__(self, services: DomainServices) -> None:
        self._services = services

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        status, plan = self._services.domain.status(_OURSELVES), self._services.domain.plan(_OURSELVES)
        yield _labelled(GaugeMetricFamily, "cosched_tasks", "Tasks in the database.", "state", status.tasks)
        hosts = {"up": status.hosts_up, "down": status.hosts_down}
        yield _labelled(GaugeMetricFamily, "cosched_hosts", "Hosts of the domain.", "state", hosts)
        yield GaugeMetricFamily("cosched_faults", "What does not work.", len(status.faults))
        yield GaugeMetricFamily("cosched_plan_makespan_seconds", "Seconds until all is done.", plan.makespan)
        gap = math.nan if plan.gap is None else plan.gap  # not known before the search has said it
        yield GaugeMetricFamily("cosched_plan_gap_ratio", "How far the plan is above its lower bound.", gap)
        late = sum(spot.deadline is not None and spot.end > spot.deadline for spot in plan.placements)
        yield GaugeMetricFamily("cosched_plan_late_tasks", "Tasks planned to end after their deadlines.", late)
        running = sum(spot.running for spot in plan.placements)
        yield GaugeMetricFamily("cosched_plan_running_tasks", "Tasks that hold hosts.", running)
        yield _labelled(
            CounterMetricFamily, "cosched_manager_calls", "Calls of the resource manager.", "verb", status.calls
        )


def _labelled(kind: Any, name: str, text: str, label: str, values: Any) -> Metric:
    family: Metric = kind(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)  # type: ignore[attr-defined]  # of every kind but the base
    return family
