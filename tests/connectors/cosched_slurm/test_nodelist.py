"""Slurm's lists of nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_slurm.jobs import node_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node01", ("node01",)),
        ("node[01-03,07],login", ("node01", "node02", "node03", "node07", "login")),
        ("r[1-2]n[09-10]", ("r1n09", "r1n10", "r2n09", "r2n10")),
        ("node[9-11]", ("node9", "node10", "node11")),
        ("", ()),
        ("(null)", ()),
        ("n[0-999999999]", ()),
        ("n[1-9][1-9][1-9][1-9][1-9][1-9]", ()),
    ],
)
def test_lists_are_written_out(text: str, names: tuple[str, ...]) -> None:
    assert node_names(text) == names


@given(st.text(st.sampled_from("n01-9,[]() "), max_size=30))
def test_any_text_ends(text: str) -> None:
    assert len(node_names(text)) <= 100_000
