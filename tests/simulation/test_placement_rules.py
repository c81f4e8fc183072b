from __future__ import annotations

import random

from cosched.simulation.placement_rules import DomainLoad, PlacementRule, chosen_domains

OUTLOOKS = {"A": DomainLoad(0.5, lambda: 9.0), "B": DomainLoad(0.2, lambda: 7.0), "C": DomainLoad(0.9, lambda: 3.0)}


def test_every_rule() -> None:
    draw = random.Random(1)
    found = {rule: chosen_domains(rule, "A", OUTLOOKS, draw) for rule in PlacementRule}
    assert found[PlacementRule.HOME] == ["A"]
    assert found[PlacementRule.LEAST_LOADED] == ["B"]
    assert found[PlacementRule.EARLIEST_START] == ["C"]
    assert found[PlacementRule.RACE] == ["A", "B", "C"]
    assert {chosen_domains(PlacementRule.RANDOM, "A", OUTLOOKS, draw)[0] for _ in range(50)} == {"A", "B", "C"}
