from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.sites import linked_objects, sites

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application

TEXT = """application model { include t; include u;
proc exec init { call t; step cpu { confdev 1; confdev 2; } } }
partmp t { include u; proc exec init { step mpisend { confdev 1, 2, 8; } call u; } }
partmp u { proc exec init { step pvmrecv { confdev 1, 2, 8; } } }"""


def test_every_use_of_a_device_has_a_number(model: Callable[[str], Application]) -> None:
    found = sites(model(TEXT).root)
    assert sorted((place.at.line, place.group) for place in found.all) == [(2, ""), (2, ""), (3, "mpi"), (4, "pvm")]
    assert found.groups == ["mpi", "pvm"]


def test_the_same_application_is_numbered_once(model: Callable[[str], Application]) -> None:
    root = model(TEXT).root
    assert sites(root) is sites(root)


def test_an_object_that_two_include_comes_once(model: Callable[[str], Application]) -> None:
    assert sorted(linked.object.name for linked in linked_objects(model(TEXT).root)) == ["model", "t", "u"]
