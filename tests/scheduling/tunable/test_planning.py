from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.tunable.planning import (
    StageRun,
    TunablePlan,
    check_tunable,
    plan_by_rule,
    plan_moldable,
    plan_tunable,
)
from cosched.scheduling.tunable.tasks import AdmissionRule, Chain, Stage, TunableQueue, TunableTask
from tests.scheduling.problems import a_problem, problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.problem import Problem

HOSTS = ("a", "b", "c", "d")
seconds = st.one_of(st.integers(1, 5).map(float), st.floats(0.1, 5.0))
stages = st.builds(Stage, st.integers(1, 4), seconds, st.sampled_from([6.0, 12.0, float("inf")]))
ways = st.lists(st.lists(stages, min_size=1, max_size=3).map(tuple).map(Chain), min_size=1, max_size=3).map(tuple)
queues = st.lists(st.tuples(st.floats(0.0, 20.0), ways), max_size=10).map(
    lambda rows: TunableQueue(
        HOSTS, tuple(TunableTask(str(n), release, chains) for n, (release, chains) in enumerate(rows))
    )
)


@given(queues)
def test_whatever_is_planned_is_feasible(queue: TunableQueue) -> None:
    plan = plan_tunable(queue)
    assert check_tunable(queue, plan) == []
    assert len(plan.placements) + len(plan.refused) == len(queue.tasks)


def test_tasks_are_looked_at_in_order_of_arrival() -> None:
    rigid = (Chain((Stage(4, 5.0, 5.0),)),)
    queue = TunableQueue(HOSTS, (TunableTask("late", 1.0, rigid), TunableTask("early", 0.0, rigid)))
    assert plan_tunable(queue).refused == ("late",)


CHAIN = Chain((Stage(2, 3.0, 10.0), Stage(1, 4.0, 20.0)))
QUEUE = TunableQueue(("a", "b"), (TunableTask("t", 1.0, (CHAIN,)), TunableTask("u", 1.0, (CHAIN,))))


def changed(index: int, **changes: Any) -> Callable[[TunablePlan], TunablePlan]:
    def change(plan: TunablePlan) -> TunablePlan:
        runs: list[StageRun] = list(plan.runs)
        runs[index] = replace(runs[index], **changes)
        return replace(plan, runs=tuple(runs))

    return change


def test_a_good_plan_has_no_fault() -> None:
    assert check_tunable(QUEUE, plan_tunable(QUEUE)) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (changed(0, hosts=("a", "a")), "t, stage 0: not on 2 known hosts"),
        (changed(0, hosts=("a", "z")), "t, stage 0: not on 2 known hosts"),
        (changed(0, end=9.0), "t, stage 0: takes 8.0 s, not 3.0 s"),
        (changed(0, start=0.0, end=3.0), "t, stage 0: starts before it may"),
        (changed(0, start=9.0, end=12.0), "t, stage 0: ends after its deadline"),
        (changed(0, chain=1), "t does not run one chain whole"),
        (changed(0, stage=1), "t does not run one chain whole"),
        (changed(0, task="x"), "x is not a task of the queue"),
        (lambda plan: replace(plan, refused=("t",)), "t is neither refused nor run, or both"),
        (lambda plan: replace(plan, runs=()), "t is neither refused nor run, or both"),
    ],
)
def test_what_is_wrong_with_a_plan_is_found(spoil: Callable[[TunablePlan], TunablePlan], fault: str) -> None:
    assert fault in check_tunable(QUEUE, spoil(plan_tunable(QUEUE)))


def test_two_at_a_time_on_one_host_are_found() -> None:
    plan = plan_tunable(QUEUE)
    second = next(index for index, run in enumerate(plan.runs) if run.task == "u" and run.stage == 0)
    spoiled = changed(second, start=1.0, end=4.0)(plan)
    assert "t and u are on a at the same time" in check_tunable(QUEUE, spoiled)


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


WASTEFUL = (Chain((Stage(4, 8.0, 10.0), Stage(4, 76.0, 100.0))), Chain((Stage(4, 2.0, 10.0), Stage(6, 81.0, 100.0))))


def images(count: int, interval: float, seed: int) -> TunableQueue:
    arrivals = np.cumsum(np.random.default_rng(seed).exponential(interval, count)).tolist()
    tasks = tuple(TunableTask(f"J{number}", each, WASTEFUL) for number, each in enumerate(arrivals))
    return TunableQueue(tuple("abcdefgh"), tasks)


def test_the_papers_rule_pays_for_a_sooner_end_with_tasks_that_are_refused_later() -> None:
    """In the published junction detection the coarse way ends 1 s sooner and needs half as many host-seconds more."""
    queue = images(300, 40.0, 1)
    outcomes = {rule: len(plan_by_rule(queue, rule).placements) for rule in AdmissionRule}
    fine = len(plan_by_rule(with_way(queue, 0), AdmissionRule.PAPER).placements)
    assert outcomes[AdmissionRule.PAPER] < 0.7 * fine
    assert outcomes[AdmissionRule.THRIFTY] > 0.95 * fine


def with_way(queue: TunableQueue, way: int) -> TunableQueue:
    """Return a queue whose tasks have one of their ways alone."""
    return replace(queue, tasks=tuple(replace(task, chains=task.chains[way : way + 1]) for task in queue.tasks))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("interval", [20.0, 40.0, 80.0])
def test_freedom_to_choose_makes_no_queue_worse_than_any_way_alone(seed: int, interval: float) -> None:
    queue = images(60, interval, seed)
    plan = plan_tunable(queue)
    assert check_tunable(queue, plan) == []
    by_rule = {each.rule: each for each in plan.compared}
    assert len(plan.placements) == by_rule[plan.rule].admitted == max(each.admitted for each in plan.compared)
    for way in range(2):
        admitted = len(plan_by_rule(with_way(queue, way), AdmissionRule.PAPER).placements)
        assert by_rule[f"way {way + 1} alone"].admitted == admitted <= len(plan.placements)
