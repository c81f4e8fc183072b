from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.titan_classic import TitanClassicSearch, remainder_selection
from tests.scheduling.problems import a_problem, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


@given(problems())
def test_the_best_schedule_is_feasible_and_has_the_cost_told(problem: Problem) -> None:
    weights = Weights(1.0, 0.5, 2.0)
    search = TitanClassicSearch(problem, weights, seed=1)
    for _ in range(3):
        search.step()
    schedule = search.schedule
    assert check_schedule(problem, schedule) == []
    metrics = measure(problem, schedule)
    idle = metrics.front_idle * len(problem.hosts)
    cost = (1.0 * metrics.makespan + 0.5 * idle + 2.0 * metrics.lateness) / 3.5
    assert search.cost == pytest.approx(cost, rel=1e-9)
    assert search.evaluations == 4 * 40
    counts = {problem.tasks[task]: count for task, count in enumerate(search.best.counts.tolist())}
    assert {item.task: len(item.hosts) for item in schedule.assignments} == counts


def test_it_gets_better_and_the_seed_decides() -> None:
    draw = np.random.default_rng(1)
    problem = a_problem((draw.uniform(5, 50, (12, 1)) / np.arange(1, 5)).tolist(), 4)
    one, other = TitanClassicSearch(problem, seed=2), TitanClassicSearch(problem, seed=2)
    first = one.cost
    for _ in range(60):
        one.step()
        other.step()
    assert one.cost < first
    assert one.cost == other.cost
    assert one.best.order.tolist() == other.best.order.tolist()


def test_a_small_problem_is_solved() -> None:
    search = TitanClassicSearch(a_problem([[4.0], [4.0], [8.0]]), Weights(1.0, 0.0, 0.0))
    for _ in range(50):
        search.step()
    assert search.schedule.makespan == 8.0


def test_copies_follow_fitness() -> None:
    # Fitness 1, 0.5, 0 and 0.5; mean 0.5: two copies, one, none and one, with no fraction to draw for.
    copies = remainder_selection(np.array([1.0, 2.0, 3.0, 2.0]), np.random.default_rng(0))
    assert sorted(copies.tolist()) == [0, 0, 1, 3]


def test_fractions_are_a_chance_of_one_more() -> None:
    draw = np.random.default_rng(0)
    costs = np.array([0.0, 1.0, 4.0])  # expected copies 12/7, 9/7 and 0
    drawn = [sorted(remainder_selection(costs, draw).tolist()) for _ in range(70)]
    assert {tuple(copies) for copies in drawn} == {(0, 0, 1), (0, 1, 1)}
    assert sum(copies.count(0) == 2 for copies in drawn) > 35


def test_equal_costs_are_all_kept() -> None:
    copies = remainder_selection(np.full(6, 3.0), np.random.default_rng(0))
    assert sorted(copies.tolist()) == [0, 1, 2, 3, 4, 5]


def test_more_hosts_than_any_task_can_use_are_no_place_to_run() -> None:
    # The compiled tables end at the widest count that any task can use: behind it lies other memory.
    problem = a_problem([[4.0], [5.0]], hosts=6)
    search = TitanClassicSearch(problem, seed=1)
    for _ in range(50):
        search.step()
        assert check_schedule(problem, search.schedule) == []
