from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents import AdvertisingChanged, Agent, LetterReceived, Peer, PeersChanged, SendLetter
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.events import LetterFailed
from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.agents.protocol.letters import Advertisement, Inquiry, Letter, Refused, Reserve
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved, Restored, SavedState
from tests.agents.makers import Domain, a_domain, a_service

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome


def agent_of(domain: Domain) -> Agent:
    agent = domain.broker.agent
    assert agent is not None
    return agent


def told(domain: Domain, seconds: int) -> int:
    """Return how many advertisements leave within so many seconds."""
    return sum(isinstance(body, Advertisement) for _ in range(seconds) for body in domain.pass_time(1.0))


def test_a_new_neighbour_is_asked_what_it_offers() -> None:
    domain = a_domain()
    assert [type(body) for body in domain.happen(PeersChanged(domain.time, (Peer("b"), Peer("c"), Peer("a"))))] == [
        Inquiry
    ]
    assert agent_of(domain).peers.keys() == {"b", "c"}  # nobody is its own neighbour


def test_letters_of_strangers_and_for_others_are_not_read() -> None:
    domain = a_domain()
    stranger = LetterSequence("x", "a", 1).write(Advertisement((a_service("x"),)))
    for letter in (stranger, replace(domain.links["b"].write(Advertisement()), receiver="z")):
        domain.happen(LetterReceived(domain.time, letter))
    assert [entry.service.domain for entry in agent_of(domain).entries(domain.time)] == ["b"]


def test_who_is_no_neighbour_any_more_is_forgotten() -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, ()))
    assert agent_of(domain).entries(domain.time) == []


def test_what_is_free_is_told_at_intervals_and_when_much_has_changed() -> None:
    domain = a_domain(period=10.0)
    told(domain, 5)
    assert told(domain, 30) == 3
    domain.say(Advertisement((a_service(), replace(a_service("far"), distance=1))))  # one domain more is known
    assert told(domain, 3) == 1


def test_neighbours_are_told_soon_that_no_host_is_up_and_that_they_are_back() -> None:
    domain = a_domain(period=1000.0, lifetime=5000.0)
    domain.pass_time(500.0)
    hosts: tuple[Host, ...]
    for hosts in ((), (Host("h0"),)):
        domain.happen(HostsObserved(domain.time, hosts))
        assert told(domain, 210) == 1


def test_who_only_answers_is_asked_and_asks() -> None:
    domain = a_domain(push=False, period=10.0, lifetime=20.0)
    assert told(domain, 60) == 0
    assert isinstance(domain.say(Inquiry())[0], Advertisement)


def test_the_silent_are_asked() -> None:
    domain = a_domain(push=False, period=5.0, lifetime=20.0)
    asked = sum(isinstance(body, Inquiry) for _ in range(30) for body in domain.pass_time(1.0))
    assert 4 <= asked <= 5  # from half the life of what they said on, once a period


def test_a_paused_neighbour_is_told_of_nothing() -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, (Peer("b", paused=True),)))
    (answer,) = domain.say(Inquiry())
    assert isinstance(answer, Advertisement)
    assert answer.services[0].classes == ()
    assert agent_of(domain).usable() == {}


def test_our_own_service_is_told_of_however_much_a_neighbour_advertises() -> None:
    """What it advertised, and our own with it, was too much for one letter: others heard of us no more."""
    domain = a_domain(1, [Peer("c")])
    names = tuple(str(each) + 900 * '"' for each in range(1000))  # a letter can hold them between other quotes
    domain.say(Advertisement((replace(a_service(), applications=names),)))
    domain.pass_time(20.0)
    (letter,) = [
        one.letter
        for one in domain.outcome.decisions
        if isinstance(one, SendLetter) and one.letter.receiver == "c" and isinstance(one.letter.body, Advertisement)
    ]
    found = read_letter(write_letter(letter)).body
    assert isinstance(found, Advertisement)
    assert [each.domain for each in found.services] == ["a"]
    domain.say(Advertisement((a_service(),)))
    told = [body for body in domain.pass_time(20.0) if isinstance(body, Advertisement)]
    assert {tuple(each.domain for each in body.services) for body in told} == {("a",), ("a", "b")}


def test_settings_of_advertising_change_while_it_runs() -> None:
    domain = a_domain()
    agent = agent_of(domain)
    domain.happen(AdvertisingChanged(domain.time, AdvertisingSettings(5.0, push=False, scope=0, lifetime=1.0)))
    assert agent.settings.advertising == AdvertisingSettings(5.0, False, 0, 1.0)
    assert (agent.settings.name, agent.settings.fanout) == ("a", 3)
    assert agent.entries(domain.time + 2.0) == []


def test_the_sender_of_a_letter_that_could_not_be_handled_is_refused_by_the_life_after_it() -> None:
    domain = a_domain()
    link = domain.links["b"]
    letter = link.write(Reserve("uuid", 1))
    outcome = domain.broker.handle(Restored(domain.time, SavedState(life=2)))
    greeting, *_ = sent(outcome)
    assert (greeting.body, greeting.life) == (Inquiry(), 2)
    (answer,) = sent(domain.broker.handle(LetterFailed(domain.time, letter, "a mistake")))
    assert answer.body == Refused("uuid", 1, "a mistake")
    assert link.take(greeting)
    assert link.take(answer)


def test_a_letter_to_the_life_before_a_mistake_is_not_taken() -> None:
    domain = a_domain()
    letter = domain.links["b"].write(Reserve("uuid", 1))
    domain.broker.handle(Restored(domain.time, SavedState(life=2)))
    answers = sent(domain.broker.handle(LetterReceived(domain.time, letter)))
    assert [type(each.body) for each in answers] == [Advertisement]  # by which the sender knows us again


def sent(outcome: Outcome) -> list[Letter]:
    return [each.letter for each in outcome.decisions if isinstance(each, SendLetter)]
