"""Use of the hosts, or of their cores, memory and GPUs: past, present and planned.

Start at `utilisation`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cosched.api.documents import GroupUseView, ResourceUseView, UtilisationView
from cosched.app.history import MOST_USES, HostUse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import HostView, PlacementView
    from cosched.app.services import DomainServices

__all__ = [
    "OTHERS",
    "UseGrouping",
    "UsedResource",
    "UsedSpan",
    "resource_use",
    "spread",
    "use_groups",
    "used_resources",
    "used_spans",
    "utilisation",
]

OTHERS = "others"
_PARTS = 120  # of the past
_FUTURE = 0.5  # of the past's length, at most
_LEAST = 0.1  # likewise, at least: what is planned soon is seen
_GROUPS = 8  # that are told apart


class UseGrouping(StrEnum):
    """What is told apart."""

    CLASS = "class"
    USER = "user"


class UsedResource(StrEnum):
    """What is counted: whole hosts, or what there is of shared ones."""

    HOSTS = "hosts"
    CORES = "cores"
    MEMORY = "memory"
    GPUS = "gpus"


class UsedSpan(NamedTuple):
    """What a group had of a resource, in its unit (MiB of memory); times are epoch seconds."""

    group: str
    amount: float
    start: float
    end: float


def utilisation(
    services: DomainServices, principal: Principal, past: float, by: UseGrouping, time: float
) -> UtilisationView:
    """Return the use of each resource over the last `past` seconds, and as it is planned.

    Only operators see other users' names.
    """
    hosts, placements = services.domain.hosts(principal), services.domain.plan(principal).placements
    part, since = past / _PARTS, time - past
    ahead = max((place.until for place in placements), default=time) - time
    parts = _PARTS + round(min(max(ahead, _LEAST * past), _FUTURE * past) / part)
    ended = services.history.uses(principal, since)
    return UtilisationView(
        since=since,
        time=time,
        until=since + part * parts,
        planned_until=min(time + max(ahead, 0.0), since + part * parts),
        part=part,
        past_parts=_PARTS,
        complete=len(ended) < MOST_USES,
        resources=tuple(
            resource_use(resource, hosts, ended, placements, by, since, part, (_PARTS, parts))
            for resource in used_resources(hosts)
        ),
    )


def used_resources(hosts: Iterable[HostView]) -> list[UsedResource]:
    """Return what is counted: hosts where each task has some for itself, else all that there is of shared ones."""
    if not any(host.free is not None for host in hosts):
        return [UsedResource.HOSTS]
    shared = (UsedResource.CORES, UsedResource.MEMORY, UsedResource.GPUS)
    return [resource for resource in shared if any(_capacity(host, resource) for host in hosts)]


def resource_use(
    resource: UsedResource,
    hosts: Sequence[HostView],
    ended: Iterable[HostUse],
    placements: Iterable[PlacementView],
    by: UseGrouping,
    since: float,
    part: float,
    counts: tuple[int, int],
) -> ResourceUseView:
    """Return what tasks had, have and are to have of one resource.

    Args:
        resource: which one.
        hosts: those that there are; what ran elsewhere is left out.
        ended: the past.
        placements: what runs and what is planned.
        by: what is told apart.
        since: where the time begins, epoch seconds.
        part: length of each part of it, seconds.
        counts: how many parts are past, and how many there are.
    """
    past_parts, parts = counts
    total = max(sum(_capacity(host, resource) for host in hosts), 1.0)
    running = [_placed(each) for each in placements if each.occupies]
    planned = [_placed(each) for each in placements if not each.running]
    now: dict[str, float] = {}
    for span in used_spans(running, hosts, resource, by):
        now[span.group] = now.get(span.group, 0.0) + span.amount
    spans = used_spans([*ended, *running, *planned], hosts, resource, by)
    groups = use_groups(spread(spans, since, part, parts))
    time = since + part * past_parts
    ahead = min(max((each.end for each in (*running, *planned)), default=time), since + part * parts) - time
    planned_spans = used_spans([*running, *planned], hosts, resource, by)
    to_come = {name: amounts[0] for name, amounts in spread(planned_spans, time, ahead, 1).items()} if ahead > 0 else {}
    found = tuple(
        GroupUseView(
            name=name,
            past=_mean(amounts[:past_parts]) / total,
            now=_of_group(name, now, groups) / total,
            planned=_of_group(name, to_come, groups) / total,
            amounts=tuple(amounts),
        )
        for name, amounts in groups.items()
    )
    return ResourceUseView(
        resource=str(resource),
        total=sum(_capacity(host, resource) for host in hosts),
        past=sum(each.past for each in found),
        now=sum(now.values()) / total,
        planned=sum(to_come.values()) / total,
        groups=found,
    )


def used_spans(
    uses: Iterable[HostUse], hosts: Sequence[HostView], resource: UsedResource, by: UseGrouping
) -> list[UsedSpan]:
    """Return the uses of hosts that are there, by the classes of these or by users."""
    known = {host.name: host for host in hosts}
    found = []
    for use in uses:
        amounts: dict[str, float] = {}
        for name in use.hosts:
            if (host := known.get(name)) is not None and (amount := _amount(use, host, resource)):
                group = host.host_class or "unnamed" if by is UseGrouping.CLASS else use.owner or OTHERS
                amounts[group] = amounts.get(group, 0.0) + amount
        found += [UsedSpan(group, amount, use.start, use.end) for group, amount in amounts.items()]
    return found


def spread(spans: Iterable[UsedSpan], left: float, part: float, parts: int) -> dict[str, list[float]]:
    """Return how much each group had in each of so many parts of a time, on average.

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
        amounts = found.setdefault(span.group, [0.0] * parts)
        for number in range(int((start - left) / part), min(int((end - left) / part) + 1, parts)):
            begin = left + number * part
            amounts[number] += span.amount * max(min(end, begin + part) - max(start, begin), 0.0) / part
    return found


def use_groups(used: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the largest groups by name; all smaller ones together, and who has no name, are the last one."""
    named = {name: amounts for name, amounts in used.items() if name != OTHERS}
    largest = sorted(named, key=lambda name: (-sum(named[name]), name))[:_GROUPS]
    found = {name: list(named[name]) for name in sorted(largest)}
    rest = [amounts for name, amounts in used.items() if name not in found]
    if rest:
        found[OTHERS] = [sum(column) for column in zip(*rest, strict=True)]
    return found


def _of_group(name: str, amounts: Mapping[str, float], groups: Collection[str]) -> float:
    """Return the amount of a group; of the others together that of all which are not told apart."""
    if name != OTHERS:
        return amounts.get(name, 0.0)
    return sum(amount for each, amount in amounts.items() if each not in groups or each == OTHERS)


def _capacity(host: HostView, resource: UsedResource) -> float:
    """Return how much of a resource a host has."""
    match resource:
        case UsedResource.HOSTS:
            return 1.0
        case UsedResource.CORES:
            return float(max(host.cores or 1, 1))
        case UsedResource.MEMORY:
            return float(host.memory or 0)
        case UsedResource.GPUS:
            return float(host.gpus or 0)


def _amount(use: HostUse, host: HostView, resource: UsedResource) -> float:
    """Return how much of a host's resource a task has: all of it without a share."""
    if resource is UsedResource.HOSTS or not use.cores:
        return _capacity(host, resource)
    taken = {UsedResource.CORES: use.cores, UsedResource.MEMORY: use.memory, UsedResource.GPUS: use.gpus}[resource]
    return min(float(taken), _capacity(host, resource))


def _placed(place: PlacementView) -> HostUse:
    return HostUse(place.owner, place.hosts, place.start, place.until, place.cores, place.memory, place.gpus)


def _mean(amounts: Sequence[float]) -> float:
    return sum(amounts) / max(len(amounts), 1)
