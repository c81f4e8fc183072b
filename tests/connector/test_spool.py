"""Folders of attempts: as open as their spool, made once, fenced for good."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from cosched.connector.spool import AttemptFolders, read_job_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o1777])
def test_folders_and_scripts_are_as_open_as_the_spool(tmp_path: Path, mode: int) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(mode)
    folders = AttemptFolders(spool)
    assert folders.create("a")
    script = folders.write("a", "run.sh", "text")
    assert stat.S_IMODE(folders.folder("a").stat().st_mode) == mode
    assert stat.S_IMODE(script.stat().st_mode) == mode & 0o755


def test_an_attempt_has_one_folder_and_a_fence_stays(tmp_path: Path) -> None:
    folders = AttemptFolders(tmp_path / "spool")
    assert not folders.known("a")
    folders.fence("a")
    folders.fence("a")
    assert folders.fenced("a")
    assert folders.known("a")
    assert not folders.create("a")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Where attempts' folders are their owners', what these put there must lead nowhere."""
    folders = AttemptFolders(tmp_path / "spool")
    folders.create("a")
    for name in ("cancelled", "run.sh"):
        (folders.folder("a") / name).symlink_to(tmp_path / "elsewhere")
    folders.fence("a")
    assert folders.write("a", "run.sh", "text").read_text() == "text"
    assert not (folders.folder("a") / "run.sh").is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_in_place_of_the_fence_holds_no_cancel_up(tmp_path: Path) -> None:
    folders = AttemptFolders(tmp_path / "spool")
    folders.create("a")
    os.mkfifo(folders.folder("a") / "cancelled")
    folders.fence("a")
    assert folders.fenced("a")


def test_a_file_of_a_jobs_is_read_only_where_it_is_plain_and_small(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text\n")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("x" * 4097)
    found = {name: read_job_file(tmp_path / name) for name in ("plain", "link", "pipe", "large", "missing")}
    assert found == {"plain": "text\n", "link": None, "pipe": None, "large": None, "missing": None}
