"""Rows of the schedule's chart: tasks that share a host are side by side in its row, each as high as it has cores.

Where there is room a task of few cores is higher, so that it is seen. Start at `lanes`.
Which cores a task has is the manager's choice; here it takes the first that are free.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.api.documents import HostView

__all__ = ["lanes", "row_runs"]


class LaneBlock(Protocol):
    """A task on its hosts; times are epoch seconds, `cores` those of each host, 0 for the whole."""

    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def cores(self) -> int: ...


def lanes(
    blocks: Sequence[LaneBlock], hosts: Sequence[HostView], least: float = 0.0
) -> list[list[tuple[float, float]]]:
    """Return for each block its bands: where each begins, in rows from the top, and its height in rows.

    Hosts that are not among these rows are left out.

    Args:
        blocks: tasks in any order.
        hosts: the rows, from the top down.
        least: height in rows below which a task is hard to see. Tasks of few cores are as high as that, or half of it
            and so on, as their hosts have room for all the time.
    """
    place = {host.name: number for number, host in enumerate(hosts)}
    found: list[list[tuple[float, float]]] = [[] for _ in blocks]
    sharing: dict[int, list[int]] = {}
    for number in sorted(range(len(blocks)), key=lambda number: blocks[number].start):
        block = blocks[number]
        rows = sorted(place[host] for host in block.hosts if host in place)
        if not block.cores:
            found[number] = [(float(first), float(count)) for first, count in row_runs(rows)] if rows else []
            continue
        for row in rows:
            sharing.setdefault(row, []).append(number)
    for row, numbers in sharing.items():
        cores, together = max(hosts[row].cores or 1, 1), [blocks[number] for number in numbers]
        fewest = math.ceil(least * cores)
        while not all(taken := _side_by_side(together, cores, fewest)) and fewest > 1:
            fewest //= 2
        for number, free in zip(numbers, taken, strict=True):
            chosen = free or range(min(blocks[number].cores, cores))  # something lasts longer than was planned
            found[number] += [(row + first / cores, count / cores) for first, count in row_runs(chosen)]
    return found


def _side_by_side(blocks: Sequence[LaneBlock], cores: int, fewest: int) -> list[list[int]]:
    """Return the lanes of each block on a host: one for each core, at least `fewest`; none where too few are free.

    Args:
        blocks: in order of their starts.
        cores: of the host.
        fewest: lanes of a block.
    """
    host = _Lanes(cores)
    return [host.take(min(max(block.cores, fewest), cores), block.start, block.end) for block in blocks]


class _Lanes:
    """The cores of a host over time."""

    def __init__(self, cores: int) -> None:
        self._free = list(range(cores))
        self._busy: list[tuple[float, list[int]]] = []

    def take(self, wanted: int, start: float, end: float) -> list[int]:
        """Return cores, ascending; none where too few are free."""
        while self._busy and self._busy[0][0] <= start:
            for core in heappop(self._busy)[1]:
                heappush(self._free, core)
        if len(self._free) < wanted:
            return []
        taken = [heappop(self._free) for _ in range(wanted)]
        heappush(self._busy, (end, taken))
        return taken


def row_runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give first and number of each group of neighbours; the rows ascend."""
    first = before = rows[0]
    for row in rows[1:]:
        if row != before + 1:
            yield first, before - first + 1
            first = row
        before = row
    yield first, before - first + 1
