"""The page of the hosts' use: hours to a week of the past, joined at *now* to what is planned, by class or user.

Where tasks share hosts it is the use of their cores, memory or GPUs.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from dataclasses import dataclass
from datetime import tzinfo
from typing import Annotated

from fastapi import Query, Request, Response

from cosched.access.principals import Principal
from cosched.api.documents import ResourceUseView, ShareView, UtilisationView
from cosched.api.problems import ConflictError
from cosched.app.figures.utilisation import OTHERS, UsedResource, UseGrouping, utilisation
from cosched.app.services import DomainServices
from cosched.drawing.axes import Axis, AxisKind
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page, zone_of
from cosched.sizes import format_memory

__all__ = ["UseChart", "router", "shares_in_force", "use_chart"]

_SPANS = {"1h": 3600.0, "6h": 6 * 3600.0, "1d": 86400.0, "7d": 7 * 86400.0}
_GIBIBYTE = 1024.0  # in MiB
_WIDTH, _HEIGHT = 1180.0, 220.0


@dataclass(frozen=True, slots=True)
class UseArea:
    """A group's area: SVG path, colour, and the shares of all that there is: it had, has and is to have."""

    name: str
    path: str
    colour: str
    past: float
    now: float
    planned: float


@dataclass(frozen=True, slots=True)
class UseChart:
    """The chart, in SVG units.

    Attributes:
        areas: from the lowest up.
        now: where the future begins.
        hours: places and words of the ticks across.
        counts: likewise upwards.
        columns: x, width and what is told of each part of the time.
    """

    areas: tuple[UseArea, ...]
    now: float
    hours: tuple[tuple[float, str], ...]
    counts: tuple[tuple[float, str], ...]
    columns: tuple[tuple[float, float, str], ...]
    width: float = _WIDTH
    height: float = _HEIGHT


def use_chart(use: ResourceUseView, found: UtilisationView, zone: tzinfo | None) -> UseChart:
    """Lay the areas of a resource's groups out, one on the other.

    Args:
        use: the resource.
        found: of which times.
        zone: time zone of the reader.
    """
    past, unit = found.past_parts, _GIBIBYTE if use.resource == UsedResource.MEMORY else 1.0
    words = {UsedResource.MEMORY: "GiB of memory", UsedResource.GPUS: "GPUs"}.get(
        UsedResource(use.resource), use.resource
    )
    most, parts = max(use.total / unit, 1.0), max((len(group.amounts) for group in use.groups), default=past)
    window, step = (found.since, found.until), _WIDTH / parts
    clock = Axis(window, _WIDTH, AxisKind.CLOCK, zone)
    below, areas = [0.0] * parts, []
    told = [[clock.words(found.since + number * found.part)] for number in range(parts)]
    for number, group in enumerate(use.groups):
        amounts = [amount / unit for amount in group.amounts]
        above = [low + amount for low, amount in zip(below, amounts, strict=True)]
        edge = "".join(f"V{_y(high, most)}h{step:.3f}" for high in above)
        back = "".join(f"V{_y(low, most)}h-{step:.3f}" for low in reversed(below))
        colour = "c10" if group.name == OTHERS else f"c{number % 10}"
        path = f"M0 {_y(below[0], most)}{edge}{back}z"
        areas.append(UseArea(group.name, path, colour, group.past, group.now, group.planned))
        for lines, amount in zip(told, amounts, strict=True):
            if amount >= 0.05:
                lines.append(f"{group.name}: {amount:.3g} {words}")
        below = above
    upwards = Axis((0.0, most), _HEIGHT, AxisKind.COUNT)
    return UseChart(
        areas=tuple(areas),
        now=step * past,
        hours=tuple((clock.at(value), text) for value, text in clock.ticks),
        counts=tuple((_HEIGHT - upwards.at(value), text) for value, text in upwards.ticks),
        columns=tuple(
            (number * step, step, "\n".join((lines[0] + (", planned" if number >= past else ""), *lines[1:])))
            for number, lines in enumerate(told)
        ),
    )


def _y(count: float, most: float) -> str:
    return f"{_HEIGHT * (1 - min(count / most, 1.0)):.2f}"


router = page_router()


@router.get("/utilisation")
def utilised(
    request: Request,
    services: Services,
    principal: Reader,
    span: Annotated[str, Query(max_length=8)] = "1d",
    by: UseGrouping = UseGrouping.CLASS,
    of: UsedResource = UsedResource.CORES,
) -> Response:
    span = span if span in _SPANS else "1d"
    found = utilisation(services, principal, _SPANS[span], by, time.time())
    shown = next((each for each in found.resources if each.resource == of), found.resources[0])
    return render_page(
        request,
        "utilisation.html",
        chart=use_chart(shown, found, zone_of(request)),
        use=shown,
        amount=_amount_text(shown),
        found=found,
        spans=_SPANS,
        span=span,
        by=by,
        groupings=list(UseGrouping),
        shares=shares_in_force(services, principal),
    )


def _amount_text(use: ResourceUseView) -> str:
    """Tell how much there is of a resource."""
    return format_memory(round(use.total)) if use.resource == UsedResource.MEMORY else f"{use.total:g}"


def shares_in_force(services: DomainServices, principal: Principal) -> list[ShareView]:
    """Return what groups and users are entitled to and have had; none where no shares are in force."""
    try:
        return services.shares.shares(principal)
    except ConflictError:
        return []
