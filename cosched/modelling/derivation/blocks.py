"""Places that are executed equally often at every size are one block.

Start at `blocks_of`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.modelling.derivation.counting import Counts, Place

__all__ = ["SourceBlock", "blocks_of"]


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """Lines of a program that are executed together.

    Attributes:
        name: a function and a line of it.
        places: in order.
        counts: executions at each size.
    """

    name: str
    places: tuple[Place, ...]
    counts: tuple[int, ...]

    def numbers(self) -> list[tuple[int, int]]:
        """Return its lines, each by its source and number."""
        return sorted({(place.file, place.line) for place in self.places})

    def lines(self, names: Sequence[str]) -> str:
        """Return the places as `heat.c:31-33,40`."""
        found: dict[int, list[list[int]]] = defaultdict(list)
        for file, line in self.numbers():
            spans = found[file]
            if spans and line == spans[-1][1] + 1:
                spans[-1][1] = line
            else:
                spans.append([line, line])
        return " ".join(
            f"{names[file]}:" + ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)
            for file, spans in sorted(found.items())
        )


def blocks_of(runs: Sequence[Counts], taken: Iterable[str] = ()) -> list[SourceBlock]:
    """Return the blocks, those executed most first.

    Args:
        runs: the counts of each run, of one program.
        taken: names that no block may have.
    """
    vectors = {place: tuple(run.get(place, 0) for run in runs) for run in runs for place in run}
    groups: dict[tuple[int, ...], list[Place]] = defaultdict(list)
    for place in sorted(_own_places(vectors)):
        if any(vectors[place]):
            groups[vectors[place]].append(place)
    ordered = sorted(groups.items(), key=lambda group: (-sum(group[0]), group[1]))
    names = set(taken)
    found = []
    for vector, places in ordered:
        found.append(SourceBlock(_name(places, names), tuple(places), vector))
    return found


def _own_places(vectors: dict[Place, tuple[int, ...]]) -> list[Place]:
    """Return the places without repetition: of a line with loops their bodies, of the others the line.

    gcov tells two ways of each test, next to each other: the body of a loop is the one taken more often.
    """
    parts: dict[tuple[int, int, str], list[Place]] = defaultdict(list)
    for place in vectors:
        parts[place.file, place.line, place.function].append(place)
    found = []
    for places in parts.values():
        line, *ways = sorted(places, key=lambda place: place.part)
        pairs = [(one, other) for one, other in zip(ways[::2], ways[1::2], strict=False)]
        bodies = [max(pair, key=lambda place: (sum(vectors[place]), -place.part)) for pair in pairs]
        found += bodies or [line]
    return found


def _name(places: Sequence[Place], taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    first = places[0]
    name = f"{first.function}_{first.line}"
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique
