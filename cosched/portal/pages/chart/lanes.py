"""Rows of the schedule's chart: tasks that share a host are side by side in its row, each as high as it has cores.

Start at `lanes`. Which cores a task has is the manager's choice; here it takes the first that are free.
"""

from __future__ import annotations

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


def lanes(blocks: Sequence[LaneBlock], hosts: Sequence[HostView]) -> list[list[tuple[float, float]]]:
    """Return for each block its bands: where each begins, in rows from the top, and its height in rows.

    Hosts that are not among these rows are left out.
    """
    place = {host.name: number for number, host in enumerate(hosts)}
    cores = {host.name: max(host.cores or 1, 1) for host in hosts}
    lanes_of = {name: _Lanes(had) for name, had in cores.items()} if any(block.cores for block in blocks) else {}
    found: list[list[tuple[float, float]]] = [[] for _ in blocks]
    for number in sorted(range(len(blocks)), key=lambda number: blocks[number].start):
        block = blocks[number]
        rows = sorted(place[host] for host in block.hosts if host in place)
        if not block.cores:
            found[number] = [(float(first), float(count)) for first, count in row_runs(rows)] if rows else []
            continue
        for row in rows:
            name = hosts[row].name
            taken = lanes_of[name].take(block.cores, block.start, block.end)
            found[number] += [(row + first / cores[name], count / cores[name]) for first, count in row_runs(taken)]
    return found


class _Lanes:
    """The cores of a host over time."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._free = list(range(cores))
        self._busy: list[tuple[float, list[int]]] = []

    def take(self, cores: int, start: float, end: float) -> list[int]:
        """Return cores, ascending: those that are free, or the first ones where too few are."""
        while self._busy and self._busy[0][0] <= start:
            for core in heappop(self._busy)[1]:
                heappush(self._free, core)
        wanted = min(cores, self._cores)
        if len(self._free) < wanted:  # something lasts longer than was planned
            return list(range(wanted))
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
