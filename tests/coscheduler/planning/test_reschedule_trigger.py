"""Loads and runs that are not as predicted: a new plan, and what is said of it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.changes import Replan
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved, Tick
from cosched.coscheduler.planning.reschedule_trigger import load_text
from cosched.prediction.loads.host_load import HostLoad, LoadTrigger
from cosched.scheduling.decoding.decoder import spans
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, settings, start, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

QUARTER = HostLoad(rate=1 / 300, mean=100, square=20_000)
HALF = HostLoad(rate=1 / 100, mean=100, square=20_000)


def said(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(entry.kind, entry.task, entry.detail) for entry in outcome.changes.log]


def on_one_host(seconds: float, **changes: object) -> Coscheduler:
    """Return a core on whose only host task 1 runs since 0 s."""
    core = a_core(1, **changes)
    (attempt,) = dispatched(submit(core, a_task(1, (seconds,), deadline=seconds + 20)))
    start(core, attempt, 0.0)
    return core


def test_a_run_that_is_too_long_is_said_once_and_planned_anew_ever_more_rarely() -> None:
    core = on_one_host(100.0)
    submit(core, a_task(2, (30.0,), deadline=140.0), 1.0)
    assert not said(core.handle(Tick(105.0)))  # within the usual
    outcome = core.handle(Tick(112.0))
    assert Replan() in outcome.decisions
    why = "task 1 runs longer than predicted on hosts that it will use"
    assert said(outcome) == [
        ("longer than predicted", "1", "it is expected to run for another 6.0 s"),
        ("will be late", "2", f"{why}: it is expected to end 8.0 s after its deadline"),
    ]
    times = [112.0]
    for second in range(113, 1112):
        outcome = core.handle(Tick(float(second)))
        assert not said(outcome)
        if Replan() in outcome.decisions:
            times.append(float(second))
    assert 5 <= len(times) <= 20
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert gaps == sorted(gaps)


def test_a_run_that_has_ended_is_forgotten() -> None:
    core = on_one_host(100.0)
    core.handle(Tick(112.0))
    assert core.snapshot().overruns
    (attempt,) = core.attempts.values()
    complete(core, attempt, 0.0, 113.0)
    core.handle(Tick(114.0))
    assert not core.snapshot().overruns


def test_a_core_that_goes_on_from_a_snapshot_says_nothing_twice() -> None:
    core = on_one_host(100.0)
    core.handle(Tick(112.0))
    again = Coscheduler.from_snapshot(core.settings, core.snapshot())
    assert not said(again.handle(Tick(113.0)))
    assert again.snapshot().overruns == core.snapshot().overruns


def test_an_owner_who_takes_more_makes_a_running_task_late_and_that_is_said() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(1), {"node01": QUARTER}))
    (attempt,) = dispatched(submit(core, a_task(1, (120.0,), deadline=185.0)))
    start(core, attempt, 0.0)
    outcome = core.handle(HostsObserved(80.0, hosts(1), {"node01": HALF}))
    assert Replan() in outcome.decisions
    (entry,) = said(outcome)
    assert entry == (
        "load changed",
        "1",
        "owners take 50% of node01 in place of 25%: it is expected to end 40 s later, 15 s after its deadline",
    )
    outcome = core.handle(HostsObserved(100.0, hosts(1), {}))  # he goes
    (entry,) = said(outcome)
    assert entry[2].startswith("owners take 0% of node01 in place of 50%: it is expected to end 50 s sooner")
    assert "deadline" not in entry[2]


def test_a_waiting_task_goes_elsewhere_or_is_said_to_be_late() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(1)))
    (attempt,) = dispatched(submit(core, a_task(1, (60.0,))))
    start(core, attempt, 0.0)
    submit(core, a_task(2, (100.0,), deadline=200.0))
    outcome = core.handle(HostsObserved(1.0, hosts(1), {"node01": HALF}))
    kinds = {(kind, task) for kind, task, _ in said(outcome)}
    assert kinds == {("load changed", "1"), ("will be late", "2")}
    assert next(detail for kind, _, detail in said(outcome) if kind == "will be late").startswith(
        "owners take more of hosts than was reckoned with: it is expected to end "
    )
    elsewhere = core.handle(HostsObserved(2.0, hosts(2), {"node01": HALF}))
    assert [each.hosts for each in dispatched(elsewhere)] == [("node02",)]


def decodes_at_a_change(monkeypatch: pytest.MonkeyPatch, *deadlines: float) -> tuple[int, list[str]]:
    """Return how often the plan is decoded to see what is late at a change of loads, and which tasks are said to be."""
    core, decoded = Coscheduler(settings()), []
    core.handle(HostsObserved(0.0, hosts(1)))
    (attempt,) = dispatched(submit(core, a_task(1, (60.0,))))
    start(core, attempt, 0.0)
    for number, deadline in enumerate(deadlines, start=2):
        submit(core, a_task(number, (100.0,), deadline=deadline))

    def counted(problem: Problem, plan: Plan) -> object:
        decoded.append(plan)
        return spans(problem, plan)

    monkeypatch.setattr("cosched.coscheduler.planning.reschedule_trigger.spans", counted)
    outcome = core.handle(HostsObserved(1.0, hosts(1), {"node01": HALF}))
    return len(decoded), [task for kind, task, _ in said(outcome) if kind == "will be late"]


@pytest.mark.parametrize(
    ("deadlines", "decodes", "late"),
    [
        pytest.param((), 0, [], id="no deadline"),
        pytest.param((1e6, 1e6), 1, [], id="all in time"),
        pytest.param((50.0, 1e6), 1, [], id="late whatever owners do"),
        pytest.param((200.0, 1e6), 2, ["2"], id="late by owners"),
    ],
)
def test_the_plan_of_before_is_decoded_only_where_a_load_may_have_made_a_task_late(
    monkeypatch: pytest.MonkeyPatch, deadlines: tuple[float, ...], decodes: int, late: list[str]
) -> None:
    """Half a second each on 256 shared hosts with 6,400 waiting tasks, at each change of a load."""
    assert decodes_at_a_change(monkeypatch, *deadlines) == (decodes, late)


@pytest.mark.parametrize("trigger", [LoadTrigger.ADVISE, LoadTrigger.OFF])
def test_off_says_nothing_and_advise_says_all(trigger: LoadTrigger) -> None:
    core = on_one_host(100.0, trigger=trigger)
    loaded = core.handle(HostsObserved(50.0, hosts(1), {"node01": HALF}))
    late = core.handle(Tick(180.0))
    says = trigger is LoadTrigger.ADVISE
    assert (bool(said(loaded)), bool(said(late)), Replan() in late.decisions) == (says, says, says)
    (attempt,) = core.attempts.values()
    assert attempt.predicted == pytest.approx(150.0)  # plans reckon with loads all the same


def test_loads_are_named_with_the_hosts_that_have_one() -> None:
    loads = {f"node0{number}": HALF for number in range(1, 6)}
    assert load_text(["node01", "node09"], loads) == "owners take 50% of node01"
    assert load_text(loads, loads) == "owners take 50% of node01, 50% of node02, 50% of node03 and more of 2 others"
    assert load_text(["node01"], loads, {"node01": QUARTER}) == "owners take 50% of node01 in place of 25%"
