"""Each promise of docs/security.md names the tests that show it; here, that these exist."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.examples import ROOT

TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|cosched/connector/contract)/[^`…]+)`", TEXT)))
PROMISES = [
    line
    for line in TEXT.split("## What is promised")[1].split("## What is not promised")[0].splitlines()
    if line.startswith("| ") and line != "| promise | test |"
]


@cache
def names_of_tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("named", NAMED)
def test_a_test_that_the_page_names_exists(named: str) -> None:
    path, _, name = named.partition("::")
    assert name.startswith("test_")
    assert name in names_of_tests(path)


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_names_its_test(promise: str) -> None:
    assert "`tests/" in promise.strip("| ").rpartition(" | ")[2]
