"""Commands of cosched as a user types them, in this process, with what they and their programs print."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command", "program_output"]


def command(*words: str) -> str:
    """Run a command of cosched and return what it says.

    Raises:
        SystemFault: it fails.
    """
    said, fault = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(fault):
        code = run(list(words))
    if code:
        raise SystemFault(f"cosched {' '.join(words)}: {fault.getvalue().strip()}")
    return said.getvalue()


@contextmanager
def program_output() -> Iterator[list[str]]:
    """Keep what programs print on standard output meanwhile; yield a list that has their lines afterwards."""
    lines: list[str] = []
    sys.stdout.flush()
    before = os.dup(1)
    try:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as kept:
            os.dup2(kept.fileno(), 1)
            try:
                yield lines
            finally:
                os.dup2(before, 1)
                kept.seek(0)
                lines += kept.read().splitlines()
    finally:
        os.close(before)
