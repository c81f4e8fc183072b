"""Figures for Prometheus at /metrics, and whether the daemon can do its work at /readyz."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import math
import time
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cosched.access.principal import Principal, Role, Scope
from cosched.errors import CoschedError
from cosched.portal.identity import needs
from cosched.portal.interface import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as Connection

__all__ = ["Meter", "Requests", "routes"]

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OURSELVES = Principal("cosched", Role.ADMINISTRATOR)
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds


class Requests:
    """Counts requests and how long they took."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._answers = Counter("cosched_http_requests", "Requests answered.", ("method", "status"), registry=registry)
        self._seconds = Histogram(
            "cosched_http_request_seconds",
            "Seconds from a request's head to its answer's.",
            buckets=_BUCKETS,
            registry=registry,
        )

    def count(self, method: str, status: int, seconds: float) -> None:
        """Take note of an answer."""
        known = method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS") else "other"
        self._answers.labels(known, str(status)).inc()
        self._seconds.observe(seconds)


class Meter:
    """ASGI middleware: has every answer counted."""

    def __init__(self, app: "ASGIApp", requests: Requests) -> None:
        """Wrap `app`."""
        self._app = app
        self._requests = requests

    async def __call__(self, scope: "Connection", receive: "Receive", send: "Send") -> None:
        """Pass the request on and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counted(message: "Message") -> None:
            if message["type"] == "http.response.start":
                self._requests.count(scope["method"], message["status"], time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)


def routes(service: Service, registry: CollectorRegistry) -> APIRouter:
    """Return `GET /metrics` and `GET /readyz`."""
    registry.register(_Domain(service))
    ProcessCollector(registry=registry)
    router = APIRouter(include_in_schema=False)

    @router.get("/metrics", dependencies=[needs(Scope.METRICS)])
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type=_MEDIA_TYPE)

    @router.get("/readyz")
    def ready() -> Response:
        try:
            faults = len(service.status(_OURSELVES).faults)
        except CoschedError:
            faults = 1
        words = "ready\n" if not faults else "not ready: see the faults in /api/v1/status\n"
        status = HTTPStatus.OK if not faults else HTTPStatus.SERVICE_UNAVAILABLE
        return Response(words, status, media_type="text/plain; charset=utf-8")

    return router


class _Domain(Collector):
    """What the daemon says of its domain when it is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        status, plan = self._service.status(_OURSELVES), self._service.plan(_OURSELVES)
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
