"""Mailboxes of attempts: small files between cosched and a job, see `cosched.connector.interface.CarriesMail`."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError
from cosched.connector.spool import read_job_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["ANSWERS", "MAILBOX", "drop_answers", "put_mail", "read_answers"]

MAILBOX = "mailbox"
ANSWERS = "answers"
_LARGEST = 64 * 1024
_MOST = 200  # answers that are read at once


def put_mail(folder: Path, name: str, text: str) -> None:
    """Write a file into the mailbox of an attempt, whole or not at all.

    Raises:
        ConnectorError: there is no mailbox.
        OSError: it cannot be written.
    """
    box = folder / MAILBOX
    if not box.is_dir():
        raise ConnectorError(f"attempt {folder.name} has no mailbox yet", transient=True)
    aside = box / f".{name}.new"
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    aside.rename(box / name)


def read_answers(folder: Path) -> dict[str, str]:
    """Return the answers in a mailbox by their names, in order; empty texts for what cannot be one."""
    box = folder / MAILBOX / ANSWERS
    try:
        names = sorted(file.name for file in box.iterdir() if file.name.endswith(".json"))
    except FileNotFoundError:
        return {}
    return {name: read_job_file(box / name, _LARGEST) or "" for name in names[:_MOST]}


def drop_answers(folder: Path, names: Sequence[str]) -> None:
    """Delete answers."""
    for name in names:
        with contextlib.suppress(OSError):  # the job may put anything there, and take it away
            (folder / MAILBOX / ANSWERS / name).unlink()
