from __future__ import annotations

from dataclasses import dataclass

from cosched.shared_values import shared_values


@dataclass
class Asked:
    name: str
    hosts: int
    note: str = ""


@dataclass
class Kept:
    hosts: int
    name: str
    started: float = 0.0


def test_fields_that_both_kinds_have_are_handed_on() -> None:
    assert shared_values(Asked("t", 4, "mine"), Kept) == {"name": "t", "hosts": 4}
    assert Kept(**shared_values(Asked("t", 4), Kept)) == Kept(4, "t")
