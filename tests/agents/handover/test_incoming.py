"""The taking side, a letter at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cosched.agents import LetterReceived, Peer, PeersChanged, SendLetter
from cosched.agents.handover.incoming import _in_transit
from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.letter_xml import read_letter, write_letter
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
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
    StatusReceipt,
)
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, JobReported, Restored, SavedState
from cosched.coscheduler.handovers import Guest, GuestState, NativeJob
from cosched.coscheduler.task import TaskState
from tests.agents.makers import DOCUMENT, NOW, UUID, Domain, a_domain, a_guest

REQUEST = Request(UUID, 1, 3, ("b",), DOCUMENT)
COMMIT = Commit(UUID, 1, 3, ("b",), DOCUMENT)


def taken(**changes: Any) -> Domain:
    """Return a domain that has just taken b's task in, as task 1, and asked whether it may start."""
    domain = a_domain(**changes)
    assert isinstance(domain.say(REQUEST, a_guest())[0], Offer)
    assert isinstance(domain.say(Reserve(UUID, 1))[0], Reserved)
    sent = domain.say(COMMIT, a_guest())
    assert Accepted(UUID, 1) in sent
    assert Start(UUID, 1, 1) in sent
    return domain


def test_a_guest_starts_at_its_origins_word_alone() -> None:
    domain = taken()
    assert domain.started == []
    domain.pass_time(0.5)
    assert domain.started == []
    domain.say(Granted(UUID, 1, 1))
    assert [guest.state for guest in domain.outcome.changes.guests.values()] == [GuestState.PERMITTED]
    assert domain.started == ["1"]


@pytest.mark.parametrize("word", [Granted(UUID, 2, 1), Granted(UUID, 1, 9)])
def test_the_answer_to_another_question_permits_nothing(word: Granted) -> None:
    domain = taken()
    domain.say(word)
    assert domain.started == []
    assert not domain.outcome.changes.guests


def test_the_answer_to_an_earlier_question_permits_as_well() -> None:
    domain = taken()
    asked = [body for _ in range(3) for body in domain.pass_time(2.0) if isinstance(body, Start)]
    assert asked
    assert asked[-1].ask > 1
    domain.say(Granted(UUID, 1, 1))  # letters take longer than the pauses between the questions
    assert domain.started == ["1"]


def test_a_task_is_taken_in_once() -> None:
    domain = taken()
    assert domain.say(COMMIT, a_guest()) == [Accepted(UUID, 1)]
    assert not domain.outcome.changes.guests
    assert list(domain.broker.core.tasks) == ["1"]
    domain.say(Commit(UUID, 2, 3, ("b",), DOCUMENT), a_guest())  # handed over anew: the former is no more
    assert domain.state("1") == "gone"
    assert list(domain.broker.core.tasks) == ["2"]


def test_what_was_fenced_is_gone_and_cannot_be_permitted() -> None:
    domain = taken()
    domain.say(Fenced(UUID, 1))
    assert [guest.state for guest in domain.outcome.changes.guests.values()] == [GuestState.SETTLED]
    domain.say(Granted(UUID, 1, 1))
    assert domain.started == []


def test_a_late_word_of_an_earlier_hand_over_is_not_heard() -> None:
    domain = taken()
    domain.say(replace(COMMIT, epoch=2), a_guest())
    assert domain.say(COMMIT, a_guest()) == []
    assert domain.say(Fenced(UUID, 1)) == []
    assert list(domain.broker.core.tasks) == ["2"]


def test_what_its_origin_has_let_start_is_neither_taken_back_nor_taken_in_again() -> None:
    domain = taken()
    domain.say(Granted(UUID, 1, 1))
    assert domain.say(Fenced(UUID, 1)) == []
    assert domain.say(replace(COMMIT, epoch=2), a_guest()) == []
    assert not domain.outcome.changes.guests
    assert list(domain.broker.core.tasks) == ["1"]


def test_a_place_that_was_kept_is_given_though_its_neighbour_has_been_paused() -> None:
    domain = a_domain()
    domain.say(REQUEST, a_guest())
    domain.say(Reserve(UUID, 1))
    domain.happen(PeersChanged(domain.time, (Peer("b", paused=True),)))
    assert Accepted(UUID, 1) in domain.say(COMMIT, a_guest())


def test_a_task_that_cannot_be_run_where_its_place_was_kept_is_refused() -> None:
    domain = a_domain()
    domain.say(REQUEST, a_guest())
    domain.say(Reserve(UUID, 1))
    assert domain.say(COMMIT, None, "its model is at fault") == [Refused(UUID, 1, "its model is at fault")]
    assert not domain.broker.core.tasks


def test_a_guest_whose_origin_is_silent_for_two_leases_goes_and_any_word_of_it_counts() -> None:
    domain = taken(lease=10.0)
    domain.pass_time(19.0)
    assert domain.state("1") == "queued"
    domain.say(Noted((StatusReceipt(UUID, 1, final=False),)))
    domain.pass_time(19.0)
    assert domain.state("1") == "queued"
    domain.pass_time(2.0)
    assert domain.state("1") == "gone"


def test_after_a_restart_an_origin_has_two_leases_again_to_be_heard() -> None:
    domain = taken(lease=10.0)
    guests, tasks = domain.outcome.changes.guests, domain.broker.core.tasks
    domain.time += 60.0
    domain.happen(Restored(domain.time, SavedState(tuple(tasks.values()), guests=tuple(guests.values()), life=2)))
    domain.pass_time(19.0)
    assert domain.state("1") == "queued"
    domain.pass_time(2.0)
    assert domain.state("1") == "gone"


def test_a_guest_that_may_start_outlasts_the_silence_of_its_origin() -> None:
    domain = taken(lease=10.0)
    domain.say(Granted(UUID, 1, 1))
    for _ in range(10):
        domain.pass_time(10.0)
    assert domain.state("1") == "dispatching"


def test_an_origin_is_reported_to_four_times_a_lease() -> None:
    domain = taken(lease=40.0)
    told = [body for _ in range(60) for body in domain.pass_time(1.0) if isinstance(body, Report)]
    assert len(told) == 6


def test_a_guest_that_began_and_was_cancelled_is_not_given_back_unstarted() -> None:
    """Its origin would run it a second time."""
    domain = taken()
    domain.say(Granted(UUID, 1, 1))
    attempt = domain.broker.core.attempt_of("1")
    assert attempt is not None
    domain.happen(AttemptSubmitted(domain.time, attempt.uuid, "7.0"))
    domain.happen(JobReported(domain.time, JobReport(attempt.uuid, JobState.RUNNING, started=domain.time)))
    (said,) = [body for body in domain.sent if isinstance(body, Report)]
    assert said.statuses[0].state is RemoteTaskState.RUNNING
    domain.say(Cancel(UUID, 1, "no more"))
    domain.happen(JobReported(domain.time, JobReport(attempt.uuid, JobState.REMOVED, finished=domain.time)))
    (said,) = [body for body in domain.sent if isinstance(body, Report)]
    assert said.statuses[0].state is RemoteTaskState.CANCELLED


def test_what_only_goes_through_brings_nothing_that_would_run_here() -> None:
    native, name = NativeJob("slurm", "#!/bin/sh"), 300 * "n"
    spec = _in_transit(replace(DOCUMENT, name=name, native=native, prepare=("/bin/prepare",)), "b", NOW).spec
    assert (spec.native, spec.prepare, spec.environment, spec.directory) == (None, (), {}, "")
    assert len(spec.name) == 200


def test_what_is_not_known_here_has_never_started_here() -> None:
    (report,) = a_domain().say(Cancel(UUID, 1, "no more"))
    assert isinstance(report, Report)
    assert report.statuses[0].state is RemoteTaskState.RETURNED


def test_the_end_is_reported_until_it_is_confirmed() -> None:
    domain = taken()
    domain.say(Cancel(UUID, 1, "no more"))
    (status,) = [one for body in domain.sent if isinstance(body, Report) for one in body.statuses]
    assert (status.state, status.reason) == (RemoteTaskState.RETURNED, "no more (in b)")
    again = [body for body in domain.pass_time(20.0) if isinstance(body, Report)]
    assert again
    (repeated,) = domain.say(Cancel(UUID, 1, "no more"))  # the answer was lost
    assert isinstance(repeated, Report)
    domain.say(Noted((StatusReceipt(UUID, 1, final=False),)))  # of what was told while it waited
    assert not domain.outcome.changes.guests
    domain.say(Noted((StatusReceipt(UUID, 1, final=True),)))
    assert [guest.state for guest in domain.outcome.changes.guests.values()] == [GuestState.SETTLED]
    assert not any(isinstance(body, Report) for body in domain.pass_time(20.0))


def test_origins_are_reported_to_in_the_same_order_in_every_process() -> None:
    domain = a_domain()
    names = [f"origin-{number}" for number in range(8)]
    domain.happen(PeersChanged(domain.time, tuple(Peer(name) for name in names)))
    for number, name in enumerate(names):
        link = LetterSequence(name, "a", 1)
        link.life = 1
        uuid = UUID[:-1] + str(number)
        domain.happen(LetterReceived(domain.time, link.write(Commit(uuid, 1, 3, (name,), DOCUMENT)), a_guest()))
    domain.pass_time(1.0)
    told = [
        one.letter.receiver
        for one in domain.outcome.decisions
        if isinstance(one, SendLetter) and isinstance(one.letter.body, Report)
    ]
    assert told == names


def test_of_thousands_of_guests_no_letter_is_too_large() -> None:
    """One letter told of all: from a few thousand on it could not be written, and none of their ends came home."""
    domain, count = a_domain(), 3000
    agent, ended = domain.broker.agent, a_guest().with_status(state=TaskState.FAILED, reason=1500 * "why ")
    assert agent is not None
    names = [str(number) for number in range(count)]
    guests = [Guest(a_uuid(name), 1, "b", name, GuestState.ENDED, 3, ("b",), DOCUMENT, NOW) for name in names]
    agent.restore((), guests, dict.fromkeys(names, ended), NOW)
    domain.pass_time(1.0)
    letters = [one.letter for one in domain.outcome.decisions if isinstance(one, SendLetter)]
    reports = [read_letter(write_letter(letter)).body for letter in letters if isinstance(letter.body, Report)]
    told = [status.task for report in reports if isinstance(report, Report) for status in report.statuses]
    assert told == [a_uuid(name) for name in names]


def a_uuid(name: str) -> str:
    return f"{UUID[:-12]}{name:0>12}"
