"""Match each receive of a segment with its send, whatever the steps cost.

Found once: other parameters, another hardware and most turns of a search change the costs only.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from cosched.evaluation.clocks.steps import RECEIVE, SEND, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.evaluation.clocks.steps import Steps, StepShape

    Indices = NDArray[np.int64]

__all__ = ["RunLevel", "Topology", "UnmatchedError", "topology"]

_MOST_PADDING = (
    2  # times the edges of a level: rows of a table are compared twenty times as quickly as short runs of edges
)
_WIDEST = 4096  # runs of a level: their edges fit into the cache


class UnmatchedError(Exception):
    """A receive lacks its send, or steps wait for one another; it carries the steps."""

    def __init__(self, steps: Steps) -> None:
        super().__init__("steps that cannot be carried out")
        self.steps = steps


class RunLevel(NamedTuple):
    """Runs that do not wait for one another.

    Attributes:
        edges: the slice of all edges that leads into them.
        source: the node that each of these comes from: a table with a column for each run, filled up with edges from
            the last node; or one run after another.
        starts: where the edges into each run begin within the slice, shape (runs,); None where it is a table.
        nodes: the slice of all nodes that they are.
    """

    edges: slice
    source: Indices
    starts: Indices | None
    nodes: slice


class _Edges(NamedTuple):
    """The runs between which edges are to be made.

    Attributes:
        ordinals: number of each message's receive among all, by step.
        heads: the first runs of processors that wait for a message.
        clocks: the processors of these.
        follow: the runs that follow another of their processor.
    """

    ordinals: Indices
    heads: Indices
    clocks: Indices
    follow: Indices


class Topology:
    """Runs of steps, and the edges between them.

    A node is a processor's clock before the segment, which is also a first run that receives nothing; or, after those,
    another run: numbered so that a level is a slice. After all runs comes a node that is always earlier than any other.

    Args:
        steps: not empty.
        processors: how many there are.

    Attributes:
        processors: how many there are.
        nodes: how many there are.
        edges: how many there are.
        sends: steps that send and are received, ascending, shape (messages,).
        receives: the step that receives each of them.
        unreceived: number of messages without a receive.
        run: run of each step, shape (steps,).
        out: the run that sends each message.
        into: the run that receives it.
        first: the first step of each run, and after those how many steps there are, shape (runs + 1,).
        node: node of each run.
        levels: levels in order.
        chains: the edges from a run to the next of its processor.
        chained: the run that each of these comes from.
        messages: the edge of each message.
        owners: the processors that have steps.
        last: the last run of each of them.
        final: the node of that run.

    Raises:
        UnmatchedError: a receive lacks its send, or steps wait for one another.
    """

    def __init__(self, steps: Steps, processors: int) -> None:
        self.processors = processors
        matched = _matched(steps, processors)
        self.sends, self.receives, self.unreceived = matched.sends, matched.receives, matched.unreceived
        self.run, self.first = _runs(steps)
        self.out, self.into = self.run.take(self.sends), self.run.take(self.receives)
        owner = steps.processor.take(self.first[:-1])
        follows = np.append(False, owner[1:] == owner[:-1])
        level, levels = _levelled(self.out, self.into, follows)
        if not levels:
            raise UnmatchedError(steps)
        order = stable_order(level, levels)
        bounds = np.searchsorted(level[order], np.arange(1, levels + 1))
        self.nodes = processors + len(order) - int(bounds[0]) + 1
        self.node = owner.copy()
        self.node[order[bounds[0] :]] = np.arange(processors, self.nodes - 1)
        heads = np.flatnonzero((level > 0) & ~follows)
        edges = _Edges(matched.ordinals, heads, owner.take(heads), np.flatnonzero(follows))
        self.levels = self._connect(order[bounds[0] :], _narrow(bounds - bounds[0]), edges)
        last = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        self.owners, self.last, self.final = owner[last], last, self.node[last]

    def _connect(self, order: Indices, bounds: Indices, found: _Edges) -> list[RunLevel]:
        """Set the edges and return the levels; `bounds` says where each begins in `order`.

        The first edge into a run is from the processor's run before it, or from its clock; the others are messages.
        """
        runs = len(self.node)
        messages = np.bincount(self.into, minlength=runs)
        lengths = messages.take(order) + 1
        ends = np.append(0, np.cumsum(lengths))
        nodes, edges = np.diff(bounds), np.diff(ends[bounds])
        padded = nodes * (np.maximum.reduceat(lengths, bounds[:-1]) if len(nodes) else 0)
        even = padded <= _MOST_PADDING * edges
        base = np.append(0, np.cumsum(np.where(even, padded, edges)))
        self.edges = int(base[-1])
        # In order: of an even level the first edges of all runs, then the second ones; else run after run.
        starts = np.where(
            np.repeat(even, nodes),
            np.arange(len(order)) - np.repeat(bounds[:-1], nodes),
            ends[:-1] - np.repeat(ends[bounds[:-1]], nodes),
        )
        begins, stride = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
        begins[order], stride[order] = starts + np.repeat(base[:-1], nodes), np.repeat(np.where(even, nodes, 1), nodes)
        self.chained, self.chains = found.follow - 1, begins.take(found.follow)
        rank = found.ordinals + 1 - (np.cumsum(messages) - messages).take(self.into)
        self.messages = begins.take(self.into) + rank * stride.take(self.into)
        source = np.full(self.edges, self.nodes - 1)
        source[begins.take(found.heads)] = found.clocks
        source[self.chains] = self.node.take(self.chained)
        source[self.messages] = self.node.take(self.out)
        limits, shares = bounds.tolist(), base.tolist()
        return [
            self._level(
                source,
                slice(shares[k], shares[k + 1]),
                None if regular else starts[limits[k] : limits[k + 1]],
                slice(limits[k] + self.processors, limits[k + 1] + self.processors),
            )
            for k, regular in enumerate(even.tolist())
        ]

    @staticmethod
    def _level(source: Indices, edges: slice, starts: Indices | None, nodes: slice) -> RunLevel:
        own = source[edges]
        return RunLevel(edges, own.reshape(-1, nodes.stop - nodes.start) if starts is None else own, starts, nodes)


_known: WeakKeyDictionary[StepShape, dict[int, Topology]] = WeakKeyDictionary()
_using = Lock()


def topology(steps: Steps, processors: int) -> Topology:
    """Return the topology of steps; steps of one shape share it.

    So do steps that were taken apart from that shape.
    """
    shape = steps.shape.origin or steps.shape
    with _using:
        found = _known.get(shape, {}).get(processors)
    if found is None:
        found = Topology(steps, processors)
        with _using:
            _known.setdefault(shape, {})[processors] = found
    return found


def _levelled(out: Indices, into: Indices, follows: NDArray[np.bool_]) -> tuple[Indices, int]:
    """Return each run's level and the number of levels.

    A level is one above the highest that the run depends on.

    There are none where runs wait for one another.

    Args:
        out: the run that sends each message, ascending.
        into: the run that receives it.
        follows: whether each run follows another of its processor.
    """
    runs = len(follows)
    receivers, pointer = _after(out, into, np.flatnonzero(follows), runs)
    waits = np.bincount(receivers, minlength=runs)
    level, mark = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    ready, numbers = np.flatnonzero(waits == 0), np.arange(len(receivers))
    levels = done = 0
    while ready.size:
        level[ready] = levels
        levels, done = levels + 1, done + ready.size
        # Methods, and slices of numbers made before: there may be very many levels of a few runs each.
        begins, ends = pointer.take(ready), pointer.take(ready + 1)
        lengths = ends - begins
        totals = lengths.cumsum()
        begins -= totals
        begins += lengths
        reached = receivers.take(begins.repeat(lengths) + numbers[: totals[-1]])
        np.subtract.at(waits, reached, 1)
        ready = reached.compress(waits.take(reached) == 0)
        # A run that several edges reach is ready once.
        place = numbers[: ready.size]
        mark[ready] = place
        ready = ready.compress(mark.take(ready) == place)
    return level, levels if done == runs else 0


def _after(out: Indices, into: Indices, follow: Indices, runs: int) -> tuple[Indices, Indices]:
    """Return the runs that wait for each run, and where the list of each begins.

    The lists follow one another.
    """
    lengths = np.bincount(out, minlength=runs)
    own = np.zeros(runs + 1, np.int64)
    own[follow] = 1
    before = np.cumsum(own)  # how many runs up to each follow another, and so come between the messages of earlier runs
    pointer = np.append(0, np.cumsum(lengths)) + before
    after = np.empty(len(out) + len(follow), np.int64)
    # The next run of the processor comes last.
    after[np.arange(len(into)) + before.take(out)] = into
    after[pointer.take(follow) - 1] = follow
    return after, pointer


def _narrow(bounds: Indices) -> Indices:
    """Return where levels begin, with more of them where they are wide."""
    if not (np.diff(bounds) > _WIDEST).any():
        return bounds
    return np.unique(np.concatenate((bounds, np.arange(0, bounds[-1], _WIDEST))))


def _runs(columns: Steps) -> tuple[Indices, Indices]:
    """Return the run of each step, and the first step of each run."""
    processor, kind = columns.processor, columns.kind
    begins = np.empty(len(kind), np.bool_)
    begins[0] = True
    np.not_equal(processor[1:], processor[:-1], out=begins[1:])
    messages = np.flatnonzero(kind)
    of, who = kind.take(messages), processor.take(messages)
    begins[messages[1:].compress((of[1:] > of[:-1]) & (who[1:] == who[:-1]))] = True  # a receive after a send
    first = np.append(np.flatnonzero(begins), len(kind))
    return np.repeat(np.arange(len(first) - 1), np.diff(first)), first


class _Matched(NamedTuple):
    """Messages that are received, see `Topology`; `ordinals` counts their receives by step."""

    sends: Indices
    receives: Indices
    ordinals: Indices
    unreceived: int


def _matched(steps: Steps, processors: int) -> _Matched:
    """Return messages, matched first in, first out by source and destination.

    Raises:
        UnmatchedError: a receive without a send.
    """
    sends, receives = np.flatnonzero(steps.kind == SEND), np.flatnonzero(steps.kind == RECEIVE)
    # Both by destination, then source; sends are in order of their sources already.
    order = stable_order(steps.peer.take(sends), processors)
    sent = sends.take(order)
    outward = steps.peer.take(sent) * processors + steps.processor.take(sent)
    inward = steps.processor.take(receives) * processors + steps.peer.take(receives)
    # They are almost in order, for they are in that of their destinations.
    ordinals = np.argsort(inward, kind="stable")
    inward = inward.take(ordinals)
    if not np.array_equal(outward, inward):
        place = np.arange(len(inward)) - np.searchsorted(inward, inward) + np.searchsorted(outward, inward)
        if len(receives) > len(sends) or not np.array_equal(outward.take(place, mode="clip"), inward):
            raise UnmatchedError(steps)
        order = order.take(place)
    by_send = np.full(len(sends), -1)
    by_send[order] = ordinals
    unreceived = len(sends) - len(receives)
    if unreceived:
        sends, by_send = sends[by_send >= 0], by_send[by_send >= 0]
    return _Matched(sends, receives.take(by_send), by_send, unreceived)
