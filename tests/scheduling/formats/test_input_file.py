from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import read_file


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert read_file(path, str.upper) == "HELLO"


def test_every_fault_names_the_file(tmp_path: Path) -> None:
    def refuse(text: str) -> str:
        raise UserError(f"not {text}")

    path = tmp_path / "queue"
    path.write_text("this")
    with pytest.raises(UserError, match="queue: not this"):
        read_file(path, refuse)
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="queue: byte 0 is not UTF-8"):
        read_file(path, str)
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        read_file(tmp_path / "none", str)


def test_a_packed_file_is_unpacked_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "queue.gz"
    path.write_bytes(gzip.compress(b"hello"))
    assert read_file(path, str.upper) == "HELLO"
    with pytest.raises(UserError, match=r"queue\.gz: more than 4 bytes"):
        read_file(path, str, most=4)
    path.write_bytes(gzip.compress(b"hello")[:-9])
    with pytest.raises(UserError, match=r"queue\.gz: is no whole gzip file: fetch it again"):
        read_file(path, str)
    path.write_text("hello")
    with pytest.raises(UserError, match=r"queue\.gz: cannot be read: Not a gzipped file"):
        read_file(path, str)


def test_a_file_whose_size_nobody_knows_is_read_up_to_the_limit() -> None:
    """A device says that it is empty; reading all of it ended in a traceback, without memory."""
    with pytest.raises(UserError, match="zero: more than 268435456 bytes are too many"):
        read_file(Path("/dev/zero"), str)
