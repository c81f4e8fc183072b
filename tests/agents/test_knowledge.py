from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.agents.protocol.messages import DocumentParameter, NamedText
from cosched.agents.tickets import UserFiguresKnowledge, describe_task, host_range
from tests.agents.makers import a_profile, a_task


@pytest.mark.parametrize(
    ("seconds", "hosts", "found"),
    [
        ((9.0, 8.0), 2, (1, 0)),  # as many as there are
        ((9.0, 8.0), 4, (1, 2)),
        ((math.inf, 8.0, math.inf), 8, (2, 2)),
    ],
)
def test_the_range_of_hosts_is_what_the_profile_allows(
    seconds: tuple[float, ...], hosts: int, found: tuple[int, int]
) -> None:
    assert host_range(replace(a_task(), profile=a_profile(*seconds)), hosts) == found


def test_a_document_has_all_that_another_domain_needs() -> None:
    task = a_task(
        owner="ann", parameters={"n": 3, "mode": "x"}, environment={"A": "1"}, prepare=("/p",), directory="/d"
    )
    document = describe_task(task, 1, seconds=(40.0,))
    assert document.parameters == (DocumentParameter("n", "3.0", True), DocumentParameter("mode", "x", False))
    assert document.environment == (NamedText("A", "1"),)
    assert (document.prepare, document.directory, document.owner) == (("/p",), "/d", "ann")
    assert describe_task(replace(task, deadline=None), 1).deadline == math.inf


def test_figures_hold_as_far_as_they_go() -> None:
    knowledge = UserFiguresKnowledge()
    document = knowledge.document(replace(a_task(), profile=a_profile(math.inf, 5.0)), 2)
    assert document is not None
    assert knowledge.profile(document, "any", 1) is None
    assert knowledge.profile(document, "any", 4) == a_profile(math.inf, 5.0)
    assert knowledge.document(replace(a_task(), profile=None), 2) is None
