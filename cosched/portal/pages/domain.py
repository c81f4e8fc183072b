"""The domain's page shows hosts and their use, neighbours and activity."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import Request, Response

from cosched.api.documents import ExchangeView, HostLoadView, HostView, PlanView, RunView
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import PageNumber, page_router
from cosched.portal.pages.figures.neighbourhood import Flow, neighbourhood
from cosched.portal.pages.rendering import render_page

__all__ = [
    "BusySpan",
    "HostClass",
    "busy_over_time",
    "busy_shares",
    "flows",
    "host_classes",
    "owners_course",
    "router",
    "spans_of",
]


_TIME_PARTS = 120  # of the time, for its course


class BusySpan(NamedTuple):
    """Hosts, from when until when something ran on them, and on how many cores of each; 0 for the whole."""

    hosts: Sequence[str]
    start: float
    end: float
    cores: int = 0

    def part(self, cores: int | None) -> float:
        """Return which part of a host with so many cores it took."""
        return min(self.cores / max(cores or 1, 1), 1.0) if self.cores else 1.0


def spans_of(runs: Sequence[RunView], plan: PlanView, now: float) -> list[BusySpan]:
    """Return past and present runs: task, hosts, start, end."""
    past = [BusySpan(run.hosts, run.start, run.end, run.cores) for run in runs]
    return past + [BusySpan(spot.hosts, spot.start, now, spot.cores) for spot in plan.placements if spot.occupies]


def busy_shares(hosts: Sequence[HostView], spans: Iterable[BusySpan], window: tuple[float, float]) -> dict[str, float]:
    """Return each host's share of a time with tasks of ours; where tasks share hosts, that of its cores."""
    left, right = window
    seconds, cores = {host.name: 0.0 for host in hosts}, {host.name: host.cores for host in hosts}
    for span in spans:
        for name in span.hosts:
            if name in seconds:
                seconds[name] += max(min(span.end, right) - max(span.start, left), 0.0) * span.part(cores[name])
    return {name: min(spent / (right - left), 1.0) for name, spent in seconds.items()}


def busy_over_time(hosts: Sequence[HostView], spans: Iterable[BusySpan], window: tuple[float, float]) -> list[float]:
    """Return the busy share of all hosts in each of `_PARTS` parts of a time."""
    left, right = window
    part = (right - left) / _TIME_PARTS
    seconds = [0.0] * _TIME_PARTS
    known = {host.name: host.cores for host in hosts}
    for span in spans:
        start, end = span.start, span.end
        count = sum(span.part(known[name]) for name in span.hosts if name in known)
        first, last = (min(max(int((time - left) / part), 0), _TIME_PARTS - 1) for time in (start, end))
        for number in range(first, last + 1):
            begin = left + number * part
            seconds[number] += count * max(min(end, begin + part) - max(start, begin), 0.0)
    return [min(spent / (part * max(len(known), 1)), 1.0) for spent in seconds]


@dataclass(frozen=True, slots=True)
class HostClass:
    """The hosts of one class: how many are up and down, and their busy share.

    The share is that of the last hour.
    """

    name: str
    up: int
    down: int
    busy: float


def host_classes(hosts: Sequence[HostView], busy: Mapping[str, float]) -> list[HostClass]:
    """Return the classes of hosts by name; `busy` says how busy each host was."""
    by_name: dict[str, list[HostView]] = {}
    for host in hosts:
        by_name.setdefault(host.host_class, []).append(host)
    return [
        HostClass(
            name,
            up := sum(host.up for host in found),
            len(found) - up,
            sum(busy[host.name] for host in found) / len(found),
        )
        for name, found in sorted(by_name.items())
    ]


_IN_VAIN = ("refused", "returned", "reclaimed")


def flows(exchanges: Sequence[ExchangeView]) -> dict[str, Flow]:
    """Return the flow to and from each neighbour that had one."""
    found: dict[str, Flow] = {}
    for each in exchanges:
        flow, sent = found.get(each.peer, Flow()), each.direction == "sent"
        back = sent and each.state in _IN_VAIN
        found[each.peer] = Flow(flow.sent + sent, flow.back + back, flow.received + (not sent))
    return found


def owners_course(loads: Sequence[HostLoadView], hosts: int) -> list[float]:
    """Return which share of all hosts their owners are expected to take, hour by hour from now."""
    return [sum(parts) / max(hosts, len(loads), 1) for parts in zip(*(load.coming for load in loads), strict=True)]


_HOUR, _DAY = 3600.0, 86400.0
_LINES = 50


router = page_router()


@router.get("/domain")
def domain(request: Request, services: Services, principal: Reader, page: PageNumber = 1) -> Response:
    now = time.time()
    log = services.history.log(principal, _LINES, (page - 1) * _LINES)
    if not log and page > 1:  # fewer than when the link was made
        page = max(1, -(-services.history.log_size(principal) // _LINES))
        log = services.history.log(principal, _LINES, (page - 1) * _LINES)
    hosts = services.domain.hosts(principal)
    window = now - _HOUR, now
    plan = services.domain.plan(principal)
    spans = spans_of(services.history.runs(principal, now - _HOUR), plan, now)
    busy = busy_shares(hosts, spans, window)
    loads = [load for load in services.loads.all() if load.cause == "owner"]
    return render_page(
        request,
        "domain.html",
        hosts=hosts,
        shared=any(host.free is not None for host in hosts),
        licences=plan.licences,
        busy=busy,
        course=busy_over_time(hosts, spans, window),
        busy_mean=sum(busy.values()) / len(busy) if busy else 0.0,
        classes=host_classes(hosts, busy),
        owners={load.host: load for load in loads},
        owners_course=owners_course(loads, len(hosts)),
        peers=(peers := services.neighbours.peers()),
        exchanges=(exchanges := services.history.exchanges(principal, now - _DAY) if peers else []),
        flows=(flowed := flows(exchanges)),
        map=neighbourhood(peers, flowed) if peers else None,
        network=services.neighbours.network(),
        log=log,
        page=page,
    )
