"""Room on shared hosts that is free now and kept for others: why a task that would fit does not start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.connector.hosts import HostShare

__all__ = ["PlannedShare", "kept_for"]


class PlannedShare(NamedTuple):
    """What a task is planned to take of a host; times are seconds from now."""

    task: str
    host: str
    start: float
    end: float
    share: HostShare


def kept_for(
    share: HostShare,
    seconds: float,
    left: Mapping[str, HostShare],
    sizes: Mapping[str, HostShare],
    held: Iterable[tuple[str, float, HostShare]],
    planned: Sequence[PlannedShare],
) -> PlannedShare | None:
    """Return the planned task for which room is kept that others would fit into now.

    Args:
        share: what would be taken of one host.
        seconds: for how long it would be taken, from now.
        left: what is free of each host now.
        sizes: what each host has.
        held: host, seconds until its end and share of what runs.
        planned: what others are planned to take.

    Returns:
        The first to start of those that would find too little, one for the host that is kept from then on the latest;
        None where room that is free now stays so for long enough, or where there is none.
    """
    running = list(held)
    found: list[PlannedShare] = []
    for host in (name for name, free in left.items() if share.within(free)):
        here = sorted((each for each in planned if each.host == host and each.start < seconds), key=lambda a: a.start)
        ends = [(end, taken) for name, end, taken in running if name == host]
        first = next((each for each in here if not _fits(share, each.start, sizes[host], ends, here)), None)
        if first is None:
            return None
        found.append(first)
    return max(found, key=lambda each: each.start, default=None)


def _fits(
    share: HostShare,
    time: float,
    size: HostShare,
    running: Iterable[tuple[float, HostShare]],
    planned: Iterable[PlannedShare],
) -> bool:
    """Return whether a host still has so much room at a time, beside all that is there then."""
    used = share
    for end, taken in running:
        if end > time:
            used += taken
    for each in planned:
        if each.start <= time < each.end:
            used += each.share
    return used.within(size)
