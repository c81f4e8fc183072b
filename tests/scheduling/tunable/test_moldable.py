from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.tunable.planning import plan_moldable
from tests.scheduling.problems import a_problem, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


@given(problems())
def test_every_schedule_is_feasible(drawn: Problem) -> None:
    assert check_schedule(drawn, decode(drawn, plan_moldable(drawn))) == []


def test_a_task_takes_the_count_with_which_it_ends_first_where_it_fits() -> None:
    """Alone, b would end first on two hosts; behind a it ends first on the host that a leaves over."""
    schedule = decode(queue := a_problem([[8.0], [6.0, 4.0]], hosts=2), plan_moldable(queue))
    assert [(item.task, len(item.hosts), item.end) for item in schedule.assignments] == [("a", 1, 8.0), ("b", 1, 6.0)]


def test_who_cannot_be_in_time_is_placed_all_the_same() -> None:
    queue = a_problem([[5.0], [5.0]], hosts=1, deadline=[5.0, 5.0])
    assert [item.end for item in decode(queue, plan_moldable(queue)).assignments] == [5.0, 10.0]
