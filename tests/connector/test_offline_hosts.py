"""A file of its name takes a host off, whatever is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.spool import offline_hosts

if TYPE_CHECKING:
    from pathlib import Path


def test_a_marker_says_why(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("new memory\nand more\n")
    (tmp_path / "b").touch()
    (tmp_path / "c").mkdir()
    off = offline_hosts(tmp_path)
    assert set(off) == {"a", "b", "c"}
    assert off["a"] == "new memory"
    assert off["b"] == f"taken off: remove {tmp_path / 'b'} to give it back"
    assert str(tmp_path / "c") in off["c"]


def test_a_folder_that_cannot_be_read_is_no_sign_that_all_hosts_are_up(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        offline_hosts(tmp_path / "absent")
