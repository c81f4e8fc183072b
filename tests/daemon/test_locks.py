"""Two daemons never have one state folder or one database, by whatever path it is named."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from cosched.daemon.locks import DaemonLocks
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from pathlib import Path


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def test_a_state_folder_has_one_daemon(tmp_path: Path) -> None:
    first = DaemonLocks(tmp_path / "state", url(tmp_path / "one.db"))
    with pytest.raises(SystemFault, match=r"another cosched runs with .*state: stop it, or set another"):
        DaemonLocks(tmp_path / "state", url(tmp_path / "two.db"))
    first.release()
    DaemonLocks(tmp_path / "state", url(tmp_path / "one.db")).release()


def test_a_database_has_one_daemon_whatever_state_folders_there_are(tmp_path: Path) -> None:
    (tmp_path / "alias.db").symlink_to(tmp_path / "one.db")
    first = DaemonLocks(tmp_path / "a", url(tmp_path / "one.db"))
    for name in ("one.db", "alias.db"):
        with pytest.raises(SystemFault, match=r"another cosched runs with the database .*: stop it, or name another"):
            DaemonLocks(tmp_path / "b", url(tmp_path / name))
    first.release()
    # Who was refused has left nothing locked.
    DaemonLocks(tmp_path / "b", url(tmp_path / "alias.db")).release()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemFault, match=r"file/state cannot be used"):
        DaemonLocks(tmp_path / "file" / "state", url(tmp_path / "one.db"))


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_state_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)
    with pytest.raises(SystemFault, match="chmod go-w"):
        DaemonLocks(state, url(tmp_path / "one.db"))


def test_a_new_state_folder_is_its_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        DaemonLocks(tmp_path / "state", url(tmp_path / "state" / "one.db")).release()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_a_url_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="SQLite file"):
        DaemonLocks(tmp_path / "state", "no url")
