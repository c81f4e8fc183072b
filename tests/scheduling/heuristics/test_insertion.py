from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.heuristics.insertion import DeadlineOrder

DEADLINES = st.lists(st.sampled_from([1.0, 2.0, 3.0, math.inf]), max_size=8)


@pytest.mark.parametrize(
    ("waiting", "deadline", "place"),
    [
        ([], 5.0, 0),
        ([2.0, 4.0, 6.0], 5.0, 2),
        ([2.0, 4.0, 6.0], 1.0, 0),
        ([5.0, 5.0, 6.0], 5.0, 2),
        ([math.inf, 4.0, math.inf], 5.0, 2),
        ([2.0, math.inf], math.inf, 2),
    ],
)
def test_new_task_goes_behind_the_last_one_due_no_later(waiting: list[float], deadline: float, place: int) -> None:
    order = DeadlineOrder(dict(enumerate(waiting)))
    assert order.overtaken_by(deadline) == len(waiting) - place
    order.insert(-1, deadline)
    assert order.tasks().index(-1) == place


@given(DEADLINES, st.sampled_from([1.0, 2.0, 3.0, math.inf]), st.data())
def test_new_task_has_its_predecessors_ahead_and_nothing_due_earlier_behind(
    waiting: list[float], deadline: float, data: st.DataObject
) -> None:
    after = data.draw(st.sets(st.integers(0, len(waiting) - 1))) if waiting else set()
    place = len(waiting) - DeadlineOrder(dict(enumerate(waiting))).overtaken_by(deadline, after)
    behind = range(place, len(waiting))
    assert not after & set(behind)
    assert all(waiting[task] > deadline for task in behind)
    if place:
        assert waiting[place - 1] <= deadline or place - 1 in after


@given(
    DEADLINES,
    st.lists(
        st.tuples(
            st.sampled_from(["insert", "put first", "remove", "look"]),
            st.integers(0, 9),
            st.sampled_from([1.0, 2.0, 3.0, math.inf]),
            st.sets(st.integers(0, 9), max_size=2),
        )
    ),
)
def test_tasks_that_come_and_go_leave_the_order_that_looking_at_every_task_would(
    waiting: list[float], steps: list[tuple[str, int, float, set[int]]]
) -> None:
    deadlines, expected = dict(enumerate(waiting)), list(range(len(waiting)))
    order = DeadlineOrder(deadlines)
    for kind, task, deadline, after in steps:
        if kind == "look":
            assert order.tasks() == tuple(expected)
        elif kind == "remove" and task in expected:
            order.remove(task)
            expected.remove(task)
        elif kind == "put first" and task not in expected:
            order.insert_first(task, deadline)
            expected.insert(0, task)
            deadlines[task] = deadline
        elif kind == "insert" and task not in expected:
            ahead = [place for place, other in enumerate(expected) if deadlines[other] <= deadline or other in after]
            order.insert(task, deadline, after)
            expected.insert(max(ahead, default=-1) + 1, task)
            deadlines[task] = deadline
    assert order.tasks() == tuple(expected)


def test_the_same_tasks_in_another_order_and_more_behind_them_take_new_ones_by_deadline() -> None:
    order = DeadlineOrder({"a": 1.0, "b": 2.0}).reordered(["b", "a"]).extended({"c": 1.5, "d": 4.0})
    order.insert("new", 3.0)
    assert order.tasks() == ("b", "a", "c", "new", "d")
