"""Downloads and unpacks software that the tests need, whatever the machine has installed.

python -m tests.testbed.software               all of it
python -m tests.testbed.software slapd mpi     some of it
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tests.testbed.software import browser, compiler, mpi, mpi4py, mpi_compiler, pajeng, slapd
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

_SOFTWARE: dict[str, Callable[[], object]] = {
    "browser": browser.prefix,
    "slapd": slapd.prefix,
    "pajeng": pajeng.prefix,
    "mpi": mpi.prefix,
    "mpi_compiler": mpi_compiler.prefix,
    "mpi4py": mpi4py.prefix,
    "compiler": compiler.compiler,
    "fortran": lambda: compiler.compiler("fortran"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.software", description="Software for the tests.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(_SOFTWARE)}; none: all of them")
    names = parser.parse_args(arguments).names or list(_SOFTWARE)
    if unknown := [name for name in names if name not in _SOFTWARE]:
        parser.error(f"no software {unknown[0]!r}: there are {', '.join(_SOFTWARE)}")
    try:
        for name in names:
            print(_SOFTWARE[name](), flush=True)
    except PackageError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
