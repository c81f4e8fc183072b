"""Places for the names of lines beside their ends, so that nobody has to look them up in a legend."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Point = tuple[float, float]

__all__ = ["Label", "place_labels"]

_LETTER, _LINE = 9.0, 19.0  # width and height of letters as phones show them, in SVG units
_BESIDE = (-9.0, 21.0, -28.0, 40.0)  # of a label's foot from the line's end; upwards is negative
_INSET = 4.0  # from the line's end, which may be the frame
_MOST = 6  # lines; of more there is a legend
_BETWEEN = 5  # points that are looked at on the way from one to the next


class Label(NamedTuple):
    """Where a name stands: its left or right end (`anchor`) and its foot, in SVG units."""

    x: float
    y: float
    anchor: str


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def has(self, point: Point) -> bool:
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def place_labels(
    names: Sequence[str], paths: Sequence[Sequence[Sequence[Point]]], width: float, height: float
) -> list[Label | None]:
    """Return a place for each line's name within the plot; None where the legend has to name it.

    Args:
        names: of the lines.
        paths: points of each line, one sequence for each of its parts; none of what is no line.
        width: of the plot, in SVG units.
        height: likewise.
    """
    if sum(map(bool, paths)) > _MOST:
        return [None] * len(names)
    drawn = [point for line in paths for path in line for point in _along(path)]
    taken: list[_Box] = []
    found: list[Label | None] = []
    for name, line in zip(names, paths, strict=True):
        ends = [path[-1] for path in line if path]
        places = _places(name, max(ends), width, height) if ends and name else ()
        free = [place for place in places if not any(place[1].meets(box) for box in taken)]
        # The place with the fewest points under it; of equal ones the first.
        label, box = min(free, key=lambda place: sum(map(place[1].has, drawn)), default=(None, None))
        found.append(label)
        if box is not None:
            taken.append(box)
    return found


def _places(name: str, end: Point, width: float, height: float) -> Iterator[tuple[Label, _Box]]:
    """Give places above and below a line's end, the best first, with the room that they take."""
    long = _LETTER * len(name)
    x, anchor = (end[0] - _INSET, "end") if end[0] > width / 2 else (end[0] + _INSET, "start")
    left = x - long if anchor == "end" else x
    if left < 0 or left + long > width:
        return
    for by in _BESIDE:
        y = end[1] + by
        box = _Box(left, y - _LINE + 3, left + long, y + 3)
        if box.top >= 0 and box.bottom <= height:
            yield Label(x, y, anchor), box


def _along(path: Sequence[Point]) -> Iterable[Point]:
    """Give the points of a part of a line, and some between."""
    yield from path
    for (x, y), (to_x, to_y) in pairwise(path):
        for step in range(1, _BETWEEN + 1):
            part = step / (_BETWEEN + 1)
            yield x + part * (to_x - x), y + part * (to_y - y)
