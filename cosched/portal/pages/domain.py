"""The domain: its hosts and how busy they are, its neighbours, how right predictions were, and what has happened."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import math
import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from cosched.access.principal import Scope
from cosched.portal.documents import Accuracy
from cosched.portal.identity import Asker, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service
from cosched.portal.pages.rendering import Renderer
from cosched.portal.pages.utilisation import busy_course, busy_shares, classes_of, spans_of

__all__ = ["routes"]

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
        window = now - _HOUR, now
        spans = spans_of(insight.runs(asker, now - _HOUR), service.plan(asker), now)
        busy = busy_shares(hosts, spans, window)
        return renderer.page(
            request,
            "domain.html",
            hosts=hosts,
            busy=busy,
            course=busy_course(hosts, spans, window),
            busy_mean=sum(busy.values()) / len(busy) if busy else 0.0,
            classes=classes_of(hosts, busy),
            peers=service.peers(),
            network=service.network(),
            accuracy=[_strip(entry) for entry in insight.accuracy()],
            log=insight.log(asker, _LINES, (page - 1) * _LINES),
            page=page,
        )

    return router


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
