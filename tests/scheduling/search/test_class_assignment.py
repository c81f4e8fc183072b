from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.class_assignment import assign_classes
from tests.scheduling.problems import a_problem, problems, unconstrained

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def _mixed(tasks: int) -> Problem:
    """Return tasks that can use up to two of six hosts, three of which take twice as long."""
    draw = np.random.default_rng(1)
    alike = a_problem([[float(long), 0.6 * long] for long in draw.integers(5, 50, tasks)], hosts=6)
    return replace(
        alike,
        classes=("fast", "slow"),
        host_class=np.repeat([0, 1], 3),
        seconds=np.concatenate([alike.seconds, 2 * alike.seconds]),
    )


@given(st.data())
def test_every_task_runs_once_on_hosts_of_the_class_it_was_given(data: st.DataObject) -> None:
    problem = unconstrained(data.draw(problems()))
    plan = assign_classes(problem, 2)
    if plan is None:
        return
    schedule = decode(problem, plan)
    assert not check_schedule(problem, schedule)
    assert plan.classes is not None
    kinds = dict(zip(problem.hosts, problem.host_class.tolist(), strict=True))
    for task, kind in enumerate(plan.classes.tolist()):
        [found] = [each for each in schedule.assignments if each.task == problem.tasks[task]]
        assert {kinds[host] for host in found.hosts} == {kind}


def test_a_long_queue_on_two_classes_ends_near_the_bound() -> None:
    problem = _mixed(26)
    plan = assign_classes(problem, 4)
    assert plan is not None
    apart = decode(problem, plan).makespan
    assert apart < 1.04 * tight_bound(problem)
    assert apart < decode(problem, two_phase(problem)).makespan


def test_hosts_at_work_are_given_less() -> None:
    problem = replace(_mixed(20), free=np.array([200.0] * 3 + [0.0] * 3))
    plan = assign_classes(problem, 4)
    assert plan is not None
    assert plan.classes is not None
    assert (plan.classes == 1).mean() > 0.5


@pytest.mark.parametrize(
    "problem",
    [
        a_problem([[4.0, 3.0]] * 3),
        replace(_mixed(3), release=np.ones(3)),
        replace(_mixed(3), depends_on=((), (0,), ())),
        replace(_mixed(3), free=np.array([0.0] * 5 + [np.inf])),  # the last host is gone
        replace(_mixed(3), seconds=np.where(np.arange(6) == 3, 5.0, np.inf) * np.ones((2, 3, 1))),
    ],
)
def test_what_cannot_be_split_is_left_to_others(problem: Problem) -> None:
    assert assign_classes(problem, 4) is None
