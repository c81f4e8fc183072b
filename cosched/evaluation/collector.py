"""Steps of many lanes put in order: lane after lane, statement after statement, turn after turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.lanes import TooManyStepsError
from cosched.evaluation.sorting import stable
from cosched.evaluation.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["Collector"]


class _Block(NamedTuple):
    """Steps of one statement, shape (steps,) each: lanes ascending, the steps of a lane in order."""

    lane: Indices
    row: Indices


class _Rows:
    """Columns of the steps of a segment in the order added."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self.parts: list[tuple[int, Indices, Indices, Floats, int]] = []

    def add(self, *part: *tuple[int, Indices, Indices, Floats, int]) -> Indices:
        first, self.count = self.count, self.count + len(part[1])
        if self.count > self.most:
            raise TooManyStepsError
        self.parts.append(part)
        return np.arange(first, self.count)


class Collector:
    """Steps of the lanes of one loop, or of a whole object, by statement.

    Args:
        most: steps that it and those inside it may hold.
        lanes: how many there are.
        rows: where the steps are kept, shared with the collector around this one.
    """

    def __init__(self, most: int, lanes: int, rows: _Rows | None = None) -> None:
        self.most = most
        self._lanes = lanes
        self._rows = rows or _Rows(most)
        self._blocks: list[_Block] = []

    def inner(self, lanes: int) -> Collector:
        """Return a collector for a loop whose turns are so many lanes."""
        return Collector(self.most, lanes, self._rows)

    def add(self, kind: int, lane: Indices, processor: Indices, peer: Indices, amount: Floats, place: int) -> None:
        """Add steps of a statement, lanes ascending."""
        if len(lane):
            self._blocks.append(_Block(lane, self._rows.add(kind, processor, peer, amount, place)))

    def nest(self, inner: Collector, slot: Indices) -> None:
        """Add the steps of a loop.

        Args:
            inner: its steps; its lanes are the turns, those of one lane here together and in order.
            slot: the lane here of each inner lane, ascending.
        """
        merged = inner._merged()
        if merged is not None:
            self._blocks.append(_Block(slot.take(merged.lane), merged.row))

    def steps(self, processors: int) -> Steps | None:
        """Return the steps of all processors of all numbers of hosts, None where there are none."""
        merged = self._merged()
        if merged is None:
            return None
        parts = self._rows.parts
        lengths = [len(part[1]) for part in parts]
        kind = np.repeat(np.array([part[0] for part in parts], np.int8), lengths)
        place = np.repeat(np.array([part[4] for part in parts], np.int32), lengths)
        processor, peer, amount = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:4])
        # `take` is quicker than an index in brackets.
        row, owner = merged.row, processor.take(merged.row)
        if (owner[1:] < owner[:-1]).any():
            row = row.take(stable(owner, processors))
        return Steps(kind.take(row), processor.take(row), peer.take(row), amount.take(row), place.take(row))

    def _merged(self) -> _Block | None:
        """Return all blocks as one."""
        if len(self._blocks) <= 1:
            return self._blocks[0] if self._blocks else None
        if all(len(block.lane) == self._lanes and (block.lane[1:] != block.lane[:-1]).all() for block in self._blocks):
            row = np.stack([block.row for block in self._blocks], axis=1).ravel()
            return _Block(np.repeat(np.arange(self._lanes), len(self._blocks)), row)
        lane = np.concatenate([block.lane for block in self._blocks])
        order = stable(lane, self._lanes)
        return _Block(lane.take(order), np.concatenate([block.row for block in self._blocks]).take(order))
