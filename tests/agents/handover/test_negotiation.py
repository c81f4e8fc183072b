from __future__ import annotations

import math

import pytest

from cosched.agents.discovery.candidates import Candidate
from cosched.agents.handover.negotiation import NegotiatedOffer, Negotiation
from cosched.agents.tickets import Ticket
from tests.agents.makers import DOCUMENT, UUID

TICKET = Ticket(UUID, DOCUMENT, 3, ("a",))  # its deadline: 60.0


def a_negotiation(**offers: float) -> Negotiation:
    asked = {peer: Candidate(peer, peer, None) for peer in offers}
    return Negotiation(
        "1", TICKET, 1, 100.0, 99.0, 0.0, asked, {peer: NegotiatedOffer(end, peer) for peer, end in offers.items()}
    )


@pytest.mark.parametrize(
    ("offers", "choice"),
    [
        ({"b": 50.0, "c": 30.0}, "c"),
        ({"b": 90.0, "c": math.inf}, "b"),  # late, but less so than here
        ({"b": 99.5}, ""),  # hardly better than here
        ({"b": 59.9}, "b"),
        ({}, ""),
    ],
)
def test_the_earliest_in_time_or_clearly_less_late_is_chosen(offers: dict[str, float], choice: str) -> None:
    assert a_negotiation(**offers).choice(1.0) == choice


def test_equal_offers_are_spread_by_the_tasks_uuids() -> None:
    chosen = set()
    for number in range(40):
        negotiation = a_negotiation(b=30.0, c=30.2)
        negotiation.ticket = Ticket(f"{number:08d}{UUID[8:]}", DOCUMENT, 3, ("a",))
        chosen.add(negotiation.choice(1.0))
    assert chosen == {"b", "c"}


def test_the_reason_for_the_choice_is_one_line() -> None:
    negotiation = a_negotiation(b=50.0, c=70.0)
    assert negotiation.why("b", "a") == "a would end it 40 s late, b 10 s before its deadline; 2 of 2 asked made offers"
    negotiation.offers["c"] = NegotiatedOffer(70.0, "far")
    assert "far through c only 10 s late" in negotiation.why("c", "a")
    negotiation.here = 55.0
    assert negotiation.why("b", "a").startswith("a would end it 5.0 s before its deadline, b 10 s before its deadline")
