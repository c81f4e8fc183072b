from __future__ import annotations

from cosched.coscheduler.task_queue import TaskQueue
from tests.coscheduler.makers import a_task


def test_tasks_without_a_profile_wait_in_order_of_arrival() -> None:
    queue = TaskQueue(staging=1.0)
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
    queue = TaskQueue(staging=1.0)
    first, second = a_task(1), a_task(2)
    queue.add(first)
    queue.add(second)
    queue.searched(["1", "unknown"])
    assert queue.staged(first, 0.0)
    assert not queue.staged(second, 0.9)
    assert queue.staged(second, 1.0)


def test_a_task_that_comes_back_needs_no_staging() -> None:
    queue = TaskQueue(staging=1.0)
    queue.add_again(a_task(1))
    assert queue.staged(a_task(1), 0.0)


def test_a_task_that_leaves_leaves_nothing_behind() -> None:
    queue = TaskQueue(staging=1.0)
    queue.add(a_task(1))
    queue.searched(["1"])
    queue.held_back["1"] = 9.0
    queue.remove("1")
    assert "1" not in queue.plan.tasks
    assert queue.may_leave("1", 0.0)
    assert not queue.staged(a_task(1), 0.0)
