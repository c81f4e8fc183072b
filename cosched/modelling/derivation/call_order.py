"""What the order of calls tells: whether work passes through the processes, and how often it turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.modelling.derivation.patterns import GRID, GRID_SIDES, Move, grid_sides

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from cosched.measurement.programs.traces import Trace

__all__ = ["RECEIVES", "SENDS", "Site", "passes_through", "turns"]

SENDS = frozenset(
    ("send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend", "sendrecv", "sendrecv_replace")
)
"""Kinds of calls that send to one process."""

RECEIVES = frozenset(("recv", "irecv"))
_LATER = "irecv"
_COMPLETES = ("wait", "test")
_SEVERAL = 3  # processes, from which the first one alone can be told from every second one

Site = tuple[str, str]
"""The kind of a call and its place in the program."""


def passes_through(runs: Sequence[Sequence[Trace]], sites: Collection[Site]) -> bool:
    """Return whether all processes but one wait for a message before they send.

    Args:
        runs: traces of the processes of each.
        sites: the calls that send.
    """
    told = False
    for traces in runs:
        events = (next(_events(trace, sites), None) for trace in traces)
        kinds = [event[0] for event in events if event]
        if kinds.count("send") > 1:
            return False
        told = told or len(kinds) >= _SEVERAL
    return told


def turns(first: Trace, sites: Collection[Site], moves: Sequence[Move]) -> dict[str, int]:
    """Return how often the direction changes along each side, as the first process sees it.

    Args:
        first: the trace of that process.
        sites: the calls that send.
        moves: that they make.
    """
    found = {move.side: 0 for move in moves}
    before: dict[str, int] = {}
    for kind, distance in _events(first, sites):
        side = _side(moves[0], distance, first.size)
        sign = (1 if distance > 0 else -1) * (1 if kind == "send" else -1)
        if before.get(side, sign) != sign:
            found[side] = found.get(side, 0) + 1
        before[side] = sign
    return found


def _side(move: Move, distance: int, processes: int) -> str:
    """Return the side of a grid along which a message goes."""
    if move.shape != GRID:
        return move.side
    width = grid_sides(processes)[move.inner]
    outer = next(side for side in GRID_SIDES if side != move.inner)
    return move.inner if abs(distance) == 1 and width > 1 else outer


def _events(trace: Trace, sites: Collection[Site]) -> Iterator[tuple[str, int]]:
    """Yield sends at these places, and receives once their message is there, each with how far the other one is."""
    posted: list[int] = []
    for number in trace.order:
        item = trace.items[number]
        kind = trace.sites[item.site][0]
        if kind.startswith(_COMPLETES):
            yield from (("receive", distance) for distance in posted)
            posted = []
        elif item.peer[0] in "+-":
            if trace.sites[item.site] in sites:
                yield "send", int(item.peer)
            elif kind == _LATER:
                posted.append(int(item.peer))
            elif kind in RECEIVES:
                yield "receive", int(item.peer)
