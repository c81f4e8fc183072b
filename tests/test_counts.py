"""Counts have their nouns in the right number."""

from __future__ import annotations

import pytest

from cosched.counts import plural


@pytest.mark.parametrize(("count", "text"), [(0, "0 hosts"), (1, "1 host"), (2, "2 hosts")])
def test_one_alone_has_no_ending(count: int, text: str) -> None:
    assert plural(count, "host") == text
