from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.kernels.search.way_kernel import choose_ways, lead_along, tabulate_ways
from cosched.scheduling.objective.objective import measure_plan, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.search.genetic_search import GeneticSearch
from cosched.scheduling.ways import ChainWays, along_ways, plan_along_ways
from tests.exploring import examples
from tests.scheduling.problems import a_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

_INF = float("inf")


def _ways(rows: list[int], hosts: list[list[int]], leader: int = 0) -> ChainWays:
    return ChainWays(np.array(rows, dtype=np.int64), np.array(hosts, dtype=np.int64), leader)


def _goes_one_way(chain: ChainWays, counts: np.ndarray) -> bool:
    return any(counts[chain.rows].tolist() == hosts for hosts in chain.hosts.tolist())


@st.composite
def _chains(draw: st.DrawFn) -> tuple[list[ChainWays], np.ndarray]:
    """Draw chains of rows of their own, and a population of counts of anything."""
    stages = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    chains, first = [], 0
    for count in stages:
        leader = draw(st.integers(0, count - 1))
        leading = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True))
        hosts = [[draw(st.integers(1, 6)) for _ in range(count)] for _ in leading]
        for way, number in zip(hosts, leading, strict=True):
            way[leader] = number
        chains.append(_ways(list(range(first, first + count)), hosts, leader))
        first += count
    plans = draw(st.integers(1, 5))
    numbers = st.lists(st.integers(1, 7), min_size=first + 1, max_size=first + 1)
    counts = draw(st.lists(numbers, min_size=plans, max_size=plans))
    return chains, np.array(counts, dtype=np.int64)


@given(drawn=_chains(), seed=st.integers(1, 100))
def test_all_stages_go_one_way_and_other_tasks_keep_their_counts(
    drawn: tuple[list[ChainWays], np.ndarray], seed: int
) -> None:
    chains, counts = drawn
    before = counts.copy()
    along_ways(chains, counts)
    assert all(_goes_one_way(chain, row) for chain in chains for row in counts)
    for chain in chains:
        leader = chain.rows[chain.leader]
        known = np.isin(before[:, leader], chain.hosts[:, chain.leader])
        assert (counts[known, leader] == before[known, leader]).all()
        assert (counts[~known][:, chain.rows] == chain.hosts[0]).all()
    assert (counts[:, -1] == before[:, -1]).all()
    again = counts.copy()
    along_ways(chains, again)
    assert (again == counts).all()
    tables = tabulate_ways(chains)
    lead_along(tables, choose_ways(np.array([seed], dtype=np.uint64), tables, counts), counts)
    assert all(_goes_one_way(chain, row) for chain in chains for row in counts)
    assert (counts[:, -1] == before[:, -1]).all()


def test_every_way_is_come_upon() -> None:
    chain = _ways([0, 1], [[1, 2], [2, 1], [3, 3]])
    counts = np.tile(np.array([1, 2, 5]), (200, 1))
    tables = tabulate_ways([chain])
    lead_along(tables, choose_ways(np.array([1], dtype=np.uint64), tables, counts), counts)
    assert {tuple(row) for row in counts.tolist()} == {(1, 2, 5), (2, 1, 5), (3, 3, 5)}


def test_a_plan_of_a_problem_without_ways_stays_as_it_is() -> None:
    plan = Plan(np.array([0, 1]), np.array([1, 2]))
    assert plan_along_ways((), plan) is plan


def _two_chains() -> Problem:
    """Return chains a-b and c-d on four hosts, each either narrow then wide or wide then narrow, beside a task e."""
    narrow, wide = [_INF, 8.0, _INF, 4.0], [_INF, 8.0, _INF, 4.0]
    problem = a_problem([narrow, wide, narrow, wide, [12.0]], 4, depends_on=((), (0,), (), (2,), ()))
    return replace(problem, ways=(_ways([0, 1], [[2, 4], [4, 2]]), _ways([2, 3], [[2, 4], [4, 2]])))


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_ways_that_are_better_together(seed: int) -> None:
    """In one way alone both chains want all hosts at once; one of each fits beside the other."""
    problem = _two_chains()
    warm = Plan(np.arange(5), np.array([2, 4, 2, 4, 1]))
    search = GeneticSearch(problem, Weights(), seed, warm)
    search.step(300)
    best = search.best
    assert all(_goes_one_way(chain, best.counts) for chain in problem.ways)
    bound = lower_bound(problem)
    every = []
    for first in problem.ways[0].hosts:
        for second in problem.ways[1].hosts:
            fixed = Plan(warm.order, np.concatenate((first, second, [1])))
            alone = replace(problem, seconds=_only(problem, fixed.counts), ways=())
            one = GeneticSearch(alone, Weights(), seed, fixed)
            one.step(300)
            every.append(objective(measure_plan(problem, one.best), Weights(), bound))
    assert objective(measure_plan(problem, best), Weights(), bound) == pytest.approx(min(every))
    assert min(every) < max(every)


def _only(problem: Problem, counts: np.ndarray) -> np.ndarray:
    """Return the run times on these counts alone."""
    kept = np.full(problem.seconds.shape, _INF)
    rows = np.arange(len(counts))
    kept[:, rows, counts - 1] = problem.seconds[:, rows, counts - 1]
    return kept


@given(st.integers(0, examples(20)))
def test_what_the_search_keeps_goes_one_way_at_every_step(seed: int) -> None:
    problem = _two_chains()
    search = GeneticSearch(problem, Weights(), seed)
    for _ in range(5):
        assert all(_goes_one_way(chain, search.best.counts) for chain in problem.ways)
        search.step(3)
