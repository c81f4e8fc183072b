"""Whole queues planned by the nine policies: drawn ones, and some that are worked out by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.availability import Unavailability
from cosched.scheduling.elastic.pieces import check_pieces
from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.elastic.reshaping import of_the_rest
from cosched.scheduling.elastic.tasks import RunningTask
from cosched.scheduling.licences import Licences
from cosched.scheduling.policies import plan
from cosched.scheduling.policies.policy import PolicyName
from tests.scheduling.elastic.queues import SHARED, drawn_problems, mixed
from tests.scheduling.problems import a_matrix, a_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import TaskPiece

NAMES = [PolicyName(name) for name in ElasticPolicyName]


@st.composite
def drawn_queues(draw: st.DrawFn) -> Problem:
    """Draw a queue; some of its elastic and other tasks run already."""
    problem, _, counts = draw(drawn_problems())
    free, running = list(draw(st.permutations(range(len(problem.hosts))))), {}
    for task, count in enumerate(counts):
        waits = problem.release[task] > 0 or (problem.depends_on and problem.depends_on[task])
        if not waits and count <= len(free) and draw(st.booleans()):
            running[task] = RunningTask(tuple(sorted(free[:count])), draw(st.floats(0.05, 1.0)))
            free = free[count:]
    return replace(problem, running=running)


def pieces_of(problem: Problem, policy: str) -> dict[str, list[TaskPiece]]:
    found = defaultdict(list)
    for piece in plan(problem, PolicyName(policy)).schedule.pieces:
        found[piece.task].append(piece)
    return found


def widths(problem: Problem, policy: str) -> dict[str, list[tuple[float, int]]]:
    found = pieces_of(problem, policy)
    return {task: [(each.start, len(each.hosts)) for each in pieces] for task, pieces in found.items()}


@given(problem=drawn_queues(), policy=st.sampled_from(NAMES))
def test_every_task_does_all_that_is_left_of_it_on_hosts_of_its_own(problem: Problem, policy: PolicyName) -> None:
    schedule, statistics = plan(problem, policy)
    assert check_pieces(problem, None, schedule.pieces) == []
    assert {item.task for item in schedule.assignments} == set(problem.tasks)
    assert schedule.makespan == max(piece.end for piece in schedule.pieces) >= statistics.bound * (1 - 1e-9)
    for one, other in combinations(schedule.pieces, 2):
        apart = one.end <= other.start or other.end <= one.start
        assert apart or not set(one.hosts) & set(other.hosts)
    for piece in schedule.pieces:
        task = (problem.elastic or {}).get(problem.tasks.index(piece.task))
        assert task is None or task.least <= len(piece.hosts) <= task.most


@given(problem=drawn_queues(), policy=st.sampled_from(NAMES))
def test_where_changes_are_free_the_pieces_hold_just_the_work(problem: Problem, policy: PolicyName) -> None:
    free = {task: replace(each, grow_cost=0.0, shrink_cost=0.0) for task, each in (problem.elastic or {}).items()}
    problem = replace(problem, elastic=free)
    for name, pieces in pieces_of(problem, policy).items():
        index = problem.tasks.index(name)
        done = sum((each.end - each.start) / seconds(problem, index, len(each.hosts)) for each in pieces)
        left = problem.running[index].left if problem.running and index in problem.running else 1.0
        assert done == pytest.approx(left, rel=1e-6)


def seconds(problem: Problem, task: int, hosts: int) -> float:
    elastic = (problem.elastic or {}).get(task)
    return float(problem.seconds[0, task, hosts - 1]) if elastic is None else elastic.on(hosts)


@pytest.mark.parametrize("policy", NAMES)
def test_a_plan_is_the_same_again(policy: PolicyName) -> None:
    problem = mixed(0, release=(0.0, 5.0), cost=1.0, drain=1.0)
    assert plan(problem, policy, seed=3).schedule == plan(problem, policy, seed=3).schedule


def test_hosts_are_lent_while_they_are_idle_and_taken_back_for_who_comes() -> None:
    problem = mixed(0, release=(0.0, 5.0))
    done = 5 / 10 + 15 * 2 / 80
    assert widths(problem, "marginal")["a"] == [(0.0, 8), (5.0, 2), (20.0, 8)]
    assert pieces_of(problem, "marginal")["a"][-1].end == pytest.approx(20 + (1 - done) * 10)
    assert widths(problem, "ideal") == {"a": [(0.0, 8)], "b": [(10.0, 6)]}


def test_what_is_not_elastic_keeps_the_hosts_that_it_starts_on() -> None:
    """Of a moldable task the policy chooses the number once: what is idle later is no use to it."""
    problem = a_problem([SHARED, (15.0, 7.5, 5.0, 3.75)], hosts=8, release=[0.0, 0.0])
    assert widths(problem, "moldable-now") == {"a": [(0.0, 8)], "b": [(10.0, 4)]}
    both = widths(problem, "equi")
    assert both == {"a": [(0.0, 4)], "b": [(0.0, 4)]}


def test_a_task_that_runs_goes_on_and_gives_hosts_up_at_once_at_its_cost() -> None:
    problem = replace(mixed(0, cost=1.0, drain=2.0), running={0: RunningTask(tuple(range(1, 8)), 0.5)})
    found = pieces_of(problem, "marginal")
    assert (found["a"][0].start, len(found["a"][0].hosts)) == (0.0, 2)
    assert set(found["a"][0].hosts) < set(problem.hosts[1:])
    assert found["b"][0].start == 2.0  # five of its six hosts drain first
    assert found["a"][0].end - found["a"][0].start > 1.0
    alone = replace(mixed(0), running={0: RunningTask((6, 7), 0.25)})
    assert pieces_of(alone, "ideal")["a"][0].hosts == problem.hosts[6:]
    assert pieces_of(alone, "ideal")["a"][0].end == pytest.approx(10.0)


def test_the_bound_knows_how_much_is_left() -> None:
    problem = replace(a_problem([[8.0, 4.0], [2.0]]), running={0: RunningTask((0,), 0.5)})
    assert of_the_rest(problem).seconds[0, 0].tolist() == [4.0, math.inf]
    assert plan(problem, PolicyName.MARGINAL).statistics.bound == 4.0
    assert of_the_rest(mixed(0)).seconds is not None


@pytest.mark.parametrize("policy", NAMES)
@pytest.mark.parametrize(
    ("problem", "obstacle"),
    [
        (replace(mixed(0), unavailability=(Unavailability(2, 3.0, 4.0),)), "h2 comes and goes or is reserved"),
        (a_matrix(np.array([[1.0, 2.0]])), "hosts that are alike, and here are classes, as h0 and h1, that differ"),
        (a_problem([[1.0, 1.0]], free=[0.0, 5.0]), "h1 comes and goes or is reserved"),
        (
            replace(mixed(0), licences=Licences(("a",), np.array([1]), np.array([[1], [0]]))),
            "tasks without licences, and some ask for them",
        ),
    ],
)
def test_what_a_policy_does_not_plan_is_refused_with_the_reason(
    policy: PolicyName, problem: Problem, obstacle: str
) -> None:
    with pytest.raises(UserError, match=f"^{policy} plans .*{obstacle}; choose another policy$"):
        plan(problem, policy)


def test_policies_for_tasks_that_wait_name_those_for_tasks_that_run() -> None:
    problem = replace(mixed(0), running={0: RunningTask((0,), 0.5)})
    for policy in (PolicyName.GENETIC, PolicyName.EDF, PolicyName.TITAN_CLASSIC):
        with pytest.raises(
            UserError, match=f"^{policy} plans tasks that wait, and a runs already: choose ideal, .*al$"
        ):
            plan(problem, policy)
