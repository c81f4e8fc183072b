from __future__ import annotations

import pytest

from cosched.cli.model.arguments import parse_host_counts
from cosched.errors import UserError


@pytest.mark.parametrize(
    ("text", "counts"),
    [("8", [8]), ("1-4", [1, 2, 3, 4]), ("1,2,4", [1, 2, 4]), ("2-3, 1,3", [1, 2, 3]), ("5-5", [5])],
)
def test_lists_and_ranges(text: str, counts: list[int]) -> None:
    assert parse_host_counts(text) == counts


@pytest.mark.parametrize("text", ["", "0", "-1", "3-1", "1-", "a", "1;2", "1-99999", "1-4294967295", "٣"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="hosts"):
        parse_host_counts(text)
