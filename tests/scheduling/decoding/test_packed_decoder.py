from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.decoder import decode, soonest, spans
from cosched.scheduling.packing import Held
from cosched.scheduling.schedule import Assignment, check_schedule
from tests.scheduling.packed import a_packed_problem, packed_plans, packed_problems
from tests.scheduling.problems import a_plan

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def places(problem: Problem, order: list[int], shapes: list[int]) -> dict[str, tuple[tuple[str, ...], float, float]]:
    schedule = decode(problem, a_plan(order, shapes))
    assert check_schedule(problem, schedule) == []
    return {item.task: (item.hosts, item.start, item.end) for item in schedule.assignments}


def test_tasks_run_side_by_side_as_long_as_a_host_has_room() -> None:
    problem = a_packed_problem([[(1, (4,), (5.0,))]] * 3, [(8,)])
    assert places(problem, [0, 1, 2], [0, 1, 2]) == {
        "a": (("h0",), 0.0, 5.0),
        "b": (("h0",), 0.0, 5.0),
        "c": (("h0",), 5.0, 10.0),
    }


def test_a_task_goes_where_it_leaves_least() -> None:
    problem = a_packed_problem([[(1, (5,), (9.0,))], [(1, (3,), (9.0,))], [(1, (8,), (1.0,))]], [(8,), (8,)])
    found = places(problem, [0, 1, 2], [0, 1, 2])
    assert found["b"][0] == found["a"][0]
    assert found["c"] == (("h1",), 0.0, 1.0)


def test_hosts_with_free_gpus_are_left_to_who_needs_them() -> None:
    problem = a_packed_problem([[(1, (2, 0, 0), (9.0,))], [(1, (2, 0, 1), (9.0,))]], [(2, 64, 1), (2, 64, 0)])
    assert places(problem, [0, 1], [0, 1]) == {"a": (("h1",), 0.0, 9.0), "b": (("h0",), 0.0, 9.0)}


def test_memory_binds_where_cores_are_left() -> None:
    problem = a_packed_problem([[(1, (1, 3000), (4.0,))], [(1, (1, 2000), (4.0,))]], [(8, 4000)])
    assert places(problem, [0, 1], [0, 1])["b"] == (("h0",), 4.0, 8.0)


def test_what_running_tasks_hold_comes_back_when_they_end() -> None:
    problem = a_packed_problem([[(1, (2,), (1.0,))], [(1, (6,), (1.0,))]], [(8,)], held=[Held(0, 3.0, (6,))])
    assert places(problem, [0, 1], [0, 1]) == {"a": (("h0",), 0.0, 1.0), "b": (("h0",), 3.0, 4.0)}


def test_a_task_on_several_hosts_starts_when_all_have_room() -> None:
    problem = a_packed_problem([[(1, (4,), (2.0,))], [(2, (4,), (3.0,))]], [(4,), (4,)])
    assert places(problem, [0, 1], [0, 1])["b"] == (("h0", "h1"), 2.0, 5.0)


def test_no_task_runs_into_an_absence() -> None:
    problem = a_packed_problem([[(1, (1,), (4.0,))]], [(1,)], unavailability=[Unavailability(0, 3.0, 5.0)])
    assert places(problem, [0], [0])["a"] == (("h0",), 5.0, 9.0)


def test_the_slowest_class_decides_how_long_a_task_runs() -> None:
    problem = a_packed_problem([[(2, (1,), (2.0, 6.0))]], [(1,), (1,), (1,)], host_class=[0, 1, 0])
    assert places(problem, [0], [0])["a"] == (("h0", "h2"), 0.0, 2.0)


def test_what_cannot_run_is_refused() -> None:
    problem = a_packed_problem([[(1, (9,), (1.0,)), (1, (8,), (1.0,))]], [(8,)])
    with pytest.raises(ValueError, match="task a cannot run in its shape 0: no hosts have room"):
        spans(problem, a_plan([0], [0]))
    with pytest.raises(ValueError, match="task a has no shape 2"):
        spans(problem, a_plan([0], [2]))


def test_one_more_task_is_placed_in_the_shape_that_ends_first() -> None:
    problem = a_packed_problem(
        [[(1, (6,), (10.0,))], [(1, (8,), (2.0,)), (1, (2,), (5.0,)), (1, (9,), (1.0,))]], [(8,)]
    )
    found = soonest(problem, a_plan([0], [0, 1]), [0], 1)
    assert found == Assignment("b", ("h0",), 0.0, 5.0, (2,))
    assert soonest(a_packed_problem([[(1, (9,), (1.0,))]], [(8,)]), a_plan([], [0]), [], 0) is None


@given(st.data())
def test_every_schedule_is_feasible(data: st.DataObject) -> None:
    problem = data.draw(packed_problems(unavailability=data.draw(st.booleans())))
    plan = data.draw(packed_plans(problem))
    schedule = decode(problem, plan)
    assert check_schedule(problem, schedule) == []
    starts, ends = spans(problem, plan)
    by_name = {item.task: item for item in schedule.assignments}
    assert [(by_name[name].start, by_name[name].end) for name in problem.tasks] == list(zip(starts, ends, strict=True))


@given(st.data())
def test_a_feasible_schedule_decoded_in_the_order_of_its_starts_ends_no_later_on_one_host(
    data: st.DataObject,
) -> None:
    problem = data.draw(packed_problems(hosts=1))
    plan = data.draw(packed_plans(problem))
    starts, ends = spans(problem, plan)
    again = a_plan(sorted(range(len(starts)), key=lambda task: starts[task]), plan.counts.tolist())
    assert all(later <= end for later, end in zip(spans(problem, again)[1], ends, strict=True))


def test_a_schedule_that_overfills_a_host_is_a_fault() -> None:
    problem = a_packed_problem([[(1, (4, 100), (5.0,))], [(1, (5, 100), (5.0,))]], [(8, 4000)])
    schedule = decode(problem, a_plan([0, 1], [0, 1]))
    early = Assignment("b", ("h0",), 1.0, 6.0, (5, 100))
    faults = check_schedule(problem, type(schedule)((schedule.assignments[0], early)))
    assert faults == ["h0 has 8 cores, and at 1.0 s tasks take 9"]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (Assignment("a", ("h0",), 0.0, 4.0, (4,)), "a takes 4.0 s, predicted are 5.0 s"),
        (Assignment("a", ("h0",), 0.0, 5.0, (3,)), "a has no shape of 1 hosts with (3,) of each that runs on these"),
    ],
)
def test_a_task_in_no_shape_of_its_own_is_a_fault(place: Assignment, fault: str) -> None:
    problem = a_packed_problem([[(1, (4,), (5.0,))]], [(8,)])
    schedule = decode(problem, a_plan([0], [0]))
    assert check_schedule(problem, type(schedule)((place,))) == [fault]
    assert math.isclose(schedule.makespan, 5.0)
