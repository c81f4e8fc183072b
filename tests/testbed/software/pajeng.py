"""Debian's PajeNG, which reads traces, whatever the machine has installed.

python -m tests.testbed.software.pajeng --prepare      only downloads and unpacks it
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.testbed.software.debian import PackageError, library_path, unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["dump", "main"]

_RECIPE = "pajeng-1"
_PACKAGES = ("pajeng", "libpaje2", "libfl2")  # beside these it names R, for pictures


def dump(trace: Path) -> tuple[str, str]:
    """Return what `pj_dump` prints of a trace, and what it complains of.

    Raises:
        CalledProcessError: it cannot read the trace.
    """
    prefix = unpacked(_RECIPE, _PACKAGES, alone=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path(prefix)}
    command = [prefix / "usr/bin/pj_dump", trace]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout, done.stderr


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.software.pajeng", description="Debian's PajeNG.")
    parser.add_argument("--prepare", action="store_true", required=True, help="only download and unpack it")
    parser.parse_args(arguments)
    try:
        print(unpacked(_RECIPE, _PACKAGES, alone=True))
    except PackageError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
