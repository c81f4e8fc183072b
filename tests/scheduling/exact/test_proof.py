from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.kernels import queue
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.exact.proof import Finding
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

pytest.importorskip("ortools", reason="the extra exact is not installed")


def proved(problem: Problem, plan: Plan, seconds: float = 60.0) -> tuple[float, Plan, list[Finding]]:
    """Return the last bound, the last plan, and all that was found."""
    from cosched.scheduling.exact.proof import Proof

    bound = lower_bound(problem)
    found = list(Proof(problem, plan, bound).findings(seconds))
    shorter = [each.plan for each in found if each.plan is not None]
    return max([bound, *[each.bound for each in found]]), shorter[-1] if shorter else plan, found


def makespan(problem: Problem, plan: Plan) -> float:
    return max(spans(problem, plan)[1])


def shortest(problem: Problem) -> float:
    """Return the shortest makespan of all plans: no schedule is shorter (see the decoder's tests)."""
    useful = [(np.flatnonzero(row) + 1).tolist() for row in useful_counts(problem)]
    orders = list(permutations(range(len(problem.tasks))))
    return min(makespan(problem, a_plan(order, counts)) for order in orders for counts in product(*useful))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_bound_is_below_every_schedule_and_meets_the_best_plan(data: st.DataObject) -> None:
    """Releases, dependencies, busy hosts, hosts that come and go, times on a grid and on none."""
    away = data.draw(st.booleans())
    problem = data.draw(problems(tasks=4, hosts=3, classes=1, whole=data.draw(st.booleans()), unavailability=away))
    first = data.draw(plans(problem))
    optimum = shortest(problem)
    bound, plan, found = proved(problem, first)
    assert bound <= optimum * (1 + 1e-9)
    for each in found:
        if each.plan is not None:
            assert not check_schedule(problem, decode(problem, each.plan))
    assert makespan(problem, plan) >= optimum * (1 - 1e-9)
    if not away:  # which hosts are away is not told to the model
        # Where times are on no grid, each task's is rounded by less than a two-thousandth of the first plan's makespan.
        rounding = (len(problem.tasks) + 1) * makespan(problem, first) / 2000
        assert bound >= optimum - rounding
        assert makespan(problem, plan) <= optimum + rounding


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_whole_times_are_proved_to_the_second(data: st.DataObject) -> None:
    problem = data.draw(problems(tasks=4, hosts=3, classes=1, whole=True))
    optimum = shortest(problem)
    bound, plan, _ = proved(problem, data.draw(plans(problem)))
    assert bound == makespan(problem, plan) == optimum


def test_what_no_area_tells_is_proved() -> None:
    """Three tasks of 6 s on two hosts: 9 s by area, 12 s in fact; and a hole that no task fits into."""
    problem = a_problem([[6.0]] * 3)
    assert lower_bound(problem) == 9.0
    bound, plan, _ = proved(problem, a_plan([0, 1, 2], [1, 1, 1]))
    assert (bound, makespan(problem, plan)) == (12.0, 12.0)


def test_a_short_queue_of_kernels_is_solved() -> None:
    problem = queue(12, 8, seed=4)
    bound, plan, found = proved(problem, two_phase(problem))
    assert bound == makespan(problem, plan)
    assert any(each.plan is not None for each in found)
    assert makespan(problem, plan) < makespan(problem, two_phase(problem))


def test_a_plan_that_cannot_be_shorter_needs_no_solver() -> None:
    problem = a_problem([[4.0], [4.0]])
    assert proved(problem, a_plan([0, 1], [1, 1]))[2] == []


def test_users_turns_do_not_make_the_bound_wrong() -> None:
    from cosched.scheduling.problem import Turns

    problem = replace(a_problem([[6.0]] * 3), turns=Turns(np.array([0, 0, 1]), np.array([0, 1, 0])))
    assert proved(problem, a_plan([0, 1, 2], [1, 1, 1]))[0] == 12.0


def test_it_ends_soon_when_it_is_stopped_or_its_time_is_over() -> None:
    from cosched.scheduling.exact.proof import Proof

    problem = queue(60, 16, seed=3)  # as long as can be, and not solved for hours
    problem = replace(problem, seconds=problem.seconds * math.pi)
    proof = Proof(problem, two_phase(problem), lower_bound(problem))
    began = time.monotonic()
    threading.Timer(1.0, proof.stop).start()
    list(proof.findings(600.0))
    assert time.monotonic() - began < 60
    list(Proof(problem, two_phase(problem), lower_bound(problem)).findings(0.5))
    assert time.monotonic() - began < 120
