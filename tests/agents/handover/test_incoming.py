"""The taking side, a letter at a time."""

from __future__ import annotations

import pytest

from cosched.agents import LetterReceived, Peer, PeersChanged, SendLetter
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
    RemoteTaskState,
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
    StatusReceipt,
)
from cosched.coscheduler.handovers import Guest, GuestState
from cosched.coscheduler.task import TaskState
from tests.agents.makers import DOCUMENT, NOW, UUID, Domain, a_domain, a_guest

REQUEST = Request(UUID, 1, 3, ("b",), DOCUMENT)
COMMIT = Commit(UUID, 1, 3, ("b",), DOCUMENT)


def taken() -> Domain:
    """Return a domain that has just taken b's task in, as task 100, and asked whether it may start."""
    domain = a_domain()
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
