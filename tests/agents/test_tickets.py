from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.agents import AgentSettings, DomainView, UserFiguresKnowledge
from cosched.agents.tickets import TicketIssuer, describe_task
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.handovers import DocumentParameter, Guest, GuestState, NamedText
from tests.agents.makers import DOCUMENT, INSTANCE, NOW, UUID, a_profile, a_task
from tests.tasks import change_task

GUEST = Guest(UUID, 1, "b", "1", GuestState.HELD, 2, ("z", "b"), DOCUMENT, NOW)


def an_issuer(guest: Guest | None = None, hops: int = 4) -> TicketIssuer:
    domain = DomainView(Coscheduler(CoreSettings(INSTANCE)), "fast")
    return TicketIssuer(AgentSettings("a", INSTANCE, hops=hops), UserFiguresKnowledge(), domain, lambda _task: guest)


def test_our_own_task_gets_a_name_that_is_the_same_in_every_domain() -> None:
    first, again, other = (an_issuer().issue(a_task(number)) for number in (1, 1, 2))
    assert first is not None
    assert other is not None
    assert first == again
    assert first.uuid != other.uuid
    assert (first.hops, first.visited) == (3, ("a",))
    assert first.document_at(NOW + 4.0).deadline == 6.0


def test_a_guest_keeps_its_name_and_remembers_where_it_has_been() -> None:
    ticket = an_issuer(GUEST).issue(a_task(deadline=NOW + 30.0))
    assert ticket is not None
    assert (ticket.uuid, ticket.hops, ticket.visited) == (UUID, 1, ("z", "b", "a"))
    assert ticket.document == replace(DOCUMENT, deadline=NOW + 30.0)


def test_a_task_that_may_not_be_forwarded_gets_no_ticket() -> None:
    assert an_issuer(replace(GUEST, hops=0)).issue(a_task()) is None
    assert an_issuer().issue(a_task(deadline=None)) is None
    assert an_issuer().issue(replace(a_task(), profile=None)) is None


@pytest.mark.parametrize(
    ("seconds", "hosts", "found"),
    [
        ((9.0, 8.0), 2, (1, 0)),  # as many as there are
        ((9.0, 8.0), 4, (1, 2)),
        ((math.inf, 8.0, math.inf), 8, (2, 2)),
    ],
)
def test_a_document_allows_the_host_counts_of_the_profile(
    seconds: tuple[float, ...], hosts: int, found: tuple[int, int]
) -> None:
    document = describe_task(replace(a_task(), profile=a_profile(*seconds)), hosts)
    assert (document.least, document.most) == found


def test_a_document_has_parameters_environment_and_figures() -> None:
    task = a_task(
        owner="ann", parameters={"n": 3, "mode": "x"}, environment={"A": "1"}, prepare=("/p",), directory="/d"
    )
    document = describe_task(task, 1, seconds=(40.0,))
    assert document.parameters == (DocumentParameter("n", "3.0", True), DocumentParameter("mode", "x", False))
    assert document.environment == (NamedText("A", "1"),)
    assert (document.prepare, document.directory, document.owner) == (("/p",), "/d", "ann")
    assert describe_task(change_task(task, deadline=None), 1).deadline == math.inf


def test_a_users_figures_hold_for_their_host_counts() -> None:
    knowledge = UserFiguresKnowledge()
    document = knowledge.document(replace(a_task(), profile=a_profile(math.inf, 5.0)), 2)
    assert document is not None
    assert knowledge.profile(document, "any", 1) is None
    assert knowledge.profile(document, "any", 4) == a_profile(math.inf, 5.0)
    assert knowledge.document(replace(a_task(), profile=None), 2) is None
