"""The giving side, a letter at a time: what is written down when, and what a late or repeated letter may do."""

from __future__ import annotations

import pytest

from cosched.agents.protocol.letters import (
    Accepted,
    Cancel,
    Commit,
    Fenced,
    Granted,
    Noted,
    Offer,
    Refused,
    RemoteTaskState,
    RemoteTaskStatus,
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
)
from cosched.coscheduler.events import CancelRequested
from cosched.coscheduler.handovers import HandoverState
from tests.agents.makers import Domain, a_domain, a_wide_task


def handed() -> tuple[Domain, str]:
    """Return a domain that has just committed task 1 to b, and the task's UUID."""
    domain = a_domain(lease=30.0)
    (request,) = [body for body in domain.submit(a_wide_task()) if isinstance(body, Request)]
    uuid = request.task
    assert domain.say(Offer(uuid, 1, 5.0, "b")) == [Reserve(uuid, 1)]
    (commit,) = domain.say(Reserved(uuid, 1, 5.0, 10.0))
    assert isinstance(commit, Commit)
    assert [one.state for one in domain.outcome.changes.handovers.values()] == [HandoverState.COMMITTING]
    return domain, uuid


def states(domain: Domain) -> list[HandoverState]:
    return [one.state for one in domain.outcome.changes.handovers.values()]


def test_a_task_may_start_there_once_that_is_written_down() -> None:
    domain, uuid = handed()
    assert domain.state("1") == "forwarded"
    domain.say(Accepted(uuid, 1))
    assert states(domain) == [HandoverState.HELD]
    assert domain.say(Start(uuid, 1, 7)) == [Granted(uuid, 1, 7)]
    assert states(domain) == [HandoverState.GRANTED]
    assert domain.say(Start(uuid, 1, 8)) == [Granted(uuid, 1, 8)]  # the first answer was lost
    assert states(domain) == []


def test_what_was_taken_back_is_fenced_for_ever() -> None:
    domain, uuid = handed()
    domain.say(Accepted(uuid, 1))
    assert Fenced(uuid, 1) in domain.pass_time(31.0)
    assert HandoverState.RECLAIMED in states(domain)
    assert domain.say(Start(uuid, 1, 7)) == [Fenced(uuid, 1)]
    running = RemoteTaskStatus(uuid, 1, RemoteTaskState.RUNNING, "b")
    assert Fenced(uuid, 1) in domain.say(Report((running,)))


def test_what_was_granted_is_waited_for_however_long_that_is() -> None:
    domain, uuid = handed()
    domain.say(Start(uuid, 1, 7))
    domain.pass_time(1e6)
    assert domain.state("1") == "forwarded"
    done = RemoteTaskStatus(
        uuid, 1, RemoteTaskState.COMPLETED, "b", hosts=("x",), started=9.0, finished=1.0, actual=8.0, exit_code=0
    )
    (noted,) = domain.say(Report((done,)))
    assert isinstance(noted, Noted)
    assert noted.notes[0].final
    assert states(domain) == [HandoverState.ENDED]
    (task,) = domain.outcome.changes.tasks.values()
    assert (str(task.status.state), task.status.peer, task.status.exit_code, task.status.actual) == (
        "completed",
        "b",
        0,
        8.0,
    )


@pytest.mark.parametrize("state", [RemoteTaskState.COMPLETED, RemoteTaskState.FAILED])
def test_nobody_ends_what_it_was_never_let_start(state: RemoteTaskState) -> None:
    domain, uuid = handed()
    said = domain.say(Report((RemoteTaskStatus(uuid, 1, state, "b", finished=1.0, actual=8.0, exit_code=0),)))
    assert Fenced(uuid, 1) in said
    assert states(domain) == [HandoverState.RECLAIMED]
    assert domain.state("1") != "gone"


def test_a_commit_is_repeated_until_it_is_answered() -> None:
    domain, uuid = handed()
    assert [type(body) for body in domain.pass_time(3.0) if getattr(body, "task", "") == uuid] == [Commit]
    domain.say(Accepted(uuid, 1))
    assert not any(isinstance(body, Commit) for body in domain.pass_time(3.0))


@pytest.mark.parametrize("arrived", [False, True])
def test_a_refusal_counts_until_the_task_has_arrived(arrived: bool) -> None:
    domain, uuid = handed()
    if arrived:
        domain.say(Accepted(uuid, 1))
    domain.say(Refused(uuid, 1, "no room"))
    assert (domain.state("1") == "forwarded") == arrived


def test_a_user_cancels_wherever_it_is() -> None:
    domain, uuid = handed()
    assert Fenced(uuid, 1) in domain.happen(CancelRequested(domain.time, "1", "no more"))
    assert domain.state("1") == "gone"
    domain, uuid = handed()
    domain.say(Start(uuid, 1, 7))
    domain.happen(CancelRequested(domain.time, "1", "no more"))
    assert domain.state("1") == "cancelling"
    for _ in range(2):  # until its end is reported
        assert Cancel(uuid, 1, "no more") in domain.pass_time(3.0)
    domain.say(Report((RemoteTaskStatus(uuid, 1, RemoteTaskState.CANCELLED, "b", "no more"),)))
    assert domain.state("1") == "gone"
