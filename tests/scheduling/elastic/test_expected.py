from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.elastic.expected import expected_schedule
from cosched.scheduling.elastic.pieces import check_pieces
from cosched.scheduling.elastic.promising import promise_hosts
from cosched.scheduling.elastic.tasks import RunningTask
from cosched.scheduling.objective.objective import measure_pieces, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.schedule import TaskPiece, check_schedule
from tests.scheduling.elastic.queues import drawn_problems, mixed, whole_queue
from tests.scheduling.problems import a_plan

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


@given(drawn=drawn_problems(), payback=st.sampled_from([0.0, 2.0]))
def test_nobody_ends_later_than_promised_and_the_pieces_can_be(
    drawn: tuple[Problem, list[int], list[int]], payback: float
) -> None:
    problem, order, counts = drawn
    promised = decode(problem, a_plan(order, counts))
    assert check_pieces(problem, promised, expected_schedule(problem, promised, payback)) == []


@pytest.mark.parametrize("seed", [94, 130, 151])
def test_hosts_that_a_task_is_given_and_gives_up_at_one_time_are_not_named(seed: int) -> None:
    """Where hosts drain, two events can be so close that they round to one time: popped from an empty list before."""
    problem, order, counts = whole_queue(seed)
    promised = decode(problem, a_plan(order, counts))
    assert check_pieces(problem, promised, expected_schedule(problem, promised)) == []


@given(drawn=drawn_problems())
def test_where_nothing_is_elastic_the_pieces_are_the_decoders_to_the_last_bit(
    drawn: tuple[Problem, list[int], list[int]],
) -> None:
    problem, order, counts = drawn
    problem = replace(problem, elastic={}, release=np.zeros(len(problem.tasks)), depends_on=())
    plan = a_plan(order, counts)
    pieces = {piece.task: piece for piece in expected_schedule(problem, decode(problem, plan))}
    starts, ends = spans(problem, plan)
    assert [(pieces[name].start, pieces[name].end) for name in problem.tasks] == list(zip(starts, ends, strict=True))


@given(drawn=drawn_problems())
def test_the_chosen_promise_is_a_schedule_and_its_pieces_can_be(drawn: tuple[Problem, list[int], list[int]]) -> None:
    problem, order, counts = drawn
    planned = decode(problem, a_plan(order, counts))
    chosen = promise_hosts(problem, planned)
    assert check_schedule(problem, chosen.promised) == []
    assert check_pieces(problem, chosen.promised, chosen.pieces) == []
    bound, weights = lower_bound(problem), Weights()
    found = objective(measure_pieces(problem, chosen.promised, chosen.pieces), weights, bound)
    lent = measure_pieces(problem, planned, expected_schedule(problem, planned))
    assert found <= objective(lent, weights, bound) * (1 + 1e-9)


def widths(pieces: list[TaskPiece], task: str) -> list[tuple[float, int]]:
    return [(piece.start, len(piece.hosts)) for piece in pieces if piece.task == task]


def test_idle_hosts_are_lent_and_taken_back_for_who_needs_them() -> None:
    problem = mixed(0, release=(0.0, 5.0))
    pieces = expected_schedule(problem, decode(problem, a_plan([1, 0], [2, 6])))  # a is promised 2 hosts, until 40
    assert widths(pieces, "a") == [(0.0, 8), (5.0, 2), (20.0, 8)]
    assert widths(pieces, "b") == [(5.0, 6)]
    assert max(piece.end for piece in pieces) == pytest.approx(20 + (80 - 5 * 8 - 15 * 2) / 8)


def test_hosts_that_drain_leave_early_enough() -> None:
    problem = mixed(0, release=(0.0, 5.0), drain=1.0)
    pieces = expected_schedule(problem, decode(problem, a_plan([1, 0], [2, 6])))
    assert widths(pieces, "a") == [(0.0, 8), (4.0, 2), (20.0, 8)]
    assert widths(pieces, "b") == [(5.0, 6)]


def test_who_is_behind_a_task_that_is_not_released_starts_when_promised() -> None:
    problem = mixed(0, release=(0.0, 5.0))
    pieces = expected_schedule(problem, decode(problem, a_plan([1, 0], [8, 6])))  # b at 5, then a on all eight at 20
    assert widths(pieces, "b") == [(5.0, 6)]
    assert widths(pieces, "a") == [(20.0, 8)]


def test_a_loan_is_made_where_its_task_ends_in_time_all_the_same() -> None:
    problem = mixed(0, release=(0.0, 5.0), cost=12.0)
    pieces = expected_schedule(problem, decode(problem, a_plan([1, 0], [2, 6])))
    assert widths(pieces, "a") == [(0.0, 8), (5.0, 2)]  # 5 s on eight hosts, 12 s of change, 20 s on two: before 40
    later = mixed(0, release=(0.0, 5.0), cost=16.0)
    pieces = expected_schedule(later, decode(later, a_plan([1, 0], [2, 6])))
    assert widths(pieces, "a") == [(0.0, 2)]  # it would end at 41


def test_a_change_that_costs_more_than_it_saves_is_not_made() -> None:
    problem = mixed(0, release=(0.0, 5.0), cost=30.0)
    promised = decode(problem, a_plan([1, 0], [2, 6]))
    pieces = expected_schedule(problem, promised)
    assert all(len(piece.hosts) in (2, 6, 8) for piece in pieces)
    assert max(piece.end for piece in pieces) <= promised.makespan


def test_fewer_hosts_are_promised_where_loans_make_more_of_it_and_nobody_is_late() -> None:
    problem = mixed(0, release=(0.0, 5.0))
    planned = decode(problem, a_plan([1, 0], [8, 6]))  # a waits for b, on 8 hosts
    chosen = promise_hosts(problem, planned)
    assert {item.task: len(item.hosts) for item in chosen.promised.assignments} == {"a": 1, "b": 6}
    assert max(piece.end for piece in chosen.pieces) < planned.makespan
    due = mixed(0, release=(0.0, 5.0), deadline=(35.0, math.inf))
    assert promise_hosts(due, planned).promised == planned  # on one host it would be promised 80 s


def test_the_check_finds_what_cannot_be() -> None:
    problem = mixed(0)
    promised = decode(problem, a_plan([1, 0], [2, 6]))
    hosts = problem.hosts
    whole = (TaskPiece("a", hosts[:2], 0.0, 40.0), TaskPiece("b", hosts[2:], 0.0, 15.0))
    assert check_pieces(problem, promised, whole) == []
    for pieces, fault in (
        ((whole[0], TaskPiece("b", hosts[1:7], 0.0, 15.0)), "a and b are on h1 at the same time"),
        ((whole[0],), "b does not run"),
        ((TaskPiece("a", hosts[:2], 0.0, 30.0), whole[1]), "a does 0.750000 of itself"),
        ((TaskPiece("a", hosts[:1], 0.0, 80.0), whole[1]), "a has 1 hosts"),
        ((TaskPiece("a", hosts[:2], 0.0, 20.0), TaskPiece("a", hosts[:2], 21.0, 41.0), whole[1]), "a stops from 20"),
        ((TaskPiece("a", hosts[:2], 2.0, 42.0), whole[1]), "a ends at 42.0 s, promised are 40.0 s"),
    ):
        assert any(line.startswith(fault) for line in check_pieces(problem, promised, pieces))
    draining = mixed(0, drain=1.0)
    given_up = (
        TaskPiece("a", hosts, 0.0, 5.0),
        TaskPiece("a", hosts[:2], 5.0, 20.0),
        TaskPiece("a", hosts, 20.0, 21.25),
        TaskPiece("b", hosts[2:], 5.0, 20.0),
    )
    assert "b is on h2 before it has drained from a" in check_pieces(draining, promised, given_up)
    assert not any("drained" in line for line in check_pieces(problem, promised, given_up))
    later = replace(problem, release=np.array([1.0, 0.0]), depends_on=((1,), ()))
    faults = check_pieces(later, promised, whole)
    assert "a starts before its release" in faults
    assert "a starts before b ends" in faults


def test_the_check_of_a_plan_that_promises_nothing_knows_what_runs_already() -> None:
    problem = replace(mixed(0, drain=1.0), running={0: RunningTask((0, 1, 2, 3), 0.5)})
    hosts = problem.hosts
    a, b = TaskPiece("a", hosts[:2], 0.0, 20.0), TaskPiece("b", hosts[2:], 1.0, 16.0)
    assert check_pieces(problem, None, (a, b)) == []
    for pieces, fault in (
        ((a, replace(b, start=0.0, end=15.0)), "b is on h2 before it has drained from a"),
        ((replace(a, end=40.0), b), "a does 1.000000 of itself, and 0.5 is left"),
        ((replace(a, start=3.0, end=23.0), b), "a runs, and stops at 0 s"),
        ((replace(a, hosts=hosts[3:5]), replace(b, start=30.0, end=45.0)), "a changes its hosts for others at 0 s"),
        ((a, replace(b, end=9.0), TaskPiece("b", hosts[:6], 20.0, 27.0)), "b changes its hosts"),
        ((a, replace(b, hosts=(*hosts[2:7], "h9"))), "b is on h9, which is not there"),
        ((a, b, TaskPiece("c", hosts[:1], 20.0, 21.0)), "c is not a task of the problem"),
        ((replace(a, hosts=("h0", "h0")), b), "a has a host twice"),
    ):
        assert any(line.startswith(fault) for line in check_pieces(problem, None, pieces)), fault
