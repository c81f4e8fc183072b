"""The page of the hosts' use: hours to a week of the past, joined at *now* to what is planned, by class or user."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import StrEnum
from typing import Annotated, NamedTuple

from fastapi import Query, Request, Response

from cosched.access.principals import Principal
from cosched.api.documents import HostView, PlanView, ShareView
from cosched.api.problems import ConflictError
from cosched.app.history import MOST_USES, HostUse
from cosched.app.services import DomainServices
from cosched.drawing.axes import Axis, AxisKind
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page, zone_of

__all__ = [
    "UseChart",
    "UsedSpan",
    "grouped_spans",
    "hosts_in_use",
    "router",
    "shares_in_force",
    "use_chart",
    "use_groups",
]

_SPANS = {"1h": 3600.0, "6h": 6 * 3600.0, "1d": 86400.0, "7d": 7 * 86400.0}
_PARTS = 120  # of the past
_FUTURE = 0.5  # of the past's length, at most
_LEAST = 0.1  # likewise, at least: what is planned soon is seen
_GROUPS = 8  # that have colours of their own
_OTHERS = "others"
_WIDTH, _HEIGHT = 1180.0, 220.0


class UseGrouping(StrEnum):
    """What is told apart."""

    CLASS = "class"
    USER = "user"


class UsedSpan(NamedTuple):
    """How many hosts a group had, from when until when; parts of shared hosts count as parts."""

    group: str
    hosts: float
    start: float
    end: float


def grouped_spans(uses: Iterable[HostUse], hosts: Sequence[HostView], by: UseGrouping) -> list[UsedSpan]:
    """Return the uses of hosts that are there, by the classes of these or by users."""
    known = {host.name: host for host in hosts}
    found = []
    for use in uses:
        counts: dict[str, float] = {}
        for name in use.hosts:
            if (host := known.get(name)) is not None:
                part = min(use.cores / max(host.cores or 1, 1), 1.0) if use.cores else 1.0
                group = host.host_class or "unnamed" if by is UseGrouping.CLASS else use.owner or _OTHERS
                counts[group] = counts.get(group, 0.0) + part
        found += [UsedSpan(group, count, use.start, use.end) for group, count in counts.items()]
    return found


def hosts_in_use(spans: Iterable[UsedSpan], left: float, part: float, parts: int) -> dict[str, list[float]]:
    """Return how many hosts each group had in each of so many parts of a time, on average.

    Args:
        spans: in any order.
        left: where the time begins, epoch seconds.
        part: length of each part, seconds.
        parts: how many.
    """
    found: dict[str, list[float]] = {}
    right = left + part * parts
    for span in spans:
        start, end = max(span.start, left), min(span.end, right)
        if end <= start:
            continue
        counts = found.setdefault(span.group, [0.0] * parts)
        for number in range(int((start - left) / part), min(int((end - left) / part) + 1, parts)):
            begin = left + number * part
            counts[number] += span.hosts * max(min(end, begin + part) - max(start, begin), 0.0) / part
    return found


def use_groups(used: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the largest groups by name; all smaller ones together, and who has no name, are the last one."""
    named = {name: counts for name, counts in used.items() if name != _OTHERS}
    largest = sorted(named, key=lambda name: (-sum(named[name]), name))[:_GROUPS]
    found = {name: list(named[name]) for name in sorted(largest)}
    rest = [counts for name, counts in used.items() if name not in found]
    if rest:
        found[_OTHERS] = [sum(column) for column in zip(*rest, strict=True)]
    return found


@dataclass(frozen=True, slots=True)
class UseArea:
    """A group's area: SVG path, colour, and the shares of all hosts that it had and is to have."""

    name: str
    path: str
    colour: str
    past: float
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


def use_chart(
    groups: Mapping[str, Sequence[float]], hosts: int, window: tuple[float, float], past: int, zone: tzinfo | None
) -> UseChart:
    """Lay the areas out, one on the other.

    Args:
        groups: hosts in use in each part of the time, by group.
        hosts: how many there are.
        window: first and last moment, epoch seconds.
        past: how many of the parts are past.
        zone: time zone of the reader.
    """
    parts = max((len(counts) for counts in groups.values()), default=past)
    most = max(hosts, 1)
    step = _WIDTH / parts
    clock = Axis(window, _WIDTH, AxisKind.CLOCK, zone)
    below = [0.0] * parts
    areas, told = (
        [],
        [[f"{clock.words(window[0] + number * (window[1] - window[0]) / parts)}"] for number in range(parts)],
    )
    for number, (name, counts) in enumerate(groups.items()):
        above = [low + count for low, count in zip(below, counts, strict=True)]
        edge = "".join(f"V{_y(high, most)}h{step:.3f}" for high in above)
        back = "".join(f"V{_y(low, most)}h-{step:.3f}" for low in reversed(below))
        colour = "c10" if name == _OTHERS else f"c{number % 10}"
        shares = [sum(part) / (most * max(len(part), 1)) for part in (counts[:past], counts[past:])]
        areas.append(UseArea(name, f"M0 {_y(below[0], most)}{edge}{back}z", colour, *shares))
        for words, count in zip(told, counts, strict=True):
            if count >= 0.05:
                words.append(f"{name}: {count:.3g} hosts")
        below = above
    counts_axis = Axis((0.0, float(most)), _HEIGHT, AxisKind.COUNT)
    return UseChart(
        areas=tuple(areas),
        now=step * past,
        hours=tuple((clock.at(value), words) for value, words in clock.ticks),
        counts=tuple((_HEIGHT - counts_axis.at(value), words) for value, words in counts_axis.ticks),
        columns=tuple(
            (number * step, step, "\n".join((words[0] + (", planned" if number >= past else ""), *words[1:])))
            for number, words in enumerate(told)
        ),
    )


def _y(count: float, most: int) -> str:
    return f"{_HEIGHT * (1 - min(count / most, 1.0)):.2f}"


router = page_router()


@router.get("/utilisation")
def utilisation(
    request: Request,
    services: Services,
    principal: Reader,
    span: Annotated[str, Query(max_length=8)] = "1d",
    by: UseGrouping = UseGrouping.CLASS,
) -> Response:
    length = _SPANS.get(span, _SPANS["1d"])
    now = time.time()
    part = length / _PARTS
    hosts, plan = services.domain.hosts(principal), services.domain.plan(principal)
    ahead = max((place.end for place in plan.placements), default=now) - now
    parts = _PARTS + round(min(max(ahead, _LEAST * length), _FUTURE * length) / part)
    past = services.history.uses(principal, now - length)
    left = now - length
    used = hosts_in_use(grouped_spans([*past, *_planned(plan)], hosts, by), left, part, parts)
    return render_page(
        request,
        "utilisation.html",
        chart=use_chart(use_groups(used), len(hosts), (left, left + part * parts), _PARTS, zone_of(request)),
        spans=_SPANS,
        span=span if span in _SPANS else "1d",
        by=by,
        groupings=list(UseGrouping),
        hosts=hosts,
        shared=any(host.free is not None for host in hosts),
        shares=shares_in_force(services, principal),
        cut=len(past) >= MOST_USES,
    )


def shares_in_force(services: DomainServices, principal: Principal) -> list[ShareView]:
    """Return what groups and users are entitled to and have had; none where no shares are in force."""
    try:
        return services.shares.shares(principal)
    except ConflictError:
        return []


def _planned(plan: PlanView) -> list[HostUse]:
    """Return what runs and what is planned."""
    return [HostUse(each.owner, each.hosts, each.start, each.end, each.cores) for each in plan.placements]
