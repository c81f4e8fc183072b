from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.exact.whole_problem import MOST_TASKS, uncovered, whole_problem
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.licences import Licences
from tests.scheduling.packed import a_packed_problem
from tests.scheduling.problems import a_problem, plans, problems


@given(st.data())
def test_a_schedule_rounded_down_is_one_of_the_whole_problem(data: st.DataObject) -> None:
    """So what the whole problem has no room for, the problem itself has no room for either."""
    problem = data.draw(problems(classes=1, unavailability=True))
    plan = data.draw(plans(problem))
    if not useful_counts(problem)[np.arange(len(plan.counts)), plan.counts - 1].all():
        return  # others are never needed, and the whole problem leaves them out
    schedule = decode(problem, plan)
    whole = whole_problem(problem, schedule.makespan)
    place = {name: task for task, name in enumerate(problem.tasks)}
    starts, ends = {}, {}
    changes: list[tuple[float, bool, int]] = []
    for item in schedule.assignments:
        task = place[item.task]
        starts[task] = math.floor(item.start * whole.units_a_second + 1e-6 * whole.on_grid)
        ends[task] = starts[task] + dict(whole.choices[task])[len(item.hosts)]
        changes += [(starts[task], True, len(item.hosts)), (ends[task], False, len(item.hosts))]
    for begin, end, hosts in whole.away:
        changes += [(begin, True, hosts), (end, False, hosts)]
    used = 0
    for _, begins, hosts in sorted(changes):
        used += hosts if begins else -hosts
        assert used <= whole.hosts
    for task, before in enumerate(whole.depends_on):
        assert starts[task] >= max([whole.release[task], *[ends[other] for other in before]])
    assert whole.seconds(max(ends.values())) <= schedule.makespan * (1 + 1e-12)
    assert whole.most_units(schedule.makespan) >= max(ends.values())


@pytest.mark.parametrize(
    ("times", "units_a_second", "on_grid"),
    [
        ([3.0, 5.0], 1.0, True),
        ([30.0, 45.0], 1 / 15, True),  # seconds, but all of them a multiple of fifteen
        ([1.5, 2.0], 2.0, True),
        ([0.1, 0.7], 10.0, True),
        ([1.25, 2.001], 1000.0, True),
        ([math.pi, 2.0], 2000 / 10, False),
        ([3_600_001.0, 1.0], 2000 / 10, False),
    ],
)
def test_times_are_on_the_coarsest_grid_that_has_them_all(
    times: list[float], units_a_second: float, on_grid: bool
) -> None:
    makespan = 10.0 if max(times) < 100 else 10.0 * max(times)
    whole = whole_problem(a_problem([[each] for each in times]), makespan)
    assert whole.on_grid == on_grid
    assert whole.units_a_second == pytest.approx(units_a_second if on_grid else 2000 / makespan)


def test_bounds_become_units_and_units_seconds() -> None:
    whole = whole_problem(a_problem([[3.0], [5.0]]), 8.0)
    assert (whole.least_units(7.2), whole.least_units(7.0), whole.most_units(8.0)) == (8, 7, 8)
    assert whole.seconds(8) == 8.0
    rounded = whole_problem(a_problem([[math.pi], [math.e]]), 8.0)
    assert rounded.least_units(7.9301) == math.floor(7.9301 * 250)  # no more than it is
    assert rounded.most_units(7.9301) == math.ceil(7.9301 * 250)
    assert rounded.seconds(250) < 1.0


def test_hosts_are_away_until_they_are_free_and_when_they_leave() -> None:
    problem = replace(
        a_problem([[3.0, 2.0, 4.0]], hosts=3, free=[0.0, 2.0, 2.0]),
        unavailability=(Unavailability(0, 4.0, 6.0), Unavailability(1, 5.0, math.inf)),
    )
    whole = whole_problem(problem, 8.0)
    assert sorted(whole.away) == [(0, 2, 2), (4, 6, 1), (5, math.inf, 1)]
    assert whole.choices == (((1, 3), (2, 2)),)  # four seconds on three hosts are of no use


def test_tasks_that_could_take_each_others_place_are_alike() -> None:
    problem = a_problem(
        [[3.0], [3.0], [4.0], [3.0], [3.0], [3.0]],
        release=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        depends_on=((),) * 5 + ((4,),),
    )
    assert sorted(whole_problem(problem, 9.0).alike()) == [[0, 1], [2], [3], [4], [5]]


def test_what_the_model_does_not_have_is_named() -> None:
    plain = a_problem([[1.0], [2.0]])
    assert uncovered(plain) is None
    many = a_problem([[1.0]] * (MOST_TASKS + 1))
    assert "60" in (uncovered(replace(many, tasks=tuple(map(str, range(MOST_TASKS + 1))))) or "")
    two = replace(
        plain,
        classes=("fast", "slow"),
        host_class=np.array([0, 1]),
        seconds=np.concatenate([plain.seconds, 2 * plain.seconds]),
    )
    assert "classes" in (uncovered(two) or "")
    licences = Licences(("matlab",), np.array([1]), np.array([[1], [0]]))
    assert "licences" in (uncovered(replace(plain, licences=licences)) or "")
    assert "elastic" in (uncovered(replace(plain, elastic={0: ElasticTask("a", (1.0,), 1, 1, 1)})) or "")
    assert "share" in (uncovered(a_packed_problem([[(1, (2,), (3.0,))]], [(4,)])) or "")
