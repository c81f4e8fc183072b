from __future__ import annotations

from dataclasses import replace

from cosched.agents import AgentSettings, DomainView, UserFiguresKnowledge
from cosched.agents.records import Guest, GuestState
from cosched.agents.tickets import TicketIssuer
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from tests.agents.makers import DOCUMENT, INSTANCE, NOW, UUID, a_task

GUEST = Guest(UUID, 1, "b", "1", GuestState.HELD, 2, ("z", "b"), DOCUMENT, NOW)


def a_registry(guest: Guest | None = None, hops: int = 4) -> TicketIssuer:
    domain = DomainView(Coscheduler(CoreSettings(INSTANCE)), "fast")
    return TicketIssuer(AgentSettings("a", INSTANCE, hops=hops), UserFiguresKnowledge(), domain, lambda _task: guest)


def test_our_own_task_gets_a_name_for_everywhere() -> None:
    first, again, other = (a_registry().papers(a_task(number)) for number in (1, 1, 2))
    assert first is not None
    assert other is not None
    assert first == again
    assert first.uuid != other.uuid
    assert (first.hops, first.visited) == (3, ("a",))
    assert first.sent(NOW + 4.0).deadline == 6.0


def test_a_guest_keeps_its_name_and_remembers_where_it_has_been() -> None:
    papers = a_registry(GUEST).papers(a_task(deadline=NOW + 30.0))
    assert papers is not None
    assert (papers.uuid, papers.hops, papers.visited) == (UUID, 1, ("z", "b", "a"))
    assert papers.document == replace(DOCUMENT, deadline=NOW + 30.0)


def test_what_may_not_go_on_gets_none() -> None:
    assert a_registry(replace(GUEST, hops=0)).papers(a_task()) is None
    assert a_registry().papers(a_task(deadline=None)) is None
    assert a_registry().papers(replace(a_task(), profile=None)) is None
