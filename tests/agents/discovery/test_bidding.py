"""Places for neighbours' tasks, a letter at a time."""

from __future__ import annotations

import pytest

from cosched.agents import Peer, PeerRole, PeersChanged
from cosched.agents.discovery.bidding import DISCOVERY_EPOCH
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.agents.protocol.letters import (
    Accepted,
    Advertisement,
    Commit,
    Decline,
    Fenced,
    Letter,
    Offer,
    Refused,
    Report,
    Request,
    Reserve,
    Reserved,
)
from cosched.coscheduler.events import TaskSubmitted
from tests.agents.makers import DOCUMENT, UUID, Domain, a_domain, a_guest, a_service, a_task

REQUEST = Request(UUID, 1, 3, ("b",), DOCUMENT)
COMMIT = Commit(UUID, 1, 3, ("b",), DOCUMENT)
UNFIT = "the task needs at least 8 hosts and the domain has 1"


def a_middle() -> Domain:
    """Return a domain between b and c that knows what c has."""
    domain = a_domain(others=[Peer("c")])
    domain.say(Advertisement((a_service("c"),)), by="c")
    return domain


def test_why_no_offer_is_made_is_said() -> None:
    domain = a_domain()
    assert domain.say(Request(UUID, 1, 3, ("a", "b"), DOCUMENT), a_guest()) == [Decline(UUID, 1, "it has been in a")]
    assert domain.say(REQUEST, None, "not ours") == [Decline(UUID, 1, "not ours")]


def test_no_end_is_so_far_away_that_no_letter_holds_it() -> None:
    domain = a_domain()
    for number in range(1, 13):  # of ten years each
        domain.happen(TaskSubmitted(domain.time, a_task(number, domain.time + 5.0, 315360000.0)))
    (offer,) = domain.say(REQUEST, a_guest())
    (reserved,) = domain.say(Reserve(UUID, 1))
    for letter in (Letter("a", "b", 1, 1, 1, offer), Letter("a", "b", 1, 1, 2, reserved)):
        assert read_letter(write_letter(letter)) == letter


def test_who_is_paused_is_declined_but_what_was_promised_holds() -> None:
    domain = a_domain()
    domain.say(REQUEST, a_guest())
    domain.say(Reserve(UUID, 1))
    domain.happen(PeersChanged(domain.time, (Peer("b", paused=True),)))
    assert Accepted(UUID, 1) in domain.say(COMMIT, a_guest())
    (answer,) = domain.say(Request(UUID.replace("0", "1"), 1, 3, ("b",), DOCUMENT), a_guest())
    assert isinstance(answer, Decline)


def test_a_place_is_kept_for_a_while_and_not_without_an_offer() -> None:
    domain = a_domain()
    assert isinstance(domain.say(Reserve(UUID, 1))[0], Refused)
    domain.say(REQUEST, a_guest())
    domain.time += 11.0
    assert isinstance(domain.say(Reserve(UUID, 1))[0], Refused)


def test_a_place_that_need_not_be_kept_is_free_and_can_be_asked_for_again() -> None:
    domain = a_domain()
    other = Request(UUID.replace("0", "1"), 1, 3, ("b",), DOCUMENT)
    domain.say(REQUEST, a_guest())
    assert domain.say(Reserve(UUID, 1)) == [Reserved(UUID, 1, 20.0, 10.0)]
    domain.say(Fenced(UUID, 2))  # that is another hand-over
    assert domain.say(other, a_guest()) == [Offer(other.task, 1, 40.0, "a")]
    domain.say(Fenced(UUID, 1))
    assert domain.say(other, a_guest()) == [Offer(other.task, 1, 20.0, "a")]
    assert domain.say(Reserve(UUID, 1)) == [Reserved(UUID, 1, 20.0, 10.0)]


def test_what_cannot_run_here_is_offered_further_on_by_what_is_known() -> None:
    domain = a_middle()
    assert domain.say(REQUEST, None, UNFIT) == [Offer(UUID, 1, 20.0, "c")]
    assert domain.say(Reserve(UUID, 1)) == [Reserved(UUID, 1, 20.0, 10.0)]
    domain.say(COMMIT, None, UNFIT)
    assert domain.said_to("b") == [Accepted(UUID, 1)]
    (onward,) = domain.said_to("c")
    assert isinstance(onward, Request)
    assert (onward.hops, onward.visited) == (2, ("b", "a"))
    assert domain.started == []
    assert domain.broker.core.tasks["1"].in_transit


@pytest.mark.parametrize("hops", [0, 1])
def test_a_task_that_may_go_no_further_is_not_offered_further_on(hops: int) -> None:
    (answer,) = a_middle().say(Request(UUID, 1, hops, ("b",), DOCUMENT), None, UNFIT)
    assert isinstance(answer, Offer if hops else Decline)


def test_what_would_be_late_here_is_offered_where_it_is_not() -> None:
    domain = a_middle()
    domain.submit(a_task(1, None, 1000.0))  # takes the only host
    assert domain.say(REQUEST, a_guest()) == [Offer(UUID, 1, 20.0, "c")]


def test_what_cannot_run_here_is_taken_only_by_promise() -> None:
    domain = a_middle()
    assert domain.say(COMMIT, None, UNFIT) == [Refused(UUID, 1, UNFIT)]
    domain.say(REQUEST, a_guest())
    domain.say(Reserve(UUID, 1))
    assert domain.say(COMMIT, None, "not any more") == [Refused(UUID, 1, "not any more")]  # the place was ours


def test_what_nobody_takes_goes_back() -> None:
    domain = a_middle()
    domain.say(REQUEST, None, UNFIT)
    domain.say(Reserve(UUID, 1))
    domain.say(COMMIT, None, UNFIT)
    domain.say(Decline(UUID, 1, "not now"), by="c")
    (report,) = domain.said_to("b")
    assert isinstance(report, Report)
    assert [(str(one.state), one.reason) for one in report.statuses] == [
        ("returned", "a knows nobody that takes it (c: not now)")
    ]
    assert domain.state("1") == "gone"


def test_what_nothing_is_known_of_is_asked_and_the_answer_passed_back() -> None:
    domain = a_domain(others=[Peer("up", PeerRole.UPPER)])
    domain.say(REQUEST, None, UNFIT)
    assert domain.said_to("b") == []
    assert domain.said_to("up") == [Request(UUID, 0, 2, ("b", "a"), DOCUMENT)]
    domain.time += 0.5
    assert domain.say(Offer(UUID, 0, 7.5, "far"), by="up") == [Offer(UUID, 1, 7.5, "far")]
    assert domain.say(Reserve(UUID, 1)) == [Reserved(UUID, 1, 7.5, 10.0)]


UPPER = Peer("up", PeerRole.UPPER)


def passed_on() -> Domain:
    """Return a domain that has passed b's request on to its upper one."""
    domain = a_domain(others=[UPPER, Peer("c")])
    domain.say(REQUEST, None, "not ours")
    assert domain.said_to("up")
    assert not domain.said_to("b")
    assert not domain.said_to("c")  # nothing is known of it, and it is not the upper one
    return domain


def test_where_nobody_further_on_can_either_the_reason_is_ours() -> None:
    domain = passed_on()
    assert domain.say(Decline(UUID, DISCOVERY_EPOCH, "nor ours"), by="up") == [Decline(UUID, 1, "not ours")]
    assert domain.say(Offer(UUID, DISCOVERY_EPOCH, 5.0, "far"), by="up") == []  # that is over


def test_who_does_not_answer_is_waited_for_less_long_than_the_asker_waits() -> None:
    domain = passed_on()
    domain.pass_time(3.9)
    assert Decline(UUID, 1, "not ours") not in domain.sent
    assert Decline(UUID, 1, "not ours") in domain.pass_time(0.1)


def test_an_answer_counts_from_who_was_asked_alone() -> None:
    domain = passed_on()
    assert domain.say(Offer(UUID, DISCOVERY_EPOCH, 5.0, "c"), by="c") == []
    assert domain.say(Offer(UUID, 1, 5.0, "far"), by="up") == []  # to another question


def test_what_is_late_here_too_is_offered_where_it_ends_first() -> None:
    domain = a_domain(others=[UPPER])
    domain.submit(a_task(1, None, 100.0))  # takes the only host: the guest would end after 120 s
    domain.say(REQUEST, a_guest())
    assert domain.said_to("b") == []
    assert domain.say(Offer(UUID, DISCOVERY_EPOCH, 119.5, "far"), by="up") == [Offer(UUID, 1, 120.0, "a")]
    domain.say(REQUEST, a_guest())
    assert domain.say(Offer(UUID, DISCOVERY_EPOCH, 90.0, "far"), by="up") == [Offer(UUID, 1, 90.0, "far")]


def test_hardware_that_is_not_known_here_is_asked_for() -> None:
    domain = a_domain(others=[Peer("c")])
    unusable = AdvertisedService(
        "c", 0.0, 0, (AdvertisedHostClass("other", (AvailabilityStep(0.0, 0),)),)
    )  # no time follows from it
    domain.say(Advertisement((unusable,)), by="c")
    domain.say(REQUEST, None, "not ours")
    assert [type(body) for body in domain.said_to("c")] == [Request]


def test_two_who_ask_the_same_are_both_answered() -> None:
    domain = a_domain(others=[UPPER, Peer("d")])
    domain.say(REQUEST, None, "not ours")
    domain.say(Request(UUID, 4, 3, ("b", "d"), DOCUMENT), None, "not ours", by="d")
    domain.say(Offer(UUID, DISCOVERY_EPOCH, 5.0, "far"), by="up")
    assert domain.said_to("b") == [Offer(UUID, 1, 5.0, "far")]
    assert domain.said_to("d") == [Offer(UUID, 4, 5.0, "far")]


def test_a_request_that_was_passed_on_to_us_keeps_no_place() -> None:
    domain = a_domain()
    (offer,) = domain.say(Request(UUID, DISCOVERY_EPOCH, 3, ("c", "b"), DOCUMENT), a_guest())
    assert isinstance(offer, Offer)
    assert isinstance(domain.say(Reserve(UUID, DISCOVERY_EPOCH))[0], Refused)


def test_no_more_are_passed_on_than_can_be_remembered() -> None:
    domain = a_domain(others=[UPPER])
    uuids = [f"{number:08d}{UUID[8:]}" for number in range(65)]
    for uuid in uuids:
        domain.say(Request(uuid, 1, 3, ("b",), DOCUMENT), None, "not ours")
    assert domain.said_to("b") == [Decline(uuids[-1], 1, "not ours")]
    assert not domain.said_to("up")


def test_who_is_known_to_be_in_time_is_offered_without_asking() -> None:
    domain = a_domain(others=[UPPER, Peer("c")])
    domain.say(Advertisement((a_service("c"),)), by="c")
    assert domain.say(REQUEST, None, "not ours") == [Offer(UUID, 1, 20.0, "c")]
