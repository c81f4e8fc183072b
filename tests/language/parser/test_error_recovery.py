from __future__ import annotations

import pytest

from cosched.language import Source
from cosched.language.parser.parse import salvage_hmcl, salvage_psl


@pytest.mark.parametrize(
    ("text", "procedures", "statements", "lost"),
    [
        ("x = 1; y = = 2; z = 3;", 1, 2, {"y"}),
        ("x = 1; for (i = 0; i < ; i = i + 1) { y = 2; } z = 3;", 1, 2, {"for", "i", "y"}),
        ("x = 1; if (x) { y = ; u = 2; }", 1, 2, {"y"}),
        ("x = 1; step cpu { confdev 1; confdef 2; }", 1, 2, {"confdef"}),
        ("x = 1; y = (2", 1, 1, {"y"}),
        ("x = 1; (* open y = 2;", 1, 1, {"open", "y"}),
        ('x = 1; s = "open; z = 3;', 1, 2, {"s", "open"}),
    ],
)
def test_what_is_read_around_a_fault(text: str, procedures: int, statements: int, lost: set[str]) -> None:
    salvaged = salvage_psl(Source("x.psl", f"application a {{ include b; proc exec init {{ {text}"))
    (item,) = salvaged.nodes
    assert salvaged.faults
    assert [include.name for include in item.includes] == ["b"]
    assert (len(item.procedures), len(item.procedures[0].body)) == (procedures, statements)
    assert item.lost >= lost


def test_every_open_block_is_closed_at_the_end() -> None:
    text = "subtask a { } application b { proc exec init { for (i = 1; i < 2; i = i + 1) { if (x) { y = 1; } z = 2;"
    salvaged = salvage_psl(Source("x.psl", text))
    assert [item.name for item in salvaged.nodes] == ["a", "b"]
    assert [fault.message.partition(":")[0] for fault in salvaged.faults] == ["the file ends too early"]


def test_settings_around_a_fault() -> None:
    salvaged = salvage_hmcl(Source("x.hmcl", "config c { hardware { A = 1; B = ; C = 2; } clc { LFOR = 1"))
    (config,) = salvaged.nodes
    assert [[setting.name for setting in group.settings] for group in config.groups] == [["A", "C"], []]
    assert len(salvaged.faults) == 2
    assert {"B", "LFOR"} <= config.lost


def test_nothing_is_lost_of_a_sound_file() -> None:
    salvaged = salvage_psl(Source("x.psl", "partmp a { proc exec init { } }"))
    assert (salvaged.faults, salvaged.nodes[0].lost) == ((), frozenset())
