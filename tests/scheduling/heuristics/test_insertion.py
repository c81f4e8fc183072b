from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.heuristics.insertion import insert_by_deadline

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
    overtaken = insert_by_deadline(reversed(range(len(waiting))), deadline, waiting.__getitem__)
    assert len(waiting) - overtaken == place


@given(DEADLINES, st.sampled_from([1.0, 2.0, 3.0, math.inf]), st.data())
def test_new_task_has_its_predecessors_ahead_and_nothing_due_earlier_behind(
    waiting: list[float], deadline: float, data: st.DataObject
) -> None:
    after = data.draw(st.sets(st.integers(0, len(waiting) - 1))) if waiting else set()
    overtaken = insert_by_deadline(reversed(range(len(waiting))), deadline, waiting.__getitem__, after)
    place = len(waiting) - overtaken
    behind = range(place, len(waiting))
    assert not after & set(behind)
    assert all(waiting[task] > deadline for task in behind)
    if place:
        assert waiting[place - 1] <= deadline or place - 1 in after
