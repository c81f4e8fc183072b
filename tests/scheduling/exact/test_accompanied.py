from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from benchmarks.kernels import mixed, queue
from cosched.scheduling.exact.accompanied import AccompaniedSearch
from cosched.scheduling.exact.messages import ExactAnswer
from cosched.scheduling.exact.partner import ExactPartner
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.search.genetic_search import GeneticSearch
from tests.scheduling.problems import a_plan, a_problem

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

MAKESPAN = ObjectiveName.MAKESPAN.weights


class Told:
    """In place of a partner: answers what a test says."""

    def __init__(self) -> None:
        self.begun: list[tuple[Problem, float]] = []
        self.given: list[ExactAnswer] = []
        self.working = False

    def begin(self, problem: Problem, plan: Plan, bound: float, seconds: float) -> None:
        self.begun.append((problem, bound))
        self.working = True

    def rest(self) -> None:
        self.working = False

    def answers(self, seconds: float = 0.0) -> list[ExactAnswer]:
        given, self.given = self.given, []
        return given


def accompanied(problem: Problem, head_start: float = 0.0, **weights: Any) -> tuple[AccompaniedSearch, Told]:
    partner = Told()
    search = GeneticSearch(problem, MAKESPAN, seed=1)
    return AccompaniedSearch(problem, search, cast("ExactPartner", partner), head_start, 10.0), partner


def test_bounds_and_plans_of_the_partner_are_the_searchs() -> None:
    """Tasks of 6, 6 and 5 s on two hosts: that 11 s are the shortest no area tells."""
    search, partner = accompanied(a_problem([[6.0], [6.0], [5.0]]))
    search.step()
    assert [bound for _, bound in partner.begun] == [9.0]
    before = search.expects, search.finished
    partner.given = [ExactAnswer(1, 10.0), ExactAnswer(1, 11.0, a_plan([2, 0, 1], [1, 1, 1]))]
    assert not search.step()  # a plan as good as the search's own
    assert search.bound == 11.0
    assert before == (True, False)
    assert (search.expects, search.finished, partner.working) == (False, True, False)


def test_a_better_plan_of_the_partner_is_the_best_from_then_on() -> None:
    problem = queue(30, 16, seed=10)
    long = GeneticSearch(problem, MAKESPAN, seed=2)
    long.step(3000)
    search, partner = accompanied(problem)
    assert search.objective > long.objective
    partner.given = [ExactAnswer(1, search.bound, long.best)]
    assert search.hear()
    assert search.objective == long.objective
    assert search.figures() == long.figures()
    assert np.array_equal(search.best.counts, long.best.counts)


def test_the_partner_rests_until_the_head_start_is_over() -> None:
    search, partner = accompanied(queue(30, 16, seed=1), head_start=3600.0)
    search.step(5)
    assert not partner.begun
    assert search.expects


def test_the_partner_rests_where_its_model_has_not_all() -> None:
    search, partner = accompanied(mixed(10, 8, 1, (1.0, 2.0)))
    search.step(5)
    assert not partner.begun
    assert not search.expects


def test_nothing_is_asked_where_the_search_has_finished() -> None:
    search, partner = accompanied(a_problem([[4.0], [4.0]]))
    search.step()
    assert search.finished
    assert not partner.begun


def test_a_real_partner_proves_what_the_search_cannot() -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    problem = a_problem([[6.0, 5.0]] * 3)
    partner = ExactPartner()
    try:
        search = AccompaniedSearch(problem, GeneticSearch(problem, MAKESPAN), partner, 0.0, 60.0)
        while search.expects:
            search.hear(0.1)
    finally:
        partner.close()
    assert search.finished
    assert search.bound == search.figures().makespan
