"""Folders of attempts: as open as their spool, made once, fenced for good."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosched.connector import ConnectorError, Output
from cosched.connector.spool import (
    AttemptFolders,
    offline_hosts,
    output_part,
    read_job_file,
    read_output,
    spool_faults,
)
from cosched.connector.spool_pruning import prune_spool

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = (str(uuid.UUID(int=number)) for number in (1, 2))


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o2770, 0o1777])
def test_folders_and_scripts_are_as_open_as_the_spool(tmp_path: Path, mode: int) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(mode)
    folders = AttemptFolders(spool)
    assert folders.create("a")
    script = folders.write("a", "run.sh", "text")
    assert stat.S_IMODE(folders.folder("a").stat().st_mode) == mode
    assert stat.S_IMODE(script.stat().st_mode) == mode & 0o755


@pytest.mark.parametrize(("mode", "open_to_all"), [(0o700, False), (0o3770, False), (0o777, True), (0o1777, True)])
def test_a_spool_that_everybody_has_rights_in_is_remarked_on(tmp_path: Path, mode: int, *, open_to_all: bool) -> None:
    folders = AttemptFolders(tmp_path)
    tmp_path.chmod(mode)
    assert [f"(mode {mode:o})" in remark for remark in folders.remarks()] == [True] * open_to_all


def test_a_full_spool_is_one_fault_whichever_file_finds_no_room(tmp_path: Path) -> None:
    """A line stood in the log every five seconds: each try to fence an attempt has a file of another name."""

    def said(number: int, file: str) -> str:
        with pytest.raises(ConnectorError) as caught, spool_faults("slurm", tmp_path):
            raise OSError(number, os.strerror(number), str(tmp_path / file))
        return str(caught.value)

    assert said(errno.ENOSPC, "a") == said(errno.ENOSPC, "b")
    assert f"No space left on device: {tmp_path}: make room" in said(errno.ENOSPC, "a")
    assert said(errno.EDQUOT, "a") == said(errno.EDQUOT, "b")
    assert f"{tmp_path / 'a'}" in said(errno.EACCES, "a")


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


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o2770, 0o3770, 0o1777])
def test_fences_are_found_by_whom_the_spool_lets_in_and_made_by_nobody_else(tmp_path: Path, mode: int) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(mode)
    AttemptFolders(spool).create("a")
    assert stat.S_IMODE((spool / "fences").stat().st_mode) == mode & 0o711


def test_a_job_that_writes_a_mark_into_its_folder_fences_nothing(tmp_path: Path) -> None:
    folders = AttemptFolders(tmp_path / "spool")
    folders.create(FIRST)
    (folders.folder(FIRST) / "cancelled").touch()
    assert not folders.fenced(FIRST)
    folders.refuse_fenced(FIRST)


def test_an_attempt_of_a_former_version_is_fenced_where_its_script_looks(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    (spool / FIRST).mkdir(parents=True)
    (spool / SECOND).mkdir()
    (spool / SECOND / "cancelled").touch()
    assert AttemptFolders(spool).fenced(SECOND)  # before this version has written anything
    folders = AttemptFolders(spool)
    folders.fence(FIRST)
    assert (spool / FIRST / "cancelled").exists()
    assert (folders.fenced(FIRST), folders.fenced(SECOND)) == (True, True)
    assert AttemptFolders(spool).fenced(SECOND)


def test_a_pipe_in_place_of_a_former_fence_holds_no_cancel_up(tmp_path: Path) -> None:
    folders = AttemptFolders(tmp_path / "spool")
    folders.folder(FIRST).mkdir(parents=True)
    os.mkfifo(folders.folder(FIRST) / "cancelled")
    folders.fence(FIRST)
    assert folders.fenced(FIRST)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_another_user_puts_in_place_of_the_fences_is_not_believed(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    (spool / "fences").mkdir(parents=True)
    for name in (FIRST, "former"):
        (spool / "fences" / name).touch()
        os.chown(spool / "fences" / name, 65534, 65534)
    os.chown(spool / "fences", 65534, 65534)
    folders = AttemptFolders(spool)
    assert not folders.fenced(FIRST)
    with pytest.raises(ConnectorError, match="fences belongs to another user: remove it"):
        folders.create(FIRST)


def test_a_fence_goes_with_the_folder_of_its_attempt(tmp_path: Path) -> None:
    folders = AttemptFolders(tmp_path)
    for attempt in (FIRST, SECOND):
        folders.fence(attempt)
        for path in (folders.folder(attempt), folders.fence_file(attempt)):
            os.utime(path, (1000.0, 1000.0))
    assert prune_spool(tmp_path, 2000.0, {SECOND}) == 1
    assert not folders.fence_file(FIRST).exists()
    assert folders.fenced(SECOND)


def test_a_file_of_a_jobs_is_read_only_where_it_is_plain_and_small(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text\n")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("x" * 4097)
    found = {name: read_job_file(tmp_path / name) for name in ("plain", "link", "pipe", "large", "missing")}
    assert found == {"plain": "text\n", "link": None, "pipe": None, "large": None, "missing": None}


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=20), st.integers(-25, 25), st.integers(1, 25))
def test_parts_are_slices(tmp_path: Path, content: bytes, offset: int, limit: int) -> None:
    file = tmp_path / "out.0"
    file.write_bytes(content)
    first = min(offset, len(content)) if offset >= 0 else max(len(content) + offset, 0)
    part = Output(content[first : first + limit], first, len(content))
    assert read_output(file, offset, limit) == output_part(content, offset, limit) == part


def test_a_link_a_pipe_or_nothing_is_not_read(tmp_path: Path) -> None:
    """A job may put anything in the place of its output: it must not make cosched read what its user may not."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "soft").symlink_to(tmp_path / "secret")
    (tmp_path / "hard").hardlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("soft", "hard", "pipe", "absent"):
        assert read_output(tmp_path / name, 0, 10) is None
