from __future__ import annotations

from cosched.agent.capability import Table, Tables
from cosched.agent.service import Estimate, HostClass, Service, Step
from cosched.agent.settings import Peer, Role

FREE = (HostClass("h", (Step(0.0, 4),)),)


def test_what_is_heard_is_known_by_its_source_for_its_lifetime() -> None:
    tables = Tables(60.0)
    tables.hear(Peer("b"), [Service("b", 0.0, 0, FREE)], "a", 100.0)
    tables.hear(Peer("up", Role.UPPER), [Service("up", 0.0, 0, FREE)], "a", 100.0)
    tables.hear(Peer("low", Role.LOWER), [Service("low", 30.0, 0, FREE)], "a", 100.0)
    assert {entry.via: entry.table for entry in tables.entries(110.0)} == {
        "b": Table.LEARNED,
        "up": Table.UPPER,
        "low": Table.LOWER,
    }
    assert [entry.via for entry in tables.entries(140.0)] == ["b", "up"]


def test_nobody_speaks_for_another_as_for_itself() -> None:
    tables = Tables(60.0)
    tables.hear(Peer("b"), [Service("c", 0.0, 0, FREE), Service("a", 0.0, 1, FREE)], "a", 0.0)
    assert tables.entries(0.0) == []


def test_the_nearest_way_counts() -> None:
    tables = Tables(60.0)
    tables.hear(Peer("b"), [Service("c", 0.0, 1, FREE)], "a", 50.0)
    tables.hear(Peer("c"), [Service("c", 20.0, 0, FREE)], "a", 50.0)
    assert [entry.via for entry in tables.entries(50.0)] == ["c"]


def test_a_debit_holds_until_the_next_word() -> None:
    tables = Tables(60.0)
    tables.hear(Peer("b"), [Service("b", 0.0, 0, FREE)], "a", 0.0)
    tables.debit("b", Estimate(30.0, 3, 0))
    assert tables.entries(0.0)[0].service.classes[0].times() == [0.0, 30.0, 30.0, 30.0]
    tables.hear(Peer("b"), [Service("b", 0.0, 0, FREE)], "a", 1.0)
    assert tables.entries(1.0)[0].service.classes[0].times() == [0.0] * 4


def test_who_is_removed_is_forgotten() -> None:
    tables = Tables(60.0)
    tables.hear(Peer("b"), [Service("b", 0.0, 0, FREE)], "a", 0.0)
    tables.forget("b")
    assert tables.entries(0.0) == []
