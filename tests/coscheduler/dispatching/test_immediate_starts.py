from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.dispatching.immediate_starts import (
    BackfillCandidate,
    ImmediateStart,
    RunTimeTable,
    first_on_idle_hosts,
    gaps_on_lent_hosts,
    starts_in_order,
    starts_now,
)
from cosched.coscheduler.places.licences import NO_LICENCES, LicenceTimeline
from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.licences import Licences
from cosched.scheduling.plan import Plan
from cosched.scheduling.schedule import Assignment
from tests.scheduling.problems import a_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.problem import Problem


def anyone(_task: str) -> bool:
    return True


def leaving(
    plan: list[Assignment],
    idle: list[str],
    ready: Callable[[str], bool] = anyone,
    licences: LicenceTimeline = NO_LICENCES,
) -> list[ImmediateStart]:
    """Return who leaves where all hosts are alike."""
    hosts = {*idle, *(host for item in plan for host in item.hosts)}
    seconds = np.array([[[item.end - item.start] * len(hosts) for item in plan]]).reshape(1, len(plan), len(hosts))
    places = {item.task: place for place, item in enumerate(plan)}
    return starts_now(plan, idle, ready, RunTimeTable(dict.fromkeys(hosts, 0), places, seconds), licences=licences)


def test_a_planned_start_that_has_come_leaves() -> None:
    plan = [Assignment("1", ("a",), 0.0, 5.0), Assignment("2", ("b",), 1.0, 5.0)]
    assert [item.task for item in leaving(plan, ["a"])] == ["1"]


def test_a_task_fills_hosts_that_the_plan_does_not_need_before_it_ends() -> None:
    plan = [Assignment("wide", ("a", "b"), 4.0, 9.0), Assignment("short", ("a",), 9.0, 13.0)]
    assert leaving(plan, ["a"]) == [ImmediateStart("short", ("a",), 4.0)]


def test_a_task_does_not_delay_what_is_planned() -> None:
    plan = [Assignment("wide", ("a", "b"), 4.0, 9.0), Assignment("long", ("a",), 9.0, 13.5)]
    assert leaving(plan, ["a"]) == []


def test_the_tightest_gap_is_filled() -> None:
    plan = [
        Assignment("x", ("a", "z", "y"), 9.0, 10.0),
        Assignment("y", ("b", "y", "z"), 3.0, 4.0),
        Assignment("short", ("z",), 10.0, 12.0),
    ]
    assert leaving(plan, ["a", "b"]) == [ImmediateStart("short", ("b",), 2.0)]


def test_a_task_that_may_not_leave_yet_keeps_its_hosts() -> None:
    plan = [Assignment("new", ("a",), 0.0, 5.0), Assignment("old", ("a",), 5.0, 6.0)]
    assert leaving(plan, ["a"], lambda task: task == "old") == []


def test_nobody_fills_a_host_that_others_need_before_it_ends() -> None:
    plan = [Assignment("x", ("a", "b"), 9.0, 13.0)]
    hosts = {"a": 0, "b": 0}
    run_times = RunTimeTable(hosts, {"x": 0, "y": 1}, np.full((1, 2, 2), 4.0))
    plan.append(Assignment("y", ("a",), 13.0, 17.0))
    assert starts_now(plan, ["a", "b"], anyone, run_times, {"a": 3.0}) == [ImmediateStart("y", ("b",), 4.0)]


def test_in_order_the_fastest_hosts_are_taken_that_nobody_needs_before_it_ends() -> None:
    run_times = RunTimeTable({"a": 0, "b": 1, "c": 1}, {"1": 0}, np.array([[[2.0, 2.0]], [[6.0, 6.0]]]))
    hosts = ["a", "b", "c"]
    assert starts_in_order([("1", 1)], hosts, anyone, run_times, {"a": 2.0}) == [ImmediateStart("1", ("a",), 2.0)]
    assert starts_in_order([("1", 1)], hosts, anyone, run_times, {"a": 1.0}) == [ImmediateStart("1", ("b",), 6.0)]
    assert starts_in_order([("1", 2)], hosts, anyone, run_times, {"a": 5.0}) == [ImmediateStart("1", ("b", "c"), 6.0)]
    assert starts_in_order([("1", 2)], hosts, anyone, run_times, {"a": 5.0, "b": 1.0}) == []


def test_in_order_the_head_blocks() -> None:
    queue = [("1", 1), ("2", 3), ("3", 1)]
    run_times = RunTimeTable({"a": 0, "b": 0, "c": 0}, {"1": 0, "2": 1, "3": 2}, np.full((1, 3, 3), 5.0))
    assert starts_in_order(queue, ["b", "a", "c"], anyone, run_times) == [ImmediateStart("1", ("a",), 5.0)]


def test_in_order_the_head_blocks_also_where_its_host_is_kept_for_others() -> None:
    run_times = RunTimeTable({"a": 0}, {"1": 0, "2": 1}, np.array([[[5.0], [2.0]]]))
    assert starts_in_order([("1", 1), ("2", 1)], ["a"], anyone, run_times, {"a": 3.0}) == []


def test_in_order_the_fastest_hosts_are_taken_first_and_the_slowest_of_them_decides() -> None:
    run_times = RunTimeTable({"a": 1, "b": 0, "c": 0}, {"1": 0, "2": 1}, np.array([[[3.0, 2.0]] * 2, [[9.0, 7.0]] * 2]))
    taken = starts_in_order([("1", 1), ("2", 2)], ["a", "b", "c"], anyone, run_times)
    assert taken == [ImmediateStart("1", ("b",), 3.0), ImmediateStart("2", ("c", "a"), 7.0)]


def two_classes() -> RunTimeTable:
    """`long` runs 4 s on the fast host f, 9 s on the slow ones s and t."""
    return RunTimeTable({"f": 0, "s": 1, "t": 1}, {"first": 0, "long": 1}, np.array([[[5.0], [4.0]], [[20.0], [9.0]]]))


@pytest.mark.parametrize(("busy_until", "leaves"), [(5.0, [ImmediateStart("long", ("s",), 9.0)]), (4.0, [])])
def test_a_slower_host_is_taken_only_where_the_task_ends_no_later_there(
    busy_until: float, leaves: list[ImmediateStart]
) -> None:
    plan = [Assignment("long", ("f",), busy_until, busy_until + 4.0)]
    assert starts_now(plan, ["s", "t"], anyone, two_classes()) == leaves


def test_planned_on_hosts_of_two_classes_a_task_is_as_quick_as_those_that_it_gets() -> None:
    run_times = RunTimeTable({"f": 0, "g": 0, "s": 1}, {"long": 0}, np.array([[[9.0, 4.0]], [[20.0, 9.0]]]))
    plan = [Assignment("long", ("f", "s"), 9.0, 18.0)]
    assert starts_now(plan, ["f", "g"], anyone, run_times) == [ImmediateStart("long", ("f", "g"), 4.0)]


@pytest.mark.parametrize(("seconds", "leaves"), [(4.0, ["short"]), (4.5, [])])
def test_no_licence_is_taken_from_a_planned_task(seconds: float, leaves: list[str]) -> None:
    plan = [Assignment("wide", ("a", "d"), 4.0, 9.0), Assignment("short", ("a",), 9.0, 9.0 + seconds)]
    assert [each.task for each in leaving(plan, ["b"], licences=one_licence("wide", "short"))] == leaves


def test_of_two_that_fill_gaps_one_has_the_licence() -> None:
    plan = [Assignment(name, ("a",), 9.0 + place, 10.0 + place) for place, name in enumerate("xy")]
    taken = leaving(plan, ["b", "c"], licences=one_licence("x", "y"))
    assert [each.task for each in taken] == ["x"]


def one_licence(*tasks: str) -> LicenceTimeline:
    """Return one of which there is one; tasks x, y and z, or those named, ask for it, but z."""
    names = (*tasks, "z")
    demand = np.array([[int(name in tasks)] for name in names])
    return LicenceTimeline(names, Licences(("matlab",), np.array([1]), demand))


def gaps(plan: list[Assignment], idle: list[str], lent: dict[str, float], **how: Any) -> list[Assignment]:
    """Return who would leave if what is lent were idle; hosts are a to f, all alike."""
    seconds = np.array([[[item.end - item.start] * 6 for item in plan]])
    run_times = RunTimeTable(dict.fromkeys("abcdef", 0), {item.task: n for n, item in enumerate(plan)}, seconds)
    terms: dict[str, Any] = {"kept": {}, "behind": (), "licences": NO_LICENCES, **how}
    return gaps_on_lent_hosts(plan, idle, lent, anyone, run_times, **terms)


def test_a_task_would_fill_a_gap_on_a_lent_host_once_that_is_free() -> None:
    plan = [Assignment("wide", ("a", "b", "d"), 4.0, 9.0), Assignment("x", ("a",), 9.0, 12.0)]
    here = [Assignment("x", ("c",), 0.0, 3.0)]
    assert gaps(plan, [], {"c": 2.0}) == here
    assert gaps(plan, [], {"c": 2.0, "down": 9.0}) == here
    assert gaps(plan, [], {"c": 2.0}, kept={"c": 5.0}) == here
    assert gaps(plan, [], {"c": 2.0}, kept={"c": 4.5}) == []  # it would begin 2 s later
    assert gaps(plan, ["e"], {"c": 2.0}) == []  # it leaves on e


def test_what_is_planned_to_start_on_a_lent_host_soon_fills_no_gap_and_leaves_the_others() -> None:
    plan = [Assignment("soon", ("c",), 1.0, 5.0), Assignment("x", ("a",), 9.0, 12.0)]
    assert gaps(plan, [], {"c": 2.0}) == []
    assert gaps(plan, [], {"c": 2.0, "d": 2.0}) == [Assignment("x", ("d",), 0.0, 3.0)]


@pytest.mark.parametrize(("until", "there"), [(5.0, True), (4.5, False)])
def test_the_rest_of_the_plan_would_fill_gaps_on_lent_hosts_too(until: float, there: bool) -> None:
    rest = [BackfillCandidate("rest", 1, 3.0)]
    found = gaps([Assignment("x", ("a", "b"), 0.0, 3.0)], [], {"c": 2.0}, kept={"c": until}, behind=rest)
    assert found == ([Assignment("rest", ("c",), 0.0, 3.0)] if there else [])


@pytest.mark.parametrize(("end", "there"), [(10.0, True), (9.5, False)])
def test_a_slower_host_that_is_lent_is_taken_only_where_the_task_ends_no_later_there(end: float, there: bool) -> None:
    plan = [Assignment("long", ("f",), end - 4.0, end)]
    found = gaps_on_lent_hosts(plan, [], {"s": 1.0}, anyone, two_classes(), {}, (), NO_LICENCES)
    assert found == ([Assignment("long", ("s",), 0.0, 9.0)] if there else [])


starts = st.sampled_from([0.0, 1.0, 2.0, 5.0])


@given(
    st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), starts, starts), max_size=6),
    st.sets(st.sampled_from("abcd")),
)
def test_no_host_twice_none_that_is_taken_and_no_delay(
    rows: list[tuple[set[str], float, float]], idle: set[str]
) -> None:
    plan = [
        Assignment(str(n), tuple(sorted(hosts)), start, start + length + 1)
        for n, (hosts, start, length) in enumerate(rows)
    ]
    left = leaving(plan, sorted(idle))
    used = [host for item in left for host in item.hosts]
    assert len(used) == len(set(used))
    assert idle.issuperset(used)
    gone = {item.task for item in left}
    for item in left:
        for later in plan:
            if later.task not in gone and later.start > 0 and set(item.hosts) & set(later.hosts):
                planned = next(p for p in plan if p.task == item.task)
                assert item.seconds <= later.start or planned.start == 0


def _a_queue(draw: np.random.Generator, tasks: int) -> tuple[Problem, Plan, list[str]]:
    """Return a long queue in whole seconds on some hosts of which some are idle, and these."""
    count = int(draw.integers(1, 9))
    free = draw.integers(0, 4, count).astype(float)
    profiles = draw.integers(1, 9, (tasks, count)).astype(float)
    names = tuple(str(task) for task in range(tasks))
    release = (draw.integers(0, 9, tasks) * (draw.random(tasks) < draw.random())).astype(float)
    problem = a_problem(profiles.tolist(), hosts=count, free=free.tolist(), release=release.tolist())
    problem = replace(problem, tasks=names)
    after = [(int(draw.integers(task)),) if task and draw.random() < 0.1 else () for task in range(tasks)]
    problem = replace(problem, depends_on=tuple(after) if draw.random() < 0.3 else ())
    plan = Plan(draw.permutation(tasks), draw.integers(1, count + 1, tasks))
    return problem, plan, [host for host, time in zip(problem.hosts, free, strict=True) if not time]


@given(st.integers(0, 1 << 32), st.integers(1, 200))
def test_those_leave_that_would_if_all_of_the_plan_were_decoded(seed: int, tasks: int) -> None:
    draw = np.random.default_rng(seed)
    problem, plan, idle = _a_queue(draw, tasks)
    share = draw.random()
    before = problem.depends_on or ((),) * tasks
    waits = dict(zip(problem.tasks, (problem.release > 0) | np.array([bool(each) for each in before]), strict=True))
    able = {name for name in problem.tasks if draw.random() < share and not waits[name]}
    kept = {host: float(draw.integers(0, 9)) for host in idle if draw.random() < 0.2}
    run_times = RunTimeTable.of(problem)
    whole = starts_now(decode(problem, plan).assignments, idle, able.__contains__, run_times, kept)
    first, behind = first_on_idle_hosts(problem, plan, idle)
    assert starts_now(first, idle, able.__contains__, run_times, kept, behind) == whole


def test_of_a_long_queue_no_more_are_decoded_where_all_that_may_start_do() -> None:
    problem = a_problem([[3.0]] * 260, hosts=64, depends_on=((), (), *[(task,) for task in range(258)]))
    chained = replace(problem, tasks=tuple(map(str, range(260))))
    first, behind = first_on_idle_hosts(chained, Plan(np.arange(260), np.ones(260, dtype=np.int64)), problem.hosts)
    assert ([item.start for item in first[:2]], len(first), behind) == ([0.0, 0.0], 32, [])
    later = replace(chained, release=np.ones(260))
    assert first_on_idle_hosts(later, Plan(np.arange(260), np.ones(260, dtype=np.int64)), problem.hosts) == ([], [])


def test_of_a_long_queue_only_those_are_decoded_that_are_the_first_on_an_idle_host() -> None:
    problem, plan, _ = _a_queue(np.random.default_rng(1), 200)
    first, behind = first_on_idle_hosts(problem, plan, problem.hosts)
    assert len(first) + len(behind) == 200
    assert len(first) == 32


@pytest.mark.parametrize("scarce", ["hosts", "licences"])
def test_all_is_decoded_where_hosts_go_or_licences_are_scarce(scarce: str) -> None:
    problem, plan, _ = _a_queue(np.random.default_rng(1), 200)
    if scarce == "hosts":
        problem = replace(problem, unavailability=(Unavailability(0, 50.0, 60.0),))
    else:
        demand = np.ones((200, 1), dtype=np.int64)
        problem = replace(problem, licences=Licences(("matlab",), np.array([3]), demand))
    first, behind = first_on_idle_hosts(problem, plan, problem.hosts)
    assert (list(first), behind) == (list(decode(problem, plan).assignments), [])
