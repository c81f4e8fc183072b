"""One process works on a spool."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError
from cosched.connector.spool_lock import SpoolLock

if TYPE_CHECKING:
    from pathlib import Path

_HOLDER = """
import sys
from pathlib import Path
from cosched.connector.spool_lock import SpoolLock
SpoolLock(Path(sys.argv[1]), Path(sys.argv[1]) / "lock").take()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_spool_is_kept_from_others_until_its_process_has_ended(tmp_path: Path) -> None:
    lock = SpoolLock(tmp_path, tmp_path / "lock")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ConnectorError, match=f"the spool {tmp_path} is in use by another cosched: stop") as refusal:
            lock.take()
        assert refusal.value.transient
        holder.kill()
    lock.take()
    lock.take()
    assert lock.is_held
    lock.release()
    assert not lock.is_held


def test_a_lock_that_cannot_be_made_is_an_error_of_the_file_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SpoolLock(tmp_path, tmp_path / "none" / "lock").take()


def test_a_file_system_without_locks_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", no_locks)
    lock = SpoolLock(tmp_path, tmp_path / "lock")
    lock.take()
    assert lock.is_held
    lock.release()
