"""Command: real HTCondor pools for whoever is not a Python program.

python -m tests.testbed.condor --hosts 16 [--dir DIR]     starts a pool, prints cosched's settings for it, and stops
                                                          it when interrupted or terminated
python -m tests.testbed.condor --cores 64 --gpus 4        with hosts of 64 cores that jobs share
python -m tests.testbed.condor --dir DIR --take node03    takes a host of a running pool off
python -m tests.testbed.condor --dir DIR --give node03    brings it back
python -m tests.testbed.condor --dir DIR --stop           stops a pool and removes its folder
python -m tests.testbed.condor --prepare                  only downloads and unpacks HTCondor
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.condor.install import prefix
from tests.testbed.condor.pool import CondorPool, PoolError
from tests.testbed.keeping import keep
from tests.testbed.node_size import WHOLE, add_size_options, chosen_size
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    options = _options().parse_args(arguments)
    try:
        if options.prepare:
            print(prefix())
        elif options.take or options.give or options.stop:
            _change(options)
        else:
            node = chosen_size(options)
            keep("condor", lambda: CondorPool(options.hosts, options.dir, node=node), shared=node != WHOLE)
    except (PackageError, PoolError) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed.condor", description="A real HTCondor pool.")
    parser.add_argument("--hosts", type=int, default=16, help="how many hosts (default 16)")
    parser.add_argument("--dir", type=Path, help="the pool's folder (default: a new one in the temporary folder)")
    add_size_options(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--take", metavar="HOST", help="take a host of the running pool in --dir off")
    what.add_argument("--give", metavar="HOST", help="bring a host of the running pool in --dir back")
    what.add_argument("--stop", action="store_true", help="stop the pool in --dir")
    what.add_argument("--prepare", action="store_true", help="only download and unpack HTCondor")
    return parser


def _change(options: argparse.Namespace) -> None:
    if options.dir is None:
        raise PoolError("say with --dir which pool")
    pool = CondorPool.at(options.dir)
    if options.take:
        pool.take_host(options.take)
    elif options.give:
        pool.give_host(options.give)
    else:
        pool.stop()


if __name__ == "__main__":
    sys.exit(main())
