"""Mailboxes of attempts in folders that cosched and the hosts both reach, see `cosched.connector.interface.Mail`."""

from __future__ import annotations

import contextlib
import os
from itertools import islice
from typing import TYPE_CHECKING

from cosched.connector.interface import ConnectorError
from cosched.connector.launches import check_attempt
from cosched.connector.spool import read_job_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cosched.connector.spool import AttemptFolders

__all__ = ["ANSWERS", "Mailboxes", "make_in_spool", "make_mailbox"]

ANSWERS = "answers"
_LARGEST = 64 * 1024
_MOST = 20  # answers that are read at once: other leads wait meanwhile
_MOST_NAMES = 10_000  # that are looked at
_NO_WRITING = 0o7755


def make_mailbox(box: Path, mode: int = 0o700, owner: tuple[int, int] | None = None) -> None:
    """Make an empty mailbox where there is none.

    Args:
        box: its folder, to be made in one that nobody but cosched, or the job, may change.
        mode: of the folder of answers, in which the job writes.
        owner: numbers of the job's user and group, where these are not cosched's own.

    Raises:
        OSError: it cannot be made.
    """
    answers = box / ANSWERS
    for folder, open_to in ((box, 0o711 if owner else mode & _NO_WRITING), (answers, mode)):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(open_to)
    if owner is not None:
        os.chown(answers, *owner, follow_symlinks=False)


def make_in_spool(attempts: AttemptFolders, attempt: str, owner: tuple[int, int] | None = None) -> None:
    """Make an attempt's mailbox in a spool that all hosts reach.

    Raises:
        ConnectorError: another user has put something in the place of all mailboxes.
        OSError: it cannot be made.
    """
    attempts.check_mailboxes()
    make_mailbox(attempts.mailbox(attempt), attempts.mode(), owner)


class Mailboxes:
    """The mailboxes of a connector's attempts.

    Args:
        place: returns the folder of an attempt's mailbox.
        faults: turns errors of the file system into errors of the connector.
    """

    def __init__(self, place: Callable[[str], Path], faults: Callable[[], AbstractContextManager[None]]) -> None:
        self._place = place
        self._faults = faults

    def put(self, attempt: str, name: str, text: str) -> None:
        """Write a file into a mailbox, whole or not at all, for the job's user to read.

        Raises:
            ConnectorError: there is no mailbox, or it cannot be written.
        """
        check_attempt(attempt)
        box = self._place(attempt)
        with self._faults():
            if not (box / ANSWERS).is_dir():
                raise ConnectorError(f"attempt {attempt} has no mailbox yet", transient=True)
            aside = box / f".{name}.new"
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            with os.fdopen(os.open(aside, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), 0o600 | box.stat().st_mode & 0o044)
                reader = (box / ANSWERS).lstat()
                if os.geteuid() == 0 and reader.st_uid != 0:  # it is another's, who is to read this alone
                    os.fchown(file.fileno(), reader.st_uid, reader.st_gid)
            aside.rename(box / name)

    def answers(self, attempt: str) -> dict[str, str]:
        """Return the answers in a mailbox by their names, in order; empty texts for what cannot be one.

        Raises:
            ConnectorError: they cannot be read.
        """
        check_attempt(attempt)
        folder = self._place(attempt) / ANSWERS
        with self._faults():
            try:
                with os.scandir(folder) as files:
                    names = sorted(file.name for file in islice(files, _MOST_NAMES) if file.name.endswith(".json"))
            except FileNotFoundError:
                return {}
            return {name: _answer(folder / name) for name in names[:_MOST]}

    def drop_answers(self, attempt: str, names: Sequence[str]) -> None:
        """Delete answers."""
        check_attempt(attempt)
        for name in names:
            with contextlib.suppress(OSError):  # the job may put anything there, and take it away
                (self._place(attempt) / ANSWERS / name).unlink()


def _answer(file: Path) -> str:
    try:
        return read_job_file(file, _LARGEST) or ""
    except PermissionError:  # where jobs are others', one can close what it puts here
        return ""
