"""Run a search from its first plan to its limit and report each better plan."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from cosched.scheduling.objective.comparison import PlanFigures, SearchProgress, describe_difference

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IterativeSearch", "Limit", "SearchStatistics", "run_search"]


class IterativeSearch(Protocol):
    """A search that goes on step by step."""

    @property
    def bound(self) -> float:
        """Lower bound of the makespan in seconds."""

    @property
    def generations(self) -> int:
        """Done so far."""

    @property
    def evaluations(self) -> int:
        """Complete plans compared so far."""

    @property
    def finished(self) -> bool:
        """True when nothing can get better."""

    def step(self, generations: int = 1) -> bool:
        """Go on for some generations; return whether a better plan was found."""

    def figures(self) -> PlanFigures:
        """Return what the best plan so far is judged by."""


_Search = TypeVar("_Search", bound=IterativeSearch)


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of a search: the first one reached ends it.

    Attributes:
        seconds: seconds on the clock; they are checked between generations.
        generations: with the seed they decide the plan on any machine; None for any number.
        clock: in seconds; `time.thread_time` where others keep the machine busy.
    """

    seconds: float = math.inf
    generations: int | None = None
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, slots=True)
class SearchStatistics:
    """Figures about one search.

    Attributes:
        bound: lower bound of the makespan in seconds.
        evaluations: complete plans that were compared; 1 where a policy makes just one.
        generations: generations of a genetic search, or rounds of annealing of the dual-price search.
        elapsed: seconds of planning; reading or compiling machine code is not counted.
        progress: the plan that a search began with and each better one on its way.
    """

    bound: float
    evaluations: int
    generations: int
    elapsed: float
    progress: tuple[SearchProgress, ...] = ()


def run_search(
    begin: Callable[[], _Search],
    limit: Limit,
    on_progress: Callable[[SearchProgress], None] | None = None,
    stride: int = 1,
) -> tuple[_Search, SearchStatistics]:
    """Run a search to its end or limit; return it with its statistics.

    Args:
        begin: makes the search with its first plan; the time that this takes counts.
        limit: when it ends.
        on_progress: is given the first plan's figures and those of each better one as it is found.
        stride: generations between two looks at the clock.
    """
    began = limit.clock()
    search = begin()
    progress: list[SearchProgress] = []
    better = True
    while True:
        if better:
            figures = search.figures()
            why = describe_difference(progress[-1].figures, figures) if progress else ""
            progress.append(SearchProgress(limit.clock() - began, search.generations, search.evaluations, figures, why))
            if on_progress is not None:
                on_progress(progress[-1])
        left = math.inf if limit.generations is None else limit.generations - search.generations
        if search.finished or left <= 0 or limit.clock() - began >= limit.seconds:
            break
        better = search.step(int(min(stride, left)))
    elapsed = limit.clock() - began
    return search, SearchStatistics(search.bound, search.evaluations, search.generations, elapsed, tuple(progress))
