from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.dispatching import departures, departures_in_order
from cosched.scheduling.schedule import Assignment


def anyone(_task: str) -> bool:
    return True


def test_a_planned_start_that_has_come_leaves() -> None:
    plan = [Assignment("1", ("a",), 0.0, 5.0), Assignment("2", ("b",), 1.0, 5.0)]
    assert [item.task for item in departures(plan, ["a"], anyone)] == ["1"]


def test_a_task_fills_hosts_that_the_plan_does_not_need_before_it_ends() -> None:
    plan = [Assignment("wide", ("a", "b"), 4.0, 9.0), Assignment("short", ("a",), 9.0, 13.0)]
    assert departures(plan, ["a"], anyone) == [("short", ("a",), 4.0)]


def test_a_task_does_not_delay_what_is_planned() -> None:
    plan = [Assignment("wide", ("a", "b"), 4.0, 9.0), Assignment("long", ("a",), 9.0, 13.5)]
    assert departures(plan, ["a"], anyone) == []


def test_the_tightest_gap_is_filled() -> None:
    plan = [Assignment("x", ("a", "z", "y"), 9.0, 10.0), Assignment("y", ("b", "y", "z"), 3.0, 4.0),
            Assignment("short", ("z",), 10.0, 12.0)]  # fmt: skip
    assert departures(plan, ["a", "b"], anyone) == [("short", ("b",), 2.0)]


def test_a_task_that_may_not_leave_yet_keeps_its_hosts() -> None:
    plan = [Assignment("new", ("a",), 0.0, 5.0), Assignment("old", ("a",), 5.0, 6.0)]
    assert departures(plan, ["a"], lambda task: task == "old") == []


def test_in_order_the_head_blocks() -> None:
    queue = [("1", 1, 5.0), ("2", 3, 5.0), ("3", 1, 5.0)]
    assert departures_in_order(queue, ["b", "a", "c"], anyone) == [("1", ("a",), 5.0)]


starts = st.sampled_from([0.0, 1.0, 2.0, 5.0])


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), starts, starts), max_size=6),
       st.sets(st.sampled_from("abcd")))  # fmt: skip
def test_no_host_twice_none_that_is_taken_and_no_delay(
    rows: list[tuple[set[str], float, float]], idle: set[str]
) -> None:
    plan = [Assignment(str(n), tuple(sorted(hosts)), start, start + length + 1)
            for n, (hosts, start, length) in enumerate(rows)]  # fmt: skip
    leaving = departures(plan, sorted(idle), anyone)
    used = [host for item in leaving for host in item.hosts]
    assert len(used) == len(set(used))
    assert idle.issuperset(used)
    gone = {item.task for item in leaving}
    for item in leaving:
        for later in plan:
            if later.task not in gone and later.start > 0 and set(item.hosts) & set(later.hosts):
                planned = next(p for p in plan if p.task == item.task)
                assert item.seconds <= later.start or planned.start == 0
