from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.licences import Licences
from cosched.scheduling.time_grid import rounded_bound, units_a_second
from tests.scheduling.packed import a_packed_problem
from tests.scheduling.problems import a_problem, plans, problems


@pytest.mark.parametrize(
    ("times", "units"),
    [
        ([3.0, 5.0], 1.0),
        ([30.0, 0.0, 45.0], 1 / 15),
        ([1.5, 2.0], 2.0),
        ([0.1, 0.7], 10.0),
        ([2.001, 0.5], 1000.0),
        ([math.pi, 2.0], None),
        ([0.0], 1.0),
        ([], 1.0),
    ],
)
def test_the_longest_unit_of_which_all_times_are_whole_numbers(times: list[float], units: float | None) -> None:
    assert units_a_second(np.array(times)) == units


@given(st.data())
def test_no_plan_ends_before_the_rounded_bound(data: st.DataObject) -> None:
    problem = data.draw(problems(whole=data.draw(st.booleans()), unavailability=True))
    bound = tight_bound(problem)
    assert decode(problem, data.draw(plans(problem))).makespan >= rounded_bound(problem, bound) * (1 - 1e-12)
    assert rounded_bound(problem, bound) >= bound


@pytest.mark.parametrize(("bound", "rounded"), [(8.2, 9.0), (9.0, 9.0), (9.0000000001, 9.0), (9.1, 10.0)])
def test_a_bound_is_raised_to_where_schedules_can_end(bound: float, rounded: float) -> None:
    problem = a_problem([[3.0], [4.0]])
    assert rounded_bound(problem, bound) == max(bound, rounded)


def test_where_hosts_become_free_between_whole_seconds_nothing_is_rounded() -> None:
    assert rounded_bound(a_problem([[3.0], [4.0]], free=[0.0, 0.0001]), 8.2) == 8.2


def test_nothing_is_rounded_where_tasks_share_hosts_change_theirs_or_wait_for_licences() -> None:
    """What is in use of a licence may come back between whole seconds."""
    licences = Licences(("matlab",), np.array([1]), np.array([[1]]))
    assert rounded_bound(replace(a_problem([[3.0]]), licences=licences), 2.5) == 2.5
    shared = a_packed_problem([[(1, (2,), (3.0,))]], [(4,)])
    assert rounded_bound(shared, 2.5) == 2.5
    elastic = replace(a_problem([[3.0]]), elastic={0: ElasticTask("a", (3.0,), 1, 1, 1)})
    assert rounded_bound(elastic, 2.5) == 2.5
