"""The program of `benchmarks.malleable`: iterations of blocks on Dask, each of which occupies its host for a while.

The blocks of an iteration need its state, which is made on the lead's host and fetched from there or from whoever has
it by then, once for each worker. How long all this takes depends on hosts: `--world FILE` is read anew each time and
has, for hosts in trouble, how many times longer they compute, and how many seconds the state takes over the link
between them and all other hosts. `--journal FILE` has a line for each start of a block. Nothing here needs cosched, so
that any Python with Dask can run it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from distributed import Client

_LEADS_WORKER = 0  # number of the worker on its host


class State:
    """The state that the blocks of an iteration need; it takes as long to arrive as the link wants."""

    def __init__(self, iteration: int, world: str) -> None:
        self.iteration = iteration
        self.world = world

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (self.iteration, self.world, os.environ["COSCHED_HOSTS"])


def _arrive(iteration: int, world: str, sender: str) -> State:
    there = json.loads(Path(world).read_text())
    delays = [there.get(host, (1.0, 0.0))[1] for host in (sender, os.environ["COSCHED_HOSTS"])]
    if min(delays) == 0.0:  # else both are at the same end of the link
        time.sleep(max(delays))
    return State(iteration, world)


def block(_state: State, number: int, seconds: float, world: str, journal: str) -> int:
    """Occupy a host as long as it computes; return the block's number."""
    host = os.environ["COSCHED_HOSTS"]
    with Path(journal).open("a") as lines:
        lines.write(f"{number} {host}\n")
    times, _ = json.loads(Path(world).read_text()).get(host, (1.0, 0.0))
    time.sleep(seconds * times)
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
    how = {"seconds": given.seconds, "world": given.world, "journal": given.journal}
    total = 0
    with Client() as client:
        while _LEADS_WORKER not in {each["name"] for each in client.scheduler_info(n_workers=-1)["workers"].values()}:
            time.sleep(0.05)  # Dask fails what is asked of a worker that it does not know yet
        for iteration in range(given.iterations):
            first = iteration * given.blocks
            numbers = range(first, first + given.blocks)
            state = client.submit(State, iteration, given.world, workers=[_LEADS_WORKER])
            blocks = client.map(block, [state] * given.blocks, numbers, **how)
            total += sum(client.gather(blocks))
    print(total)


if __name__ == "__main__":
    main()
