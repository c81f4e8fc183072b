from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.scheduling.tunable.planning import StageRun, TunablePlan, check_tunable, plan_tunable
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableQueue, TunableTask

if TYPE_CHECKING:
    from collections.abc import Callable

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
