from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.events import CancelRequested, HostsObserved, ScheduleImproved, SharesChanged
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.sharing.shares import Share, Shares, UserUsage
from cosched.coscheduler.sharing.standing import standings
from cosched.scheduling.objective.weights import Weights
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, report, restore, shared, start, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

FIRST_COME = ["fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"]
LONG = 1e9  # a half-life by which nothing decays


def crowd(core: Coscheduler, *owners: str, seconds: float = 10.0) -> None:
    """Have owners submit tasks of one host each, in this order."""
    for owner in owners:
        submit(core, a_task(core.next_number, [seconds], owner=owner))


def run_all(core: Coscheduler, outcome: Outcome) -> list[str]:
    """Run tasks one after the other on the only host; return their owners in order."""
    owners, time = [], 0.0
    while attempts := dispatched(outcome):
        (attempt,) = attempts
        owners.append(core.tasks[attempt.task].owner)
        start(core, attempt, time)
        time += 10.0
        outcome = complete(core, attempt, time - 10.0, time)
    return owners


def test_without_shares_tasks_leave_in_order_of_arrival_and_nothing_is_charged() -> None:
    core = a_core(1)
    first = submit(core, a_task(1, [10.0], owner="ada"))
    crowd(core, "ada", "ada", "bob", "bob")
    assert run_all(core, first) == ["ada", "ada", "ada", "bob", "bob"]
    assert core.snapshot().shares.usage == ()


@pytest.mark.parametrize("policy", ["genetic", *FIRST_COME])
def test_with_shares_users_take_turns_by_their_weights(policy: str) -> None:
    core = shared(a_core(1, policy=policy), Shares(half_life=LONG, users={"bob": Share(2.0)}))
    first = submit(core, a_task(1, [10.0], owner="ada"))
    crowd(core, *["ada"] * 3, *["bob"] * 5)
    assert run_all(core, first) == ["ada", "bob", "bob", "ada", "bob", "bob", "ada", "bob", "ada"]


def test_a_deadline_goes_before_tasks_without_one_whatever_the_shares() -> None:
    core = shared(a_core(1))
    first = submit(core, a_task(1, [10.0], owner="bob"))
    crowd(core, "bob")
    submit(core, a_task(3, [10.0], owner="ada", deadline=25.0))
    crowd(core, "cyd")
    assert run_all(core, first) == ["bob", "ada", "cyd", "bob"]


def test_what_runs_is_charged_while_it_runs_and_written_down_as_it_ends() -> None:
    core = shared(a_core(2))
    (attempt,) = dispatched(submit(core, a_task(1, [100.0, 60.0], owner="ada")))
    start(core, attempt, 0.0)
    count = len(attempt.hosts)
    (standing,) = standings(core, 30.0)
    assert standing.name == "ada"
    assert standing.used == pytest.approx(30.0 * count)
    outcome = complete(core, attempt, 0.0, 50.0)
    assert outcome.changes.usage["ada"].host_seconds == pytest.approx(50.0 * count)
    assert standings(core, 90.0)[0].used == pytest.approx(50.0 * count)


def test_an_attempt_is_charged_however_it_ends_and_one_that_never_began_is_not() -> None:
    core = shared(a_core(1))
    (attempt,) = dispatched(submit(core, a_task(1, [100.0], owner="ada")))
    start(core, attempt, 0.0)
    core.handle(CancelRequested(20.0, "1"))
    removed = report(core, attempt, JobState.REMOVED, 25.0, finished=25.0)
    assert removed.changes.usage["ada"].host_seconds == pytest.approx(25.0)
    (second,) = dispatched(submit(core, a_task(2, [100.0], owner="bob"), 30.0))
    core.handle(CancelRequested(31.0, "2"))
    assert not report(core, second, JobState.REMOVED, 35.0).changes.usage


def test_usage_outlives_a_restart_and_the_shares_in_force_a_mistake() -> None:
    core = shared(a_core(1))
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], owner="ada")))
    start(core, attempt, 0.0)
    usage = tuple(complete(core, attempt, 0.0, 10.0).changes.usage.values())
    restarted = a_core(1)
    restore(restarted, 20.0, usage=usage)
    shared(restarted)
    restore(core, 20.0, usage=usage)
    for each in (restarted, core):
        (found,) = standings(each, 20.0)
        assert found.name == "ada"
        assert found.used == pytest.approx(10.0, rel=1e-6)


def test_impossible_deadlines_gain_nothing_at_submission_nor_when_they_cannot_be_met_any_more() -> None:
    core = shared(a_core(1))
    first = submit(core, a_task(1, [10.0], owner="bob"))
    for number in (2, 3):
        submit(core, a_task(number, [10.0], owner="bob"))
    for number, deadline in ((4, 9.0), (5, 12.0), (6, 12.0)):  # never, and no more once the first has run
        submit(core, a_task(number, [10.0], owner="ada", deadline=deadline, best_effort=True))
    assert [core.tasks[name].status.claim for name in ("4", "5")] == [0.0, 10.0]
    assert run_all(core, first) == ["bob", "ada", "bob", "ada", "bob", "ada"]


@pytest.mark.parametrize("policy", FIRST_COME)
def test_first_come_first_served_takes_turns_whatever_the_deadlines(policy: str) -> None:
    core = shared(a_core(1, policy=policy))
    first = submit(core, a_task(1, [10.0], owner="ada"))
    for number in (2, 3):
        submit(core, a_task(number, [10.0], owner="ada", deadline=500.0, priority=number))
    crowd(core, "bob", "bob")
    submit(core, a_task(6, [10.0], owner="bob", begin=1e5))
    assert run_all(core, first) == ["ada", "bob", "ada", "bob", "ada"]


@pytest.mark.parametrize("policy", FIRST_COME)
def test_priorities_order_ones_own_where_the_first_is_served_first(policy: str) -> None:
    core = a_core(1, policy=policy)
    (first,) = dispatched(submit(core, a_task(1, [10.0], owner="ada")))
    for number, owner, priority in ((2, "ada", 0), (3, "bob", 9), (4, "ada", 5)):
        submit(core, a_task(number, [10.0], owner=owner, priority=priority))
    order = []
    attempts = [first]
    while attempts:
        order.append(attempts[0].task)
        attempts = dispatched(complete(core, attempts[0], 0.0, 10.0 * len(order)))
    assert order == ["1", "4", "3", "2"]


@pytest.mark.parametrize("policy", FIRST_COME)
def test_a_task_that_may_not_leave_yet_does_not_keep_those_behind_it(policy: str) -> None:
    core = shared(a_core(4, policy=policy), Shares(users={"ada": Share(hosts=2)}))
    submit(core, a_task(1, [10.0], owner="eve", begin=1e5))
    crowd(core, "ada", "ada", "ada")
    submit(core, a_task(5, [10.0], owner="bob"))
    assert sorted(attempt.task for attempt in core.attempts.values()) == ["2", "3", "5"]


@pytest.mark.parametrize(
    "shares",
    [
        Shares(users={"ada": Share(hosts=2)}),
        Shares(default=Share(hosts=2)),
        Shares(groups={"physics": Share(hosts=2)}, members={"ada": "physics"}),
    ],
)
def test_no_more_hosts_run_than_the_limit_allows_and_others_take_them(shares: Shares) -> None:
    core = shared(a_core(4), shares)
    attempts = [each for _ in range(3) for each in dispatched(submit(core, own(core, "ada", [10.0])))]
    assert [len(each.hosts) for each in attempts] == [1, 1]
    (other,) = dispatched(submit(core, own(core, "bob", [10.0])))
    assert core.tasks[other.task].owner == "bob"
    found = explain(core, "3", 0.0)
    assert found is not None
    assert "may have 2 at once" in found.waits_for[0]
    (third,) = dispatched(complete(core, attempts[0], 0.0, 5.0))
    assert third.task == "3"


def test_a_task_takes_as_many_hosts_as_its_user_may_have() -> None:
    core = shared(a_core(4), Shares(users={"ada": Share(hosts=2)}))
    (attempt,) = dispatched(submit(core, own(core, "ada", [40.0, 20.0, 12.0, 9.0])))
    assert len(attempt.hosts) <= 2
    assert not dispatched(submit(core, own(core, "ada", None, count=3)))


@pytest.mark.parametrize("seconds", [[math.inf, math.inf, 10.0], None])
def test_a_task_that_needs_more_hosts_than_a_limit_that_was_lowered_stays_and_says_so(
    seconds: list[float] | None,
) -> None:
    """Regression: it was said to wait for hosts that were down; without a prediction it had more than it might."""
    core = a_core(4)
    (running,) = dispatched(submit(core, own(core, "bob", [10.0])))
    submit(core, a_task(2, seconds, owner="ada", count=3, after=(running.task,)))
    shared(core, Shares(users={"ada": Share(hosts=2)}))
    start(core, running, 0.0)
    assert not dispatched(complete(core, running, 0.0, 10.0))
    found = explain(core, "2", 11.0)
    assert found is not None
    assert found.waits_for == (
        "it needs 3 hosts, and user ada may have 2 at once: give it fewer, or ask an administrator for a larger share",
    )
    core.handle(SharesChanged(12.0, Shares(users={"ada": Share(hosts=3)})))
    assert core.attempt_of("2") is not None


def test_a_begin_that_is_past_does_not_hide_that_a_limit_keeps_a_task() -> None:
    """Regression: the plan had it start at once, so that its hosts stayed idle beside others that waited."""
    core = shared(a_core(4), Shares(users={"ada": Share(hosts=2)}))
    for _ in range(2):
        (running,) = dispatched(submit(core, own(core, "ada", [10.0])))
        start(core, running, 0.0)
    submit(core, a_task(3, [10.0], owner="ada", begin=1.0), 0.5)
    others = [each for _ in range(2) for each in dispatched(submit(core, own(core, "bob", [5.0]), 2.0))]
    assert [core.tasks[each.task].owner for each in others] == ["bob", "bob"]
    found = explain(core, "3", 2.5)
    assert found is not None
    assert found.planned_start is not None
    assert found.planned_start >= 10.0


def test_a_new_task_is_foreseen_on_as_many_hosts_as_its_user_may_have_and_when_it_may_have_them() -> None:
    """Regression: a dry run had it on all hosts, at once."""
    core, new = (
        shared(a_core(4), Shares(users={"ada": Share(hosts=2)})),
        a_task(9, [40.0, 20.0, 12.0, 9.0], owner="ada"),
    )
    place = predict_placement(core, new, 0.0)
    assert place is not None
    assert (place.start, place.end, len(place.hosts)) == (0.0, 20.0, 2)
    for _ in range(2):
        (running,) = dispatched(submit(core, own(core, "ada", [10.0])))
        start(core, running, 0.0)
    later = predict_placement(core, new, 4.0)
    assert later is not None
    assert later.start == 10.0
    others = predict_placement(core, replace(new, owner="bob"), 4.0)
    assert others is not None
    assert (others.start, len(others.hosts)) == (10.0, 4)


def test_where_deadlines_cannot_all_be_met_who_has_had_less_keeps_the_own() -> None:
    for used, kept in (("ada", "bob"), ("bob", "ada")):
        core = a_core(1, weights=Weights(deadlines_first=True))
        restore(core, 0.0, usage=[UserUsage(used, 100.0)])
        core.handle(HostsObserved(0.0, hosts(1)))
        shared(core)
        submit(core, own(core, "cyd", [5.0]))
        names = {owner: str(submit_due(core, owner, 17.0)) for owner in ("ada", "bob")}
        for first, second in (("ada", "bob"), ("bob", "ada")):
            core.handle(ScheduleImproved(0.1, TaskPlan((names[first], names[second]), (1, 1))))
        assert core.plan.tasks[0] == names[kept]


def submit_due(core: Coscheduler, owner: str, deadline: float) -> int:
    number = core.next_number
    submit(core, a_task(number, [10.0], owner=owner, deadline=deadline))
    return number


def own(core: Coscheduler, owner: str, seconds: list[float] | None, **values: int) -> Task:
    return a_task(core.next_number, seconds, owner=owner, **values)
