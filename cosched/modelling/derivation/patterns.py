"""Who sends to whom: sends of all ranks become moves that any number of processes makes.

Start at `matched_moves`. A move is a send of each process to one that lies alike: the next on a line, a ring or a grid,
the first one, everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.evaluation.layout import factors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "FROM_ROOT",
    "GRID",
    "GRID_SIDES",
    "LINE",
    "RING",
    "TO_ALL",
    "TO_ROOT",
    "Move",
    "grid_sides",
    "matched_moves",
]

LINE, RING, GRID = "line", "ring", "grid"
TO_ALL, TO_ROOT, FROM_ROOT = "to all", "to root", "from root"

GRID_SIDES = ("npe_i", "npe_j")
"""Variables of the processes on each side of a grid, the longer one first."""

Pair = tuple[int, int]
"""A rank, and what is added to it for the one it sends to."""


@dataclass(frozen=True, slots=True)
class Move:
    """Sends of all processes to those that lie alike.

    Attributes:
        shape: in which they lie so.
        sign: +1 or -1, the direction on a line, a ring or a side of a grid; else 0.
        side: of a grid: `npe_i` or `npe_j`; else empty.
        inner: the side along which neighbours have neighbouring ranks; of a grid only.
    """

    shape: str
    sign: int = 0
    side: str = ""
    inner: str = ""

    def pairs(self, processes: int) -> frozenset[Pair]:
        """Return who sends, and how far."""
        return frozenset(_PAIRS[self.shape](self, processes))


def grid_sides(processes: int) -> dict[str, int]:
    """Return the sides of the grid, as models of cosched decompose a number of processes."""
    return dict(zip(GRID_SIDES, factors(processes, 2), strict=True))


def matched_moves(sent: Sequence[tuple[int, Mapping[Pair, int]]]) -> list[tuple[Move, list[int]]] | None:
    """Return moves that make up sends, each with its messages by sender; None where others are among them.

    Args:
        sent: of each run the number of processes, and messages by who sent how far.
    """
    rest = [dict(messages) for _processes, messages in sent]
    found = []
    for move in _candidates(max(processes for processes, _messages in sent)):
        wanted = [move.pairs(processes) for processes, _messages in sent]
        counts = [{left.get(pair, 0) for pair in pairs} for pairs, left in zip(wanted, rest, strict=True)]
        if all(len(each) <= 1 and 0 not in each for each in counts) and any(counts):
            found.append((move, [next(iter(each), 0) for each in counts]))
            rest = [
                {pair: count for pair, count in left.items() if pair not in pairs}
                for pairs, left in zip(wanted, rest, strict=True)
            ]
    return None if any(rest) else found


def _candidates(most: int) -> list[Move]:
    """Return moves, those of more pairs first; on two processes all look like a line."""
    lines = [Move(LINE, sign) for sign in (1, -1)]
    rings = [Move(RING, sign) for sign in (1, -1)]
    grids = [Move(GRID, sign, side, inner) for inner in reversed(GRID_SIDES) for side in GRID_SIDES for sign in (1, -1)]
    if most <= 2:
        return lines
    return [Move(TO_ALL), *rings, *lines, Move(TO_ROOT), Move(FROM_ROOT), *grids]


def _line(move: Move, processes: int) -> list[Pair]:
    return [(rank, move.sign) for rank in range(processes) if 0 <= rank + move.sign < processes]


def _ring(move: Move, processes: int) -> list[Pair]:
    return [(rank, (rank + move.sign) % processes - rank) for rank in range(processes)]


def _grid(move: Move, processes: int) -> list[Pair]:
    sides = grid_sides(processes)
    width = sides[move.inner]
    found = []
    for rank in range(processes):
        outer, inner = divmod(rank, width)
        place, length = (inner, width) if move.side == move.inner else (outer, processes // width)
        if 0 <= place + move.sign < length:
            found.append((rank, move.sign * (1 if move.side == move.inner else width)))
    return found


def _to_all(_move: Move, processes: int) -> list[Pair]:
    return [(rank, other - rank) for rank in range(processes) for other in range(processes) if other != rank]


def _to_root(_move: Move, processes: int) -> list[Pair]:
    return [(rank, -rank) for rank in range(1, processes)]


def _from_root(_move: Move, processes: int) -> list[Pair]:
    return [(0, rank) for rank in range(1, processes)]


_PAIRS: dict[str, Callable[[Move, int], list[Pair]]] = {
    LINE: _line,
    RING: _ring,
    GRID: _grid,
    TO_ALL: _to_all,
    TO_ROOT: _to_root,
    FROM_ROOT: _from_root,
}
