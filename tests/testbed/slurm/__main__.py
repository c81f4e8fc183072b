"""Command: a real Slurm cluster for whoever is not a Python program.

python -m tests.testbed.slurm --hosts 16   starts a cluster, prints cosched's settings for it, and stops it when
                                           interrupted or terminated
python -m tests.testbed.slurm --cores 64 --gpus 4   with hosts of 64 cores that jobs share
python -m tests.testbed.slurm --accounting with a slurmdbd (sacct, accounts, QOS, limits)
python -m tests.testbed.slurm --prepare    only downloads and unpacks Slurm and its accounting
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.keeping import keep
from tests.testbed.node_size import WHOLE, add_size_options, chosen_size
from tests.testbed.slurm.accounting import prefix as accounting_prefix
from tests.testbed.slurm.cluster import ClusterError, SlurmCluster
from tests.testbed.slurm.install import SUITE, check_release, prefix
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

PYSLURM = "25.11"  # the Slurm that the package's release on PyPI is for


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.slurm", description="A real Slurm cluster.")
    parser.add_argument("--hosts", type=int, default=16, help="how many hosts (default 16)")
    parser.add_argument(
        "--suite", default=SUITE, choices=("bookworm", "trixie", "forky"), help="Debian's, for its Slurm"
    )
    parser.add_argument("--accounting", action="store_true", help="with a slurmdbd; for the Slurm of bookworm")
    add_size_options(parser)
    parser.add_argument("--prepare", action="store_true", help="only download and unpack Slurm")
    parser.add_argument("--check", type=Path, metavar="PREFIX", help="only see whether pyslurm can be built against it")
    options = parser.parse_args(arguments)
    try:
        if options.check is not None:
            check_release(options.check, PYSLURM)
        elif options.prepare:
            print(prefix(options.suite))
            print(accounting_prefix())
        else:
            node, wanted = chosen_size(options), {"suite": options.suite, "accounting": options.accounting}
            keep("slurm", lambda: SlurmCluster(options.hosts, **wanted, node=node), shared=node != WHOLE)
    except (PackageError, ClusterError) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
