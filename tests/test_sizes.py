from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.sizes import format_memory, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4G", 4096),
        ("512M", 512),
        ("1.5g", 1536),
        ("2T", 2 << 20),
        ("100K", 1),
        ("4 GiB", 4096),
        ("2048", 2048),
        (7, 7),
    ],
)
def test_memory_is_read_in_mebibytes(text: str | int, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "4X", "9" * 30, "1e3"])
def test_what_is_no_memory_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="write 4G, 512M"):
        parse_memory(text)


@pytest.mark.parametrize(("size", "text"), [(4096, "4G"), (1536, "1.5G"), (1000, "1000M"), (1025, "1025M")])
def test_memory_is_written_as_people_say_it(size: int, text: str) -> None:
    assert format_memory(size) == text
