"""The domain: its hosts and how busy they are, its neighbours, how right predictions were, and what has happened."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from cosched.access.principal import Scope
from cosched.portal.documents import Accuracy, HostView, PlanView, RunView
from cosched.portal.identity import Asker, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service
from cosched.portal.pages.rendering import Renderer

__all__ = ["busy_shares", "routes"]

_HOUR = 3600.0
_LINES = 50
_OFF = 2.0  # the strip of an application's runs goes from half to twice the prediction
_NEAR = 0.1


def routes(service: Service, insight: Insight, renderer: Renderer) -> APIRouter:
    """Return the route of the domain's page."""
    router = APIRouter(dependencies=[needs(Scope.READ)])

    @router.get("/domain")
    def domain(request: Request, asker: Asker, page: Annotated[int, Query(ge=1, le=10**7)] = 1) -> Response:
        now = time.time()
        hosts = service.hosts(asker)
        busy = busy_shares(hosts, insight.runs(asker, now - _HOUR), service.plan(asker), (now - _HOUR, now))
        return renderer.page(
            request, "domain.html", hosts=hosts, busy=busy, busy_mean=sum(busy.values()) / len(busy) if busy else 0.0,
            classes=sorted({host.host_class for host in hosts if host.host_class}),
            peers=service.peers(),
            accuracy=[_strip(entry) for entry in insight.accuracy()],
            log=insight.log(asker, _LINES, (page - 1) * _LINES), page=page,
        )  # fmt: skip

    return router


def busy_shares(hosts: Sequence[HostView], runs: Sequence[RunView], plan: PlanView,
                window: tuple[float, float]) -> dict[str, float]:  # fmt: skip
    """Return for each host the share of a time that tasks of ours ran on it."""
    left, right = window
    seconds = {host.name: 0.0 for host in hosts}
    spans = [(run.hosts, run.start, run.end) for run in runs]
    spans += [(spot.hosts, spot.start, right) for spot in plan.placements if spot.running]
    for names, start, end in spans:
        for name in names:
            if name in seconds:
                seconds[name] += max(min(end, right) - max(start, left), 0.0)
    return {name: min(spent / (right - left), 1.0) for name, spent in seconds.items()}


@dataclass(frozen=True, slots=True)
class _Strip:
    """How right the predictions of one application on one hardware were.

    Attributes:
        entry: what is known.
        dots: of the runs, 0 (half of the predicted time or less) to 100 (twice that or more).
        near: share of the runs within 10 % of their prediction.
        middle: the median of measured / predicted.
    """

    entry: Accuracy
    dots: tuple[float, ...]
    near: float
    middle: float


def _strip(entry: Accuracy) -> _Strip:
    ratios = sorted(entry.ratios)
    dots = tuple(
        round(50 + 50 * math.log(min(max(ratio, 1 / _OFF), _OFF)) / math.log(_OFF), 1) for ratio in entry.ratios
    )
    near = sum(abs(ratio - 1) <= _NEAR for ratio in ratios) / len(ratios)
    return _Strip(entry, dots, near, ratios[len(ratios) // 2])
