"""Room of one host over time: what is free of it for good, beside all that runs and is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cosched.connector.hosts import HostShare

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RoomUse", "free_for_good"]


class RoomUse(NamedTuple):
    """A share of a host that a task takes from `begin` to `end`, in seconds from now."""

    begin: float
    end: float
    share: HostShare


def free_for_good(size: HostShare, uses: Sequence[RoomUse]) -> list[tuple[float, HostShare]]:
    """Return times, ascending from 0, with what stays free of a host from each on; it grows in each resource.

    As in plans no hole is counted that somebody is planned to fill later (`scheduling/decoding/packed_decoder.py`).

    Args:
        size: what the host has.
        uses: of that host; where they take more than it has, nothing is free.
    """
    changes: dict[float, HostShare] = {0.0: HostShare()}
    for begin, end, share in uses:
        if end > 0.0:
            begins = max(begin, 0.0)
            changes[begins] = changes.get(begins, HostShare()) + share
            changes[end] = changes.get(end, HostShare()) - share
    used, levels = HostShare(), list[tuple[float, HostShare]]()
    for time in sorted(changes):
        used += changes[time]
        levels.append((time, used))
    most, found = HostShare(), list[tuple[float, HostShare]]()
    for time, level in reversed(levels):
        most = _larger(most, level)
        left = _larger(size - most, HostShare())
        if found and found[-1][1] == left:
            found.pop()
        found.append((time, left))
    return found[::-1]


def _larger(one: HostShare, other: HostShare) -> HostShare:
    return HostShare(max(one.memory, other.memory), max(one.cores, other.cores), max(one.gpus, other.gpus))
