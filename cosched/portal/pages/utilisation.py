"""How busy hosts were: each of them, each class, and all of them over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.portal.documents import HostView, PlanView, RunView

__all__ = ["HostClass", "Span", "busy_course", "busy_shares", "classes_of", "spans_of"]

_PARTS = 120  # of the time, for its course

Span = tuple[Sequence[str], float, float]
"""Hosts, and from when until when something ran on them."""


def spans_of(runs: Sequence[RunView], plan: PlanView, now: float) -> list[Span]:
    """Return who ran where from when until when, those that run now among them."""
    past: list[Span] = [(run.hosts, run.start, run.end) for run in runs]
    return past + [(spot.hosts, spot.start, now) for spot in plan.placements if spot.running]


def busy_shares(hosts: Sequence[HostView], spans: Iterable[Span], window: tuple[float, float]) -> dict[str, float]:
    """Return for each host the share of a time that tasks of ours ran on it."""
    left, right = window
    seconds = {host.name: 0.0 for host in hosts}
    for names, start, end in spans:
        for name in names:
            if name in seconds:
                seconds[name] += max(min(end, right) - max(start, left), 0.0)
    return {name: min(spent / (right - left), 1.0) for name, spent in seconds.items()}


def busy_course(hosts: Sequence[HostView], spans: Iterable[Span], window: tuple[float, float]) -> list[float]:
    """Return the share of the hosts that were busy in each of `_PARTS` parts of a time."""
    left, right = window
    part = (right - left) / _PARTS
    seconds = [0.0] * _PARTS
    known = {host.name for host in hosts}
    for names, start, end in spans:
        count = sum(name in known for name in names)
        first, last = (min(max(int((time - left) / part), 0), _PARTS - 1) for time in (start, end))
        for number in range(first, last + 1):
            begin = left + number * part
            seconds[number] += count * max(min(end, begin + part) - max(start, begin), 0.0)
    return [min(spent / (part * max(len(known), 1)), 1.0) for spent in seconds]


@dataclass(frozen=True, slots=True)
class HostClass:
    """The hosts of one class: how many are up and down, and the share of the last hour that they were busy."""

    name: str
    up: int
    down: int
    busy: float


def classes_of(hosts: Sequence[HostView], busy: Mapping[str, float]) -> list[HostClass]:
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
