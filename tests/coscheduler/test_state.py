from __future__ import annotations

from dataclasses import replace

from cosched.coscheduler.changes import CancelAttempt, Replan
from cosched.coscheduler.state import CoreState
from cosched.coscheduler.task import Attempt, AttemptState
from tests.coscheduler.makers import a_task
from tests.tasks import change_task

ATTEMPT = Attempt(uuid="u", task="1", hosts=("node01",), count=1, predicted=10.0, created=0.0)


def test_an_outcome_holds_what_changed_and_a_new_snapshot_comes_last() -> None:
    ledger = CoreState()
    ledger.put(a_task(1))
    ledger.replan()
    ledger.decide(CancelAttempt("u"))
    assert ledger.outcome().changes.tasks == {"1": a_task(1)}
    assert ledger.outcome().decisions == (CancelAttempt("u"), Replan())


def test_what_stays_as_it_was_is_no_change() -> None:
    ledger = CoreState()
    ledger.load([a_task(1)], [ATTEMPT])
    ledger.put(a_task(1))
    ledger.put_attempt(ATTEMPT)
    assert not ledger.outcome().changes


def test_an_attempt_that_ended_is_written_down_and_forgotten() -> None:
    ledger = CoreState()
    ledger.load([a_task(1)], [ATTEMPT])
    assert ledger.attempt_of("1") == ATTEMPT
    ledger.close_attempt(ATTEMPT)
    assert ledger.attempt_of("1") is None
    assert ledger.outcome().changes.attempts == {ATTEMPT.uuid: ATTEMPT}


def test_a_new_event_begins_with_no_changes() -> None:
    ledger = CoreState()
    ledger.put(a_task(1))
    ledger.begin()
    assert not ledger.outcome().changes.tasks
    assert ledger.tasks == {"1": a_task(1)}


def test_live_tasks_are_counted_by_owner() -> None:
    ledger = CoreState()
    ledger.load([replace(a_task(1), owner="ann")], [])
    for number in (2, 3):
        ledger.put(replace(a_task(number), owner="bob"))
    ledger.put(change_task(a_task(3), owner="bob", reason="changed"))
    assert ledger.tasks_by_owner == {"ann": 1, "bob": 2}
    ledger.close(ledger.tasks["1"])
    assert ledger.tasks_by_owner == {"bob": 2}


def test_live_attempts_are_counted_by_owner() -> None:
    ledger = CoreState()
    ledger.load([replace(a_task(1), owner="ann")], [ATTEMPT])
    ledger.put_attempt(replace(ATTEMPT, state=AttemptState.RUNNING))
    assert ledger.live_by_owner["ann"] == 1
    ledger.close_attempt(ATTEMPT)
    assert ledger.live_by_owner["ann"] == 0


def test_attempts_without_hosts_are_leaving_until_the_manager_has_them() -> None:
    ledger = CoreState()
    first = replace(ATTEMPT, hosts=())
    second = replace(first, uuid="v", task="2")
    ledger.load([a_task(1), a_task(2), a_task(3)], [first, replace(ATTEMPT, uuid="w", task="3")])
    ledger.put_attempt(second)
    assert ledger.unmodelled_submitting == {"u", "v"}
    ledger.put_attempt(replace(first, state=AttemptState.SUBMITTED))
    ledger.close_attempt(second)
    assert not ledger.unmodelled_submitting
