"""The OR-graph of a tunable application: stages in their configurations, and what may follow each.

Every walk from a first stage to a last one is a way through the application, for what may follow a stage
depends only on where it is written and on the control parameters: stages that are alike in both are one node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.language.tunable_paths import PathLoop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.language.tunable_paths import PathElement, PathStage, TunablePath

__all__ = ["GraphStage", "or_graph"]


@dataclass(frozen=True, slots=True)
class GraphStage:
    """A node.

    Attributes:
        number: from 1, as the ways meet them.
        stage: what runs.
        turns: how often it runs, where it is in a loop, else 1; for loops in loops their product.
        first: whether the application may begin with it.
        last: whether it may end with it.
        then: numbers of the stages that may follow it, in the same turn or behind the loop.
    """

    number: int
    stage: PathStage
    turns: int
    first: bool
    last: bool
    then: tuple[int, ...]


def or_graph(paths: Sequence[TunablePath]) -> tuple[GraphStage, ...]:
    """Return the nodes of the graph of all ways."""
    numbers: dict[tuple[PathStage, int], int] = {}
    firsts: set[int] = set()
    lasts: set[int] = set()
    then: dict[int, set[int]] = {}
    for path in paths:
        before: int | None = None
        for key in _stages(path.elements, 1):
            number = numbers.setdefault(key, len(numbers) + 1)
            then.setdefault(number, set())
            if before is None:
                firsts.add(number)
            else:
                then[before].add(number)
            before = number
        if before is not None:
            lasts.add(before)
    return tuple(
        GraphStage(number, stage, turns, number in firsts, number in lasts, tuple(sorted(then[number])))
        for (stage, turns), number in numbers.items()
    )


def _stages(elements: Sequence[PathElement], turns: int) -> Iterator[tuple[PathStage, int]]:
    """Yield the stages of one turn of each loop, with how often they run."""
    for element in elements:
        if isinstance(element, PathLoop):
            yield from _stages(element.elements, turns * element.turns)
        else:
            yield element, turns
