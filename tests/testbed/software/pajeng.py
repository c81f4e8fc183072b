"""Debian's PajeNG, which reads traces, whatever the machine has installed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.testbed.software.debian import library_path, unpacked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["dump", "prefix"]

_RECIPE = "pajeng-1"
_PACKAGES = ("pajeng", "libpaje2", "libfl2")  # beside these it names R, for pictures


def prefix() -> Path:
    """Return the folder that it is unpacked into, the first time from Debian."""
    return unpacked(_RECIPE, _PACKAGES, alone=True)


def dump(trace: Path) -> tuple[str, str]:
    """Return what `pj_dump` prints of a trace, and what it complains of.

    Raises:
        CalledProcessError: it cannot read the trace.
    """
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path(prefix())}
    command = [prefix() / "usr/bin/pj_dump", trace]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=240)
    return done.stdout, done.stderr
