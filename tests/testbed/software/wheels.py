"""Wheels of the package index, installed into a folder of their own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["install_wheel"]


def install_wheel(requirement: str, target: Path, *, programs: bool = False) -> None:
    """Install one wheel without what it depends on.

    Args:
        requirement: its line in a file of requirements, with its hashes.
        target: where its modules go.
        programs: its modules and programs go below this folder instead, as below `/usr`.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirement)
        file.flush()
        words = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        where = "--prefix" if programs else "--target"
        subprocess.run([*words, where, str(target), "--require-hashes", "-r", file.name], check=True)
