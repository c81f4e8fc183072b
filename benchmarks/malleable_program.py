"""The program of `benchmarks.malleable`: iterations of blocks on Dask, each of which occupies its host for a while.

How long a block takes depends on its host: `--world FILE` is read anew for each block and has, for hosts in trouble,
how many times longer they compute and how many seconds each block waits for its data. `--journal FILE` has a line for
each start of a block. Nothing here needs cosched, so that any Python with Dask can run it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from distributed import Client


def block(number: int, seconds: float, world: str, journal: str) -> int:
    """Occupy a host as its state wants it; return the block's number."""
    host = os.environ["COSCHED_HOSTS"]
    with Path(journal).open("a") as lines:
        lines.write(f"{number} {host}\n")
    times, delay = json.loads(Path(world).read_text()).get(host, (1.0, 0.0))
    time.sleep(seconds * times + delay)
    return number


def main() -> None:
    """Do all iterations, one after another, and print the sum of the blocks' numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--world", required=True)
    parser.add_argument("--journal", required=True)
    given = parser.parse_args()
    total = 0
    with Client() as client:
        for iteration in range(given.iterations):
            first = iteration * given.blocks
            numbers = range(first, first + given.blocks)
            blocks = client.map(block, numbers, seconds=given.seconds, world=given.world, journal=given.journal)
            total += sum(client.gather(blocks))
    print(total)


if __name__ == "__main__":
    main()
