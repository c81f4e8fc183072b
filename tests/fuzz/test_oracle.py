"""A short run of what `python -m tests.fuzz.models` does at length."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.language import default_library
from tests.fuzz.oracle import Oracle

if TYPE_CHECKING:
    from pathlib import Path


@cache
def oracle() -> Oracle:
    """Return this process's own: workers are forked from one that has read all tests, and would share its folder."""
    return Oracle()


FILES = sorted(path for root in default_library() for path in root.rglob("*.*"))
STATEMENTS = sorted(
    {piece.strip() for path in FILES for piece in re.findall(r"[^\n;]*[;{}]", path.read_text(encoding="utf-8"))}
)


def test_outcomes() -> None:
    assert oracle().examine(b"\xff\xfea", ".psl") == "refused"
    assert oracle().examine(b"application a {", ".psl") == "faulty"
    assert oracle().examine(b"partmp a { proc exec init { } }", ".psl") == "sound"
    assert oracle().examine(b"application a { include t; proc exec init { call t; } }", ".psl") == "evaluated"
    assert oracle().examine(b"config c { clc { LFOR = 1; } }", ".hmcl") == "evaluated"


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_any_bytes(content: bytes) -> None:
    for suffix in (".psl", ".hmcl"):
        oracle().examine(content, suffix)


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12).map("\n".join))
def test_statements_in_any_order(text: str) -> None:
    for suffix in (".psl", ".hmcl"):
        oracle().examine(f"application a {{ {text}".encode(), suffix)


@given(st.data())
def test_damaged_models(data: st.DataObject) -> None:
    path: Path = data.draw(st.sampled_from(FILES))
    text = path.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 200)))
    put = data.draw(st.one_of(st.sampled_from([*STATEMENTS, "", "(*", '"', "}", "{", "1 2"]), st.text(max_size=5)))
    oracle().examine((text[:start] + put + text[end:]).encode("utf-8", "surrogatepass"), path.suffix)


# Deeper and longer than Python recurses (1,000); the language's own bounds are lower.
@pytest.mark.parametrize(
    "text",
    [
        "{" * 20_000,
        "application a { proc exec init { x = " + "(" * 20_000,
        "application a { proc exec init { " + "if (1) " * 1_200 + "x = 1; } }",
        "application a { proc exec init { x = 1" + "+1" * 1_200 + "; } }",
        "".join(f"partmp o{i} {{ include o{i + 1}; }}" for i in range(1_200)),
        "application a { " + "".join(f"proc cflow c{i} {{ call c{i + 1}; }}" for i in range(1_200)) + "}",
        "application a { proc exec init { " + "".join(f"v{i} = 1;" for i in range(1_200)) + "} }",
        "config a { hardware { b = " + "2^" * 1_200 + "2; } }",
        "config a { hardware { b = 2, c = " + "*".join(["b"] * 90) + "; } }",
        "(*" * 10_000,
        "application a { var numeric: x = 1e" + "9" * 10_000 + "; proc exec init { } }",
        "application " + "a" * 50_000 + " { proc exec init { b = 1; } }",
    ],
    ids=lambda text: text[:40],
)
def test_texts_made_to_exhaust(text: str) -> None:
    oracle().examine(text.encode(), ".hmcl" if text.startswith("config") else ".psl")
