from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.objective.objective import Metrics, measure, measure_plan, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.schedule import Assignment, Schedule
from tests.scheduling.problems import a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def pockets(problem: Problem, schedule: Schedule) -> list[tuple[float, float]]:
    """Return (start, length) of every idle pocket up to the makespan, host by host."""
    found = []
    for host, free in zip(problem.hosts, problem.free.tolist(), strict=True):
        now = free
        for item in sorted(schedule.assignments, key=lambda item: item.start):
            if host in item.hosts:
                found.append((now, item.start - now))
                now = item.end
        found.append((now, max(0.0, schedule.makespan - now)))
    return found


@given(st.data())
def test_idle_time_is_that_of_the_pockets_by_titans_formula(data: st.DataObject) -> None:
    problem = data.draw(problems())
    schedule = decode(problem, data.draw(plans(problem)))
    metrics, w = measure(problem, schedule), schedule.makespan
    found = pockets(problem, schedule)
    phi = sum(length * (2 * w - 2 * start - length) / w**2 for start, length in found)
    available = sum(max(0.0, w - free) for free in problem.free.tolist())
    assert metrics.front_idle == pytest.approx(phi / len(problem.hosts), abs=1e-9)
    assert metrics.idle * available == pytest.approx(sum(length for _, length in found), abs=1e-6)


@given(st.data())
def test_a_plan_is_measured_as_the_schedule_that_it_stands_for(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan = data.draw(plans(problem))
    assert asdict(measure_plan(problem, plan)) == pytest.approx(asdict(measure(problem, decode(problem, plan))))


def test_deadlines_are_counted_and_delays_are_positive_when_early() -> None:
    problem = a_problem([[4.0], [6.0], [1.0]], hosts=3, deadline=[5.0, 3.0, float("inf")])
    metrics = measure(
        problem,
        Schedule((Assignment("a", ("h0",), 0, 4), Assignment("b", ("h1",), 0, 6), Assignment("c", ("h2",), 0, 1))),
    )
    assert (metrics.with_deadline, metrics.on_time, metrics.on_time_share) == (2, 1, 0.5)
    assert metrics.lateness == 3.0
    assert metrics.average_delay == -1.0
    assert metrics.idle == pytest.approx(7 / 18)


def test_without_deadlines_there_is_no_share_and_no_delay() -> None:
    metrics = measure(a_problem([[4.0]]), Schedule((Assignment("a", ("h0",), 0, 4),)))
    assert metrics.on_time_share is None
    assert metrics.average_delay is None


def test_an_empty_schedule_has_neither_makespan_nor_idle_time() -> None:
    metrics = measure(a_problem([]), Schedule(()))
    assert (metrics.makespan, metrics.idle, metrics.front_idle) == (0.0, 0.0, 0.0)


def test_the_objective_does_not_depend_on_the_unit_of_time() -> None:
    weights = Weights(1.0, 1.0, 2.0)
    seconds = Metrics(20.0, 0.1, 0.2, 10.0, 2, 1, -5.0)
    minutes = Metrics(1200.0, 0.1, 0.2, 600.0, 2, 1, -300.0)
    assert objective(seconds, weights, 10.0) == pytest.approx((2.0 + 0.2 + 2 * 0.5) / 4)
    assert objective(minutes, weights, 600.0) == pytest.approx(objective(seconds, weights, 10.0))
