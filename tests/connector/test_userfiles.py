"""Whose file it is, and whether it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.userfiles import decode_user_file, load_user_file_reader, manager_of_user_file, read_user_file
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "manager"),
    [("#!/bin/sh\nqueue\n", "slurm"), ("#SBATCH -N1\n", "slurm"), ("executable = /x\n  Queue 3\n", "condor")],
)
def test_a_file_tells_its_manager(text: str, manager: str) -> None:
    assert manager_of_user_file(text, "f") == manager
    assert callable(load_user_file_reader(manager))


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(UserError, match="f is neither"):
        manager_of_user_file("echo queue\n", "f")
    with pytest.raises(UserError, match="no connector reads files of 'pbs'"):
        load_user_file_reader("pbs")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfea", "not UTF-8"),
        (b"a\0b", "zero byte"),
        (b"\xef\xbb\xbf#!", "byte order"),
        (b"x" * (5 << 20), "4 MiB"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        decode_user_file(content, "f")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none cannot be read"):
        read_user_file(tmp_path / "none")
