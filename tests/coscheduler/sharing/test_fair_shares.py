from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.interface import JobState
from cosched.coscheduler.events import CancelRequested, SharesChanged
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.sharing.standing import standings
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, report, restore, start, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler

LONG = 1e9  # a half-life by which nothing decays


def shared(core: Coscheduler, shares: Shares | None = None) -> Coscheduler:
    core.handle(SharesChanged(0.0, Shares(half_life=LONG) if shares is None else shares))
    return core


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


def test_with_shares_users_take_turns_by_their_weights() -> None:
    core = shared(a_core(1), Shares(half_life=LONG, users={"bob": Share(2.0)}))
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
    hosts = len(attempt.hosts)
    (standing,) = standings(core, 30.0)
    assert standing.name == "ada"
    assert standing.used == pytest.approx(30.0 * hosts)
    outcome = complete(core, attempt, 0.0, 50.0)
    assert outcome.changes.usage["ada"].host_seconds == pytest.approx(50.0 * hosts)
    assert standings(core, 90.0)[0].used == pytest.approx(50.0 * hosts)


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
