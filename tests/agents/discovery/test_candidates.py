from __future__ import annotations

import math
import time
from dataclasses import replace

from cosched.agents import Peer, PeerRole, UserFiguresKnowledge
from cosched.agents.discovery.candidates import Candidate, CandidateFinder, most_promising
from cosched.agents.discovery.capability_tables import CapabilityTables
from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import (
    AdvertisedHostClass,
    AdvertisedService,
    AvailabilityStep,
    EndEstimate,
    shared_class,
)
from cosched.connector.hosts import HostShare
from cosched.coscheduler.handovers import NativeJob
from tests.agents.makers import DOCUMENT, NOW, a_service

PEERS = {"b": Peer("b"), "c": Peer("c"), "up": Peer("up", PeerRole.UPPER)}


def tables_with(**services: AdvertisedService) -> CapabilityTables:
    tables = CapabilityTables(60.0)
    for via, service in services.items():
        tables.update(PEERS[via], (service,), "a", NOW)
    return tables


def finder(tables: CapabilityTables) -> CandidateFinder:
    return CandidateFinder(tables, UserFiguresKnowledge(), lambda: PEERS)


def asked(tables: CapabilityTables, *excluded: str) -> list[str]:
    return [one.peer for one in finder(tables).candidates(DOCUMENT, excluded, NOW)]


def test_the_most_promising_comes_first_and_the_upper_agent_last() -> None:
    tables = tables_with(b=a_service("b", free=30.0), c=a_service("c", free=5.0))
    assert asked(tables) == ["c", "b", "up"]
    assert asked(tables, "c") == ["b", "up"]
    assert asked(tables, "up") == ["c", "b"]


def test_a_domain_that_does_not_accept_the_application_is_no_candidate() -> None:
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
    found = finder(tables).candidates(document, (), NOW)
    assert [one.peer for one in found] == ["up"]  # what that takes is not known: it says so
    found = finder(tables_with(c=service("c", "slurm"))).candidates(document, (), NOW)
    assert [one.peer for one in found] == ["c", "up"]


def test_candidates_that_promise_nothing_better_are_left_out() -> None:
    found = [
        Candidate("b", "b", EndEstimate(10.0, 1, 0)),
        Candidate("c", "c", EndEstimate(50.0, 1, 0)),
        Candidate("up", "up", None),
    ]
    assert [one.peer for one in most_promising(found, 49.9, 3)] == ["b", "up"]
    assert [one.peer for one in most_promising(found, 50.0, 2)] == ["b", "c"]


def test_a_neighbour_that_advertises_as_much_as_a_letter_holds_keeps_the_core_from_nothing() -> None:
    """It took 21 s on the core's thread for each task that was offered around."""
    classes = tuple(AdvertisedHostClass(f"h{each}", (AvailabilityStep(0.0, 65536),)) for each in range(64))
    services = [AdvertisedService("b", 0.0, 0, classes)]
    services += [AdvertisedService(f"d{each}", 0.0, 1, classes) for each in range(800)]
    tables, document = CapabilityTables(60.0), replace(DOCUMENT, seconds=(10.0,) * 16, model=None)
    tables.update(PEERS["b"], services, "a", NOW)
    began = time.process_time()
    found = finder(tables).candidates(document, (), NOW)
    assert time.process_time() - began < 2.0
    assert [(one.peer, one.end) for one in found] == [("b", 10.0), ("up", math.inf)]


def test_the_upper_agent_is_a_candidate_unless_excluded() -> None:
    found = finder(CapabilityTables(60.0))
    assert [one.peer for one in found.upper_agents(())] == ["up"]
    assert found.upper_agents(("up",)) == []


def test_a_neighbour_with_half_free_hosts_is_not_taken_for_full() -> None:
    """Advertisements told of wholly free hosts alone: a node of 64 cores was full until its 4-core task ended."""
    size = HostShare(64_000, 64, 4)
    rooms = advertised_rooms([[(0.0, HostShare(60_000, 60, 4)), (5000.0, size)]] * 4)
    tables = tables_with(
        b=a_service("b", free=30.0), c=AdvertisedService("c", 0.0, 0, (shared_class("fast", rooms, 1000),))
    )
    assert asked(tables) == ["c", "b", "up"]
    found = finder(tables).candidates(replace(DOCUMENT, exclusive=True), (), NOW)
    assert [one.peer for one in found] == ["b", "c", "up"]
