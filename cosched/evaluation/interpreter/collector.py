"""Collect the steps of many lanes in order: by lane, then statement, then turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from cosched.evaluation.budget import TooManyStepsError
from cosched.evaluation.clocks.steps import StepShape, stable_order
from cosched.evaluation.interpreter.step_cache import StepTemplate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Operation = tuple[int, int, int, float, int]

__all__ = ["Collector"]


class _Block(NamedTuple):
    """Steps of one statement, shape (steps,) each.

    Lanes are ascending, and the steps of a lane in order.
    """

    lane: Indices
    row: Indices


class _Part(NamedTuple):
    """Rows of one statement, shape (rows,); None for an amount that is found later."""

    kind: int | NDArray[np.int8]
    processor: Indices
    peer: Indices
    amount: Floats | None
    place: int | NDArray[np.int32]


class _Uses(NamedTuple):
    """See `Shape` and `Draft`; `of` is the use of each row."""

    of: Indices
    kinds: NDArray[np.int8]
    places: NDArray[np.int32]
    amounts: Floats
    deferred: tuple[int, ...]


class _Rows:
    """Columns of the steps of a segment in the order added."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = self.steps = 0
        self.parts: list[_Part] = []

    def add(self, part: _Part) -> Indices:
        first, self.count = self.count, self.count + len(part.processor)
        self.hold(len(part.processor))
        self.parts.append(part)
        return np.arange(first, self.count)

    def hold(self, steps: int) -> None:
        """Count steps; a row may hold several."""
        self.steps += steps
        if self.steps > self.most:
            raise TooManyStepsError


class Collector:
    """Steps of the lanes of one loop, or of a whole object, by statement.

    Args:
        most: steps that it and those inside it may hold.
        lanes: how many there are.
        rows: the steps, shared with the collector around this one.

    Attributes:
        pending: steps of a single lane that were added one by one, after all the others.
    """

    def __init__(self, most: int, lanes: int, rows: _Rows | None = None) -> None:
        self.most = most
        self._lanes = lanes
        self._rows = rows or _Rows(most)
        self._blocks: list[_Block] = []
        self.pending: list[Operation] = []

    def inner(self, lanes: int) -> Collector:
        """Return a collector for a loop with one lane for each turn."""
        return Collector(self.most, lanes, self._rows)

    def add(
        self, kind: int, lane: Indices, processor: Indices, peer: Indices, amount: Floats | None, place: int
    ) -> None:
        """Add steps of a statement, lanes ascending; without an amount that is filled in later."""
        self._settle()
        if len(lane):
            self._blocks.append(_Block(lane, self._rows.add(_Part(kind, processor, peer, amount, place))))

    def nest(self, inner: Collector, slot: Indices, times: Indices | None = None) -> None:
        """Add the steps of a loop.

        Args:
            inner: its steps; its lanes are the turns, those of one lane here together and in order.
            slot: the lane here of each inner lane, ascending.
            times: how often each of these turns happens; once where None.
        """
        self._settle()
        merged = inner._merged()
        if merged is not None:
            if times is not None:
                merged = self._repeated(merged, times)
            self._blocks.append(_Block(slot.take(merged.lane), merged.row))

    def _repeated(self, block: _Block, times: Indices) -> _Block:
        lengths = np.bincount(block.lane, minlength=len(times))
        self._rows.hold(int(lengths @ times) - len(block.row))
        turn = np.repeat(np.arange(len(times)), times)
        taken = lengths.take(turn)
        shift = (np.cumsum(lengths) - lengths).take(turn) - (np.cumsum(taken) - taken)
        index = np.repeat(shift, taken)
        index += np.arange(len(index))
        return _Block(block.lane.take(index), block.row.take(index))

    def draft(self, hosts: Indices) -> StepTemplate | None:
        """Return the steps of all processors, or None where there are none.

        `hosts` are the numbers of hosts, shape (counts,).
        """
        merged = self._merged()
        if merged is None:
            return None
        parts = self._rows.parts
        processor, peer = (np.concatenate(column) for column in list(zip(*parts, strict=True))[1:3])
        use, kinds, places, amounts, free = _uses(parts, hosts)
        # `take` is quicker than an index in brackets.
        row, owner = merged.row, processor.take(merged.row)
        if (owner[1:] < owner[:-1]).any():
            order = stable_order(owner, int(hosts.sum()))
            row, owner = row.take(order), owner.take(order)
        use = use.take(row)
        shape = StepShape(kinds.take(use), owner, peer.take(row), use, kinds, places)
        taken = np.zeros(len(kinds), np.bool_)
        taken[use] = True
        lanes = taken[: len(free) * len(hosts)].reshape(-1, len(hosts))
        return StepTemplate(shape, amounts, tuple(zip(free, map(np.flatnonzero, lanes), strict=True)))

    def _settle(self) -> None:
        """Make a block of the steps that were added one by one."""
        if self.pending:
            kind, processor, peer, amount, place = zip(*self.pending, strict=True)
            self.pending = []
            part = _Part(
                np.array(kind, np.int8),
                np.array(processor, np.int64),
                np.array(peer, np.int64),
                np.array(amount, np.float64),
                np.array(place, np.int32),
            )
            self._blocks.append(_Block(np.zeros(len(kind), np.int64), self._rows.add(part)))

    def _merged(self) -> _Block | None:
        """Return all blocks as one."""
        self._settle()
        if len(self._blocks) <= 1:
            return self._blocks[0] if self._blocks else None
        if all(len(block.lane) == self._lanes and (block.lane[1:] != block.lane[:-1]).all() for block in self._blocks):
            row = np.stack([block.row for block in self._blocks], axis=1).ravel()
            return _Block(np.repeat(np.arange(self._lanes), len(self._blocks)), row)
        lane = np.concatenate([block.lane for block in self._blocks])
        order = stable_order(lane, self._lanes)
        return _Block(lane.take(order), np.concatenate([block.row for block in self._blocks]).take(order))


def _uses(parts: Sequence[_Part], hosts: Indices) -> _Uses:
    """Return the use of each row, the columns of uses, and the deferred places.

    The columns are kind, place and amount.
    """
    lane, count = np.repeat(np.arange(len(hosts)), hosts), len(hosts)
    # Those of one statement have one kind and one place; steps that were added one by one have their amounts.
    kinds = {cast("int", place): cast("int", kind) for kind, _, _, amount, place in parts if amount is None}
    number = {place: count * index for index, place in enumerate(kinds)}
    of, as_kind, at, fixed = [], [np.repeat(list(kinds.values()), count)], [np.repeat(list(kinds), count)], []
    used = count * len(kinds)
    for kind, processor, _, amount, place in parts:
        if amount is None:
            of.append(lane.take(processor) + number[cast("int", place)])
            continue
        of.append(np.arange(used, used + len(amount)))
        used += len(amount)
        as_kind.append(np.full(len(amount), kind))
        at.append(np.full(len(amount), place))
        fixed.append(amount)
    return _Uses(
        np.concatenate(of),
        np.concatenate(as_kind).astype(np.int8),
        np.concatenate(at).astype(np.int32),
        np.concatenate([np.zeros(count * len(kinds)), *fixed]),
        tuple(kinds),
    )
