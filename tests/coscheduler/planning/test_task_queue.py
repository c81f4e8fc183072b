from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.planning.staging import Staging
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.planning.task_queue import TaskQueue
from tests.coscheduler.makers import a_task


def test_tasks_without_a_profile_wait_in_order_of_arrival() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    for number in (1, 2):
        queue.add(a_task(number, None))
    queue.add_again(a_task(3, None))
    assert queue.unmodelled(0.0, 9) == ["3", "1", "2"]
    queue.held_back["1"] = 5.0
    assert queue.unmodelled(4.0, 9) == ["3", "2"]
    assert queue.unmodelled(5.0, 9) == ["3", "1", "2"]
    assert queue.unmodelled(4.0, 1) == ["3"]
    assert not queue.unmodelled(5.0, 0)


def test_staging_ends_with_the_search_or_with_time() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    first, second = a_task(1), a_task(2)
    queue.add(first)
    queue.add(second)
    queue.searched(["1", "unknown"])
    assert queue.staged(first, 0.0)
    assert not queue.staged(second, 0.9)
    assert queue.staged(second, 1.0)


def test_a_task_that_comes_back_needs_no_staging() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    queue.add_again(a_task(1))
    assert queue.staged(a_task(1), 0.0)


def test_a_task_that_leaves_leaves_nothing_behind() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    queue.add(a_task(1))
    queue.searched(["1"])
    queue.held_back["1"] = 9.0
    queue.remove("1")
    assert "1" not in queue.plan.tasks
    assert queue.may_leave("1", 0.0)
    assert not queue.staged(a_task(1), 0.0)


def test_new_tasks_have_their_places_by_deadline_and_neither_counts_nor_classes() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    for number in (1, 2, 3):
        queue.add(a_task(number, deadline=10.0 * number))
    queue.adopt(TaskPlan(("1", "2", "3"), (1, 2, 3), ("slow", "", "fast")))
    queue.add(a_task(4, deadline=15.0))
    assert queue.plan == TaskPlan(("1", "4", "2", "3"), (1, 0, 2, 3), ("slow", "", "", "fast"))


def test_a_task_that_leaves_takes_its_count_and_class_along() -> None:
    queue = TaskQueue(Staging(1.0, 10.0))
    queue.add_all([a_task(1), a_task(2), a_task(3)])
    queue.adopt(TaskPlan(("1", "2", "3"), (1, 2, 3), ("slow", "", "fast")))
    queue.remove("1")
    assert queue.plan == TaskPlan(("2", "3"), (2, 3), ("", "fast"))
    queue.add_again(a_task(1))
    assert queue.plan == TaskPlan(("1", "2", "3"), (0, 2, 3), ("", "", "fast"))


def test_without_a_search_deadlines_move_nobody() -> None:
    queue = TaskQueue(Staging(1.0, 10.0), by_deadline=False)
    queue.add_all([a_task(1), a_task(2, deadline=20.0)])
    assert queue.overtaken_by(a_task(3, deadline=10.0)) == 0
    queue.add(a_task(3, deadline=10.0))
    assert queue.plan.tasks == ("1", "2", "3")


@given(st.lists(st.tuples(st.sampled_from(["add", "again", "remove", "adopt"]), st.integers(1, 6), st.booleans())))
def test_the_plan_is_the_same_however_often_it_is_asked_for(steps: list[tuple[str, int, bool]]) -> None:
    asked, unasked = TaskQueue(Staging(1.0, 10.0)), TaskQueue(Staging(1.0, 10.0))
    for kind, number, has_deadline in steps:
        task = a_task(number, deadline=10.0 * number if has_deadline else None)
        for queue in (asked, unasked):
            if kind == "remove":
                queue.remove(task.id)
            elif kind == "adopt":
                queue.adopt(TaskPlan((task.id,), (2,)))
            elif task.id not in queue.planned:
                (queue.add if kind == "add" else queue.add_again)(task)
        assert set(asked.plan.tasks) == set(asked.planned) == set(unasked.planned)
    assert unasked.plan == asked.plan
