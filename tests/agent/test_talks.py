from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.agent import FiguresOnly, Peer, Role
from cosched.agent.capability import Tables
from cosched.agent.messages import NativeJob
from cosched.agent.papers import Papers
from cosched.agent.service import Estimate, HostClass, Service, Step
from cosched.agent.talks import Candidate, Talk, best, candidates, upper
from tests.agent.makers import DOCUMENT, NOW, UUID, a_service

PEERS = {"b": Peer("b"), "c": Peer("c"), "up": Peer("up", Role.UPPER)}
PAPERS = Papers(UUID, DOCUMENT, 3, ("a",))  # its deadline: 60.0


def tables_with(**services: Service) -> Tables:
    tables = Tables(60.0)
    for via, service in services.items():
        tables.hear(PEERS[via], (service,), "a", NOW)
    return tables


def asked(tables: Tables, *excluded: str) -> list[str]:
    return [one.peer for one in candidates(tables, PEERS, FiguresOnly(), DOCUMENT, excluded, NOW)]


def test_the_most_promising_comes_first_and_the_upper_one_last() -> None:
    tables = tables_with(b=a_service("b", free=30.0), c=a_service("c", free=5.0))
    assert asked(tables) == ["c", "b", "up"]
    assert asked(tables, "c") == ["b", "up"]
    assert asked(tables, "up") == ["c", "b"]


def test_who_would_not_run_it_is_not_asked() -> None:
    classes = (HostClass("fast", (Step(0.0, 4),)),)
    tables = tables_with(
        b=Service("b", 0.0, 0, classes, ("other",)), c=Service("c", 0.0, 0, classes, ("other",), commands=True)
    )
    assert asked(tables) == ["c", "up"]


def test_a_users_own_file_goes_only_to_its_own_kind_of_manager() -> None:
    def service(name: str, manager: str, *, commands: bool = True) -> Service:
        return Service(name, 0.0, 0, (HostClass("fast", (Step(0.0, 4),)),), (), commands, manager)

    tables = tables_with(b=service("b", "slurm", commands=False), c=service("c", "condor"))
    document = replace(DOCUMENT, native=NativeJob("slurm"))
    found = candidates(tables, PEERS, FiguresOnly(), document, (), NOW)
    assert [one.peer for one in found] == ["up"]  # what that takes is not known: it says so
    found = candidates(tables_with(c=service("c", "slurm")), PEERS, FiguresOnly(), document, (), NOW)
    assert [one.peer for one in found] == ["c", "up"]


def test_those_who_promise_nothing_better_are_left_out() -> None:
    found = [
        Candidate("b", "b", Estimate(10.0, 1, 0)),
        Candidate("c", "c", Estimate(50.0, 1, 0)),
        Candidate("up", "up", None),
    ]
    assert [one.peer for one in best(found, 49.9, 3)] == ["b", "up"]
    assert [one.peer for one in best(found, 50.0, 2)] == ["b", "c"]


def test_the_upper_one_is_asked_too_where_nobody_promises_an_end_in_time() -> None:
    late = [Candidate("b", "b", Estimate(10.0, 1, 0))]
    assert [one.peer for one in upper(late, PEERS, (), 9.0)] == ["up"]
    assert upper(late, PEERS, (), 10.0) == []
    assert upper(late, PEERS, ("up",), 9.0) == []
    assert upper([Candidate("up", "up", None)], PEERS, (), 9.0) == []


def a_talk(**offers: float) -> Talk:
    asked = {peer: Candidate(peer, peer, None) for peer in offers}
    return Talk("1", PAPERS, 1, 100.0, 99.0, 0.0, asked, {peer: (end, peer) for peer, end in offers.items()})


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
        talk.papers = Papers(f"{number:08d}{UUID[8:]}", DOCUMENT, 3, ("a",))
        chosen.add(talk.choice(1.0))
    assert chosen == {"b", "c"}


def test_why_is_said_in_one_line() -> None:
    talk = a_talk(b=50.0, c=70.0)
    assert talk.why("b", "a") == "a would end it 40.0 s late, b 10.0 s before its deadline; 2 of 2 asked made offers"
    talk.offers["c"] = (70.0, "far")
    assert "far through c only 10.0 s late" in talk.why("c", "a")
    talk.here = 55.0
    assert talk.why("b", "a").startswith("a would end it 5.0 s before its deadline, b 10.0 s before its deadline")
