from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling import kernel_cache
from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.objective.comparison import PlanFigures
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.policies import POLICIES, PolicyName, find_policy, plan
from cosched.scheduling.policies import policy as policy_module
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.run import Limit
from tests.scheduling.problems import a_matrix, a_problem, matrices, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

INDEPENDENT = {name for name, policy in POLICIES.items() if policy.one_host}
RESHAPING = {name for name, policy in POLICIES.items() if policy.reshapes}
COMPILED = {name for name, policy in POLICIES.items() if policy.compiled}


def _counts(schedule: Schedule) -> list[int]:
    return [len(item.hosts) for item in schedule.assignments]


@pytest.mark.parametrize("policy", sorted(set(PolicyName) - INDEPENDENT - RESHAPING))
@given(problem=problems())
def test_every_policy_gives_a_feasible_schedule_no_better_than_the_bound(policy: PolicyName, problem: Problem) -> None:
    schedule, statistics = plan(problem, policy, Limit(0.001))
    assert check_schedule(problem, schedule) == []
    assert schedule.makespan >= statistics.bound * (1 - 1e-12)
    assert statistics.evaluations >= 1


@pytest.mark.parametrize("policy", sorted(set(PolicyName) - INDEPENDENT - RESHAPING - {PolicyName.TITAN_CLASSIC}))
@given(problem=problems(unavailability=True))
def test_every_policy_plans_around_hosts_that_come_and_go(policy: PolicyName, problem: Problem) -> None:
    schedule, statistics = plan(problem, policy, Limit(0.001))
    assert check_schedule(problem, schedule) == []
    assert schedule.makespan >= statistics.bound * (1 - 1e-12)


@pytest.mark.parametrize("policy", sorted({*INDEPENDENT, *RESHAPING, PolicyName.TITAN_CLASSIC}))
def test_policies_that_cannot_do_that_say_so(policy: PolicyName) -> None:
    problem = replace(a_matrix(np.array([[1.0, 2.0]])), unavailability=(Unavailability(1, 3.0, 4.0),))
    with pytest.raises(UserError, match="h1"):
        plan(problem, policy, Limit(0.001))


def test_titans_search_refuses_a_host_that_is_never_there() -> None:
    """Absent from the start, it was not away, only a free time without end: a traceback."""
    with pytest.raises(UserError, match="h1 is such: choose another policy"):
        plan(a_problem([[1.0, 1.0]], free=[0.0, math.inf]), PolicyName.TITAN_CLASSIC, Limit(0.001))


@pytest.mark.parametrize(
    ("policy", "counts"),
    [(PolicyName.FCFS_MAXIMUM, [3, 2]), (PolicyName.FCFS_CALCULATED, [2, 1])],
)
def test_users_counts(policy: PolicyName, counts: list[int]) -> None:
    problem = a_problem([[8.0, 3.0, 2.5], [4.0, 4.0, float("inf")]], hosts=3)
    assert _counts(plan(problem, policy)[0]) == counts


def test_arbitrary_counts_come_from_the_seed() -> None:
    problem = a_problem([[9.0] * 8] * 12, hosts=8)
    drawn = {tuple(_counts(plan(problem, PolicyName.FCFS_ARBITRARY, seed=seed)[0])) for seed in range(4)}
    again = {tuple(_counts(plan(problem, PolicyName.FCFS_ARBITRARY, seed=seed)[0])) for seed in range(4)}
    assert len(drawn) == 4
    assert drawn == again


def test_first_come_first_served_lets_nobody_overtake() -> None:
    problem = a_problem([[1.0], [9.0, 5.0], [1.0]], release=[0.0, 1.0, 2.0], free=[0.0, 20.0])
    schedule = plan(problem, PolicyName.FCFS_MAXIMUM)[0]
    assert [item.task for item in schedule.assignments] == ["a", "b", "c"]
    assert [item.start for item in schedule.assignments] == [0.0, 20.0, 25.0]


def test_the_search_stops_when_nothing_can_be_better() -> None:
    schedule, statistics = plan(a_problem([[4.0], [4.0]]), limit=Limit(60.0))
    assert schedule.makespan == 4.0
    assert statistics.generations == 0


@pytest.mark.parametrize("policy", sorted({*INDEPENDENT, PolicyName.GENETIC}))
@given(problem=matrices())
def test_every_policy_for_independent_tasks_gives_a_feasible_schedule(policy: PolicyName, problem: Problem) -> None:
    schedule, statistics = plan(problem, policy, Limit(0.001))
    assert check_schedule(problem, schedule) == []
    assert schedule.makespan >= statistics.bound * (1 - 1e-9)


@pytest.mark.parametrize("policy", sorted(INDEPENDENT))
@pytest.mark.parametrize(
    ("problem", "obstacle"),
    [
        (a_problem([[1.0], [1.0]], depends_on=((), (0,))), "b depends on a"),
        (a_problem([[1.0], [1.0]], release=[0.0, 3.0]), "b is released later"),
        (a_problem([[1.0]], free=[0.0, 3.0]), "h1 is busy"),
        (a_problem([[math.inf, 1.0]]), "a cannot run on one host"),
    ],
)
def test_tasks_that_are_not_independent_are_refused(policy: PolicyName, problem: Problem, obstacle: str) -> None:
    with pytest.raises(UserError, match=f"^{policy} places independent tasks .*: {obstacle}; choose another policy"):
        plan(problem, policy)


def test_the_default_policy_solves_an_etc_matrix_by_prices() -> None:
    problem = a_matrix(np.random.default_rng(1).uniform(1, 100, (60, 5)))
    default, statistics = plan(problem, limit=Limit(generations=30), seed=4)
    assert statistics.generations > 0
    heuristics = sorted(INDEPENDENT - {PolicyName.DUAL_PRICE})
    assert default.makespan < min(plan(problem, policy)[0].makespan for policy in heuristics)


def test_registry_has_a_policy_for_every_name_in_the_order_of_the_names() -> None:
    assert list(POLICIES) == list(PolicyName)


def test_an_unknown_policy_is_refused_with_those_that_there_are() -> None:
    assert plan(a_problem([[4.0, 2.0]]), "marginal").schedule.makespan == 2.0
    with pytest.raises(UserError, match=r"^'srt' is no policy: choose one of genetic, .*, srt-harvest, .*, marginal$"):
        plan(a_problem([[4.0]]), "srt")


def test_genetic_policy_hands_an_etc_matrix_without_deadlines_to_the_dual_price_search() -> None:
    matrix, genetic = a_matrix(np.ones((4, 2))), find_policy("genetic")
    assert genetic.delegate(matrix) is PolicyName.DUAL_PRICE
    assert genetic.delegate(replace(matrix, deadline=np.full(4, 9.0))) is PolicyName.GENETIC
    assert find_policy("titan-classic").delegate(matrix) is PolicyName.TITAN_CLASSIC


@pytest.mark.parametrize("policy", sorted(COMPILED))
def test_seed_and_generations_decide_the_plan_of_every_search(policy: PolicyName) -> None:
    draw = np.random.default_rng(3)
    # Many tasks and machines: two seeds shall not both find the best plan of all.
    problem = replace(a_matrix(draw.uniform(1, 100, (120, 12))), deadline=draw.uniform(50, 900, 120))
    generations = 3 if policy is PolicyName.TITAN_CLASSIC else 23  # of its own, in plain Python, each takes longest
    one, again = (plan(problem, policy, Limit(generations=generations), seed=5) for _ in range(2))
    assert one[0] == again[0]
    assert one[1].generations == again[1].generations == generations
    assert plan(problem, policy, Limit(generations=generations), seed=6)[0] != one[0]


@pytest.mark.parametrize("policy", sorted(COMPILED))
@given(problem=matrices(), deadlines=st.lists(st.floats(0.1, 50.0), min_size=10, max_size=10))
def test_every_search_says_what_became_of_its_plan(
    policy: PolicyName, problem: Problem, deadlines: list[float]
) -> None:
    """Titan's search and that by prices said nothing, and only the command line could tell that they did better."""
    due = replace(problem, deadline=np.array(deadlines[: len(problem.tasks)]))
    schedule, statistics = plan(due, policy, Limit(generations=4))
    measured = PlanFigures.of(measure(due, schedule))
    assert tuple(statistics.progress[-1].figures) == pytest.approx(tuple(measured), rel=1e-9, abs=1e-9)
    assert statistics.progress[0].why == ""


def test_a_bound_of_one_host_tasks_is_not_that_of_tasks_that_may_have_more() -> None:
    """On both hosts it takes 4 s, a fifth of its time on one: split over two machines, as the prices have it, 10."""
    problem = a_problem([[20.0, 4.0]], hosts=2)
    assert plan(problem, PolicyName.DUAL_PRICE, Limit(generations=30))[1].bound == plan(problem)[0].makespan == 4.0


def test_a_matrix_is_solved_once_its_longest_task_is_as_short_as_it_can_be() -> None:
    """The prices' bound knows nothing of tasks that are longer than a machine's share: all of the budget was spent."""
    _, statistics = plan(a_matrix(np.array([[9.0, 20.0], [1.0, 1.0]])), limit=Limit(60.0))
    assert statistics.bound == 9.0
    assert statistics.elapsed < 60.0


def test_looking_for_the_bound_is_no_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads the machine code: the best heuristic's plan of four tasks seemed to take a third of a second."""
    now = [0.0]

    def bound(problem: Problem) -> float:
        now[0] += 100.0
        return lower_bound(problem)

    monkeypatch.setattr(policy_module, "tight_bound", bound)
    monkeypatch.setattr(kernel_cache, "ready", lambda: True)
    for policy in (PolicyName.HEURISTIC, PolicyName.EDF, PolicyName.MIN_MIN):
        statistics = plan(a_problem([[4.0], [4.0]]), policy, Limit(1.0, clock=lambda: now[0]))[1]
        assert (statistics.bound, statistics.elapsed) == (4.0, 0.0)


def test_a_deadline_keeps_one_host_tasks_with_the_genetic_search() -> None:
    problem = replace(a_matrix(np.array([[2.0, 3.0], [2.0, 9.0]])), deadline=np.array([np.inf, 2.0]))
    schedule = plan(problem, limit=Limit(generations=30))[0]
    assert {item.task: item.end for item in schedule.assignments}["t1"] == 2.0


def test_objectives_stand_for_weights() -> None:
    assert ObjectiveName.BALANCED.weights == Weights()
    assert ObjectiveName.DEADLINES_FIRST.weights == Weights(deadlines_first=True)
    assert (ObjectiveName.MAKESPAN.weights.idle, ObjectiveName.MAKESPAN.weights.lateness) == (0.0, 0.0)
