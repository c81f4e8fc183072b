from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import CancelAttempt, Replan
from cosched.coscheduler.state import CoreState
from cosched.coscheduler.task import TaskSpec
from tests.coscheduler.makers import a_task
from tests.tasks import change_task

ATTEMPT = Attempt(uuid="u", task="1", hosts=("node01",), count=1, predicted=10.0, created=0.0)


def test_an_outcome_holds_what_changed_and_a_new_snapshot_comes_last() -> None:
    state = CoreState()
    state.put(a_task(1))
    state.replan()
    state.decide(CancelAttempt("u"))
    assert state.outcome().changes.tasks == {"1": a_task(1)}
    assert state.outcome().decisions == (CancelAttempt("u"), Replan())


def test_what_stays_as_it_was_is_no_change() -> None:
    state = CoreState()
    state.load([a_task(1)], [ATTEMPT])
    state.put(a_task(1))
    state.put_attempt(ATTEMPT)
    assert not state.outcome().changes


def test_an_attempt_that_ended_is_written_down_and_forgotten() -> None:
    state = CoreState()
    state.load([a_task(1)], [ATTEMPT])
    assert state.attempt_of("1") == ATTEMPT
    state.close_attempt(ATTEMPT)
    assert state.attempt_of("1") is None
    assert state.outcome().changes.attempts == {ATTEMPT.uuid: ATTEMPT}


def test_a_new_event_begins_with_no_changes() -> None:
    state = CoreState()
    state.put(a_task(1))
    state.begin(0.0)
    assert not state.outcome().changes.tasks
    assert state.tasks == {"1": a_task(1)}


def test_live_tasks_are_counted_by_owner() -> None:
    state = CoreState()
    state.load([replace(a_task(1), owner="ann")], [])
    for number in (2, 3):
        state.put(replace(a_task(number), owner="bob"))
    state.put(change_task(a_task(3), owner="bob", reason="changed"))
    assert state.tasks_by_owner == {"ann": 1, "bob": 2}
    state.close(state.tasks["1"])
    assert state.tasks_by_owner == {"bob": 2}


def test_text_of_live_tasks_is_counted_by_owner() -> None:
    state, spec = CoreState(), TaskSpec("é", "", ("/x",), {"n": 1.5}, {"A": "b"}, model="12345")
    state.load([replace(a_task(1), owner="ann", spec=spec)], [])
    state.put(replace(a_task(2), owner="ann", spec=spec))
    state.put(change_task(state.tasks["2"], reason="changed"))
    assert state.bytes_by_owner == {"ann": 2 * 15}
    for number in ("1", "2"):
        state.close(state.tasks[number])
    assert state.bytes_by_owner == {}


def test_live_attempts_are_counted_by_owner() -> None:
    state = CoreState()
    state.load([replace(a_task(1), owner="ann")], [ATTEMPT])
    state.put_attempt(replace(ATTEMPT, state=AttemptState.RUNNING))
    assert state.live_by_owner["ann"] == 1
    state.close_attempt(ATTEMPT)
    assert state.live_by_owner["ann"] == 0


def test_attempts_without_hosts_are_leaving_until_the_manager_has_them() -> None:
    state = CoreState()
    first = replace(ATTEMPT, hosts=())
    second = replace(first, uuid="v", task="2")
    state.load([a_task(1), a_task(2), a_task(3)], [first, replace(ATTEMPT, uuid="w", task="3")])
    state.put_attempt(second)
    assert state.unmodelled_submitting == {"u", "v"}
    state.put_attempt(replace(first, state=AttemptState.SUBMITTED))
    state.close_attempt(second)
    assert not state.unmodelled_submitting


@pytest.mark.parametrize("now", AttemptState)
@pytest.mark.parametrize("hosts", [(), ("node01",)])
def test_an_attempt_without_hosts_counts_as_unmodelled_until_it_is_submitted(
    now: AttemptState, hosts: tuple[str, ...]
) -> None:
    state = CoreState()
    state.load([a_task(1)], [replace(ATTEMPT, hosts=())])
    assert state.unmodelled_submitting == {"u"}
    state.put_attempt(replace(ATTEMPT, hosts=hosts, state=now))
    assert state.unmodelled_submitting == ({"u"} if now is AttemptState.SUBMITTING and not hosts else set())


def test_tasks_are_linked_while_one_comes_after_a_live_one() -> None:
    state = CoreState()
    state.put(a_task(1))
    state.put(a_task(2, after=("1",)))
    assert state.linked
    assert state.successors("1") == ("2",)
    state.close(a_task(2, after=("1",)))
    assert not state.linked
