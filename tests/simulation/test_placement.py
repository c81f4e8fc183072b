from __future__ import annotations

import random

from cosched.simulation.placement import Outlook, Placement, choose

OUTLOOKS = {"A": Outlook(0.5, lambda: 9.0), "B": Outlook(0.2, lambda: 7.0), "C": Outlook(0.9, lambda: 3.0)}


def test_every_rule() -> None:
    draw = random.Random(1)
    found = {rule: choose(rule, "A", OUTLOOKS, draw) for rule in Placement}
    assert found[Placement.HOME] == ["A"]
    assert found[Placement.LEAST_LOADED] == ["B"]
    assert found[Placement.EARLIEST_START] == ["C"]
    assert found[Placement.RACE] == ["A", "B", "C"]
    assert {choose(Placement.RANDOM, "A", OUTLOOKS, draw)[0] for _ in range(50)} == {"A", "B", "C"}
