"""Requests on their way further on, a letter at a time."""

from __future__ import annotations

from cosched.agents import Peer, PeerRole
from cosched.agents.discovery.bidding import DISCOVERY_EPOCH
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import Advertisement, Decline, Offer, Refused, Request, Reserve
from tests.agents.makers import DOCUMENT, UUID, Domain, a_domain, a_guest, a_service, a_task

REQUEST = Request(UUID, 1, 3, ("b",), DOCUMENT)
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
