from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.agents import Peer, PeerRole, UserFiguresKnowledge
from cosched.agents.discovery.candidates import (
    Candidate,
    Negotiation,
    find_candidates,
    most_promising,
    upper_candidates,
)
from cosched.agents.discovery.capability_tables import CapabilityTables
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep, EndEstimate
from cosched.agents.protocol.messages import NativeJob
from cosched.agents.tickets import Ticket
from tests.agents.makers import DOCUMENT, NOW, UUID, a_service

PEERS = {"b": Peer("b"), "c": Peer("c"), "up": Peer("up", PeerRole.UPPER)}
PAPERS = Ticket(UUID, DOCUMENT, 3, ("a",))  # its deadline: 60.0


def tables_with(**services: AdvertisedService) -> CapabilityTables:
    tables = CapabilityTables(60.0)
    for via, service in services.items():
        tables.hear(PEERS[via], (service,), "a", NOW)
    return tables


def asked(tables: CapabilityTables, *excluded: str) -> list[str]:
    return [one.peer for one in find_candidates(tables, PEERS, UserFiguresKnowledge(), DOCUMENT, excluded, NOW)]


def test_the_most_promising_comes_first_and_the_upper_one_last() -> None:
    tables = tables_with(b=a_service("b", free=30.0), c=a_service("c", free=5.0))
    assert asked(tables) == ["c", "b", "up"]
    assert asked(tables, "c") == ["b", "up"]
    assert asked(tables, "up") == ["c", "b"]


def test_who_would_not_run_it_is_not_asked() -> None:
    classes = (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 4),)),)
    tables = tables_with(
        b=AdvertisedService("b", 0.0, 0, classes, ("other",)),
        c=AdvertisedService("c", 0.0, 0, classes, ("other",), commands=True),
    )
    assert asked(tables) == ["c", "up"]


def test_a_users_own_file_goes_only_to_its_own_kind_of_manager() -> None:
    def service(name: str, manager: str, *, commands: bool = True) -> AdvertisedService:
        return AdvertisedService(
            name, 0.0, 0, (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 4),)),), (), commands, manager
        )

    tables = tables_with(b=service("b", "slurm", commands=False), c=service("c", "condor"))
    document = replace(DOCUMENT, native=NativeJob("slurm"))
    found = find_candidates(tables, PEERS, UserFiguresKnowledge(), document, (), NOW)
    assert [one.peer for one in found] == ["up"]  # what that takes is not known: it says so
    found = find_candidates(tables_with(c=service("c", "slurm")), PEERS, UserFiguresKnowledge(), document, (), NOW)
    assert [one.peer for one in found] == ["c", "up"]


def test_those_who_promise_nothing_better_are_left_out() -> None:
    found = [
        Candidate("b", "b", EndEstimate(10.0, 1, 0)),
        Candidate("c", "c", EndEstimate(50.0, 1, 0)),
        Candidate("up", "up", None),
    ]
    assert [one.peer for one in most_promising(found, 49.9, 3)] == ["b", "up"]
    assert [one.peer for one in most_promising(found, 50.0, 2)] == ["b", "c"]


def test_the_upper_one_is_asked_too_where_nobody_promises_an_end_in_time() -> None:
    late = [Candidate("b", "b", EndEstimate(10.0, 1, 0))]
    assert [one.peer for one in upper_candidates(late, PEERS, (), 9.0)] == ["up"]
    assert upper_candidates(late, PEERS, (), 10.0) == []
    assert upper_candidates(late, PEERS, ("up",), 9.0) == []
    assert upper_candidates([Candidate("up", "up", None)], PEERS, (), 9.0) == []


def a_talk(**offers: float) -> Negotiation:
    asked = {peer: Candidate(peer, peer, None) for peer in offers}
    return Negotiation("1", PAPERS, 1, 100.0, 99.0, 0.0, asked, {peer: (end, peer) for peer, end in offers.items()})


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
    assert a_talk(**offers).choice(1.0) == choice


def test_equal_offers_are_shared_out_by_the_tasks_names() -> None:
    chosen = set()
    for number in range(40):
        talk = a_talk(b=30.0, c=30.2)
        talk.papers = Ticket(f"{number:08d}{UUID[8:]}", DOCUMENT, 3, ("a",))
        chosen.add(talk.choice(1.0))
    assert chosen == {"b", "c"}


def test_why_is_said_in_one_line() -> None:
    talk = a_talk(b=50.0, c=70.0)
    assert talk.why("b", "a") == "a would end it 40.0 s late, b 10.0 s before its deadline; 2 of 2 asked made offers"
    talk.offers["c"] = (70.0, "far")
    assert "far through c only 10.0 s late" in talk.why("c", "a")
    talk.here = 55.0
    assert talk.why("b", "a").startswith("a would end it 5.0 s before its deadline, b 10.0 s before its deadline")
