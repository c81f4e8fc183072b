from __future__ import annotations

from cosched.agents.agent_settings import Peer, PeerRole
from cosched.agents.discovery.capability_tables import CapabilityTables, TableKind
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep, EndEstimate

FREE = (AdvertisedHostClass("h", (AvailabilityStep(0.0, 4),)),)


def test_what_is_heard_is_known_by_its_source_for_its_lifetime() -> None:
    tables = CapabilityTables(60.0)
    tables.update(Peer("b"), [AdvertisedService("b", 0.0, 0, FREE)], "a", 100.0)
    tables.update(Peer("up", PeerRole.UPPER), [AdvertisedService("up", 0.0, 0, FREE)], "a", 100.0)
    tables.update(Peer("low", PeerRole.LOWER), [AdvertisedService("low", 30.0, 0, FREE)], "a", 100.0)
    assert {entry.via: entry.table for entry in tables.entries(110.0)} == {
        "b": TableKind.LEARNED,
        "up": TableKind.UPPER,
        "low": TableKind.LOWER,
    }
    assert [entry.via for entry in tables.entries(140.0)] == ["b", "up"]


def test_nobody_speaks_for_another_as_for_itself() -> None:
    tables = CapabilityTables(60.0)
    tables.update(Peer("b"), [AdvertisedService("c", 0.0, 0, FREE), AdvertisedService("a", 0.0, 1, FREE)], "a", 0.0)
    assert tables.entries(0.0) == []


def test_the_nearest_way_counts() -> None:
    tables = CapabilityTables(60.0)
    tables.update(Peer("b"), [AdvertisedService("c", 0.0, 1, FREE)], "a", 50.0)
    tables.update(Peer("c"), [AdvertisedService("c", 20.0, 0, FREE)], "a", 50.0)
    assert [entry.via for entry in tables.entries(50.0)] == ["c"]


def test_a_debit_holds_until_the_next_word() -> None:
    tables = CapabilityTables(60.0)
    tables.update(Peer("b"), [AdvertisedService("b", 0.0, 0, FREE)], "a", 0.0)
    tables.debit("b", EndEstimate(30.0, 3, 0))
    assert tables.entries(0.0)[0].service.classes[0].times() == [0.0, 30.0, 30.0, 30.0]
    tables.update(Peer("b"), [AdvertisedService("b", 0.0, 0, FREE)], "a", 1.0)
    assert tables.entries(1.0)[0].service.classes[0].times() == [0.0] * 4


def test_of_very_many_services_the_neighbours_own_and_the_next_are_kept() -> None:
    tables = CapabilityTables(60.0)
    others = [AdvertisedService(f"d{each}", 0.0, 1, FREE * 64) for each in range(100)]
    tables.update(Peer("b"), [AdvertisedService("b", 0.0, 0, FREE), *others], "a", 0.0)
    assert {entry.service.domain for entry in tables.entries(0.0)} == {"b", *(f"d{each}" for each in range(63))}


def test_who_is_removed_is_forgotten() -> None:
    tables = CapabilityTables(60.0)
    tables.update(Peer("b"), [AdvertisedService("b", 0.0, 0, FREE)], "a", 0.0)
    tables.forget("b")
    assert tables.entries(0.0) == []
