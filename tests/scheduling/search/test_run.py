from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pytest

from cosched.scheduling.objective.comparison import PlanFigures
from cosched.scheduling.search.run import Limit, run_search

if TYPE_CHECKING:
    from cosched.scheduling.objective.comparison import SearchProgress


@dataclass
class Countdown:
    """A search that finds a shorter makespan at each third generation, until it is at the bound."""

    bound: float = 1.0
    generations: int = 0
    strides: list[int] = field(default_factory=list)

    @property
    def evaluations(self) -> int:
        return 40 * self.generations + 5

    @property
    def finished(self) -> bool:
        return self.figures().makespan <= self.bound

    def step(self, generations: int = 1) -> bool:
        before = self.figures()
        self.strides.append(generations)
        self.generations += generations
        return self.figures() != before

    def figures(self) -> PlanFigures:
        return PlanFigures(max(20.0 - self.generations // 3, 1.0), 0, 0.0, 0.0)


def test_it_ends_after_just_so_many_generations_whatever_the_stride() -> None:
    search, statistics = run_search(Countdown, Limit(generations=17), stride=5)
    assert search.strides == [5, 5, 5, 2]
    assert (statistics.generations, statistics.evaluations, statistics.bound) == (17, 685, 1.0)


def test_it_ends_when_its_time_is_up() -> None:
    ticks = count()
    _, statistics = run_search(Countdown, Limit(seconds=10, clock=lambda: float(next(ticks))))
    assert 0 < statistics.generations < 10
    assert statistics.elapsed >= 10


def test_it_ends_when_nothing_can_be_better() -> None:
    assert run_search(Countdown, Limit())[1].generations == 57


def test_no_generation_at_all_leaves_the_first_plan() -> None:
    _, statistics = run_search(Countdown, Limit(generations=0))
    assert statistics.generations == 0
    assert [item.why for item in statistics.progress] == [""]


def test_each_better_plan_is_told_once_with_what_became_better() -> None:
    told: list[SearchProgress] = []
    _, statistics = run_search(Countdown, Limit(generations=7), told.append)
    assert tuple(told) == statistics.progress
    assert [(item.generations, item.why) for item in told] == [
        (0, ""),
        (3, "makespan 20 → 19 s"),
        (6, "makespan 19 → 18 s"),
    ]


@pytest.mark.parametrize("limit", [Limit(seconds=0), Limit(seconds=0, generations=5)])
def test_without_time_there_is_the_first_plan(limit: Limit) -> None:
    assert run_search(Countdown, limit)[1].generations == 0
