"""Count the primes below a number on Dask: `cosched task submit --dask primes.py --hosts 2-12 … -- 4000000`.

The numbers are divided into blocks, and each block is sieved by itself. `--seconds` makes each of them occupy its host
for so long, whatever it computes, so that one machine can stand for many; `--journal FILE` has a line for each start.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from distributed import Client, as_completed


def primes_between(low, high, seconds=0.0, journal=None):
    """Return how many primes there are from `low` to `high` - 1."""
    begun = time.monotonic()
    if journal:
        with Path(journal).open("a") as lines:
            lines.write(f"{low}\n")
    is_prime = np.ones(high - low, dtype=bool)
    is_prime[: max(2 - low, 0)] = False
    for number in range(2, int(high**0.5) + 1):
        is_prime[max(number * number, -(-low // number) * number) - low :: number] = False
    time.sleep(max(seconds - (time.monotonic() - begun), 0.0))
    return int(is_prime.sum())


def main():
    """Count, and print the number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("limit", type=int)
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--journal")
    given = parser.parse_args()
    ends = [given.limit * number // given.blocks for number in range(given.blocks + 1)]
    with Client() as client:  # cosched has told where the scheduler is
        blocks = client.map(
            primes_between, ends[:-1], ends[1:], seconds=given.seconds, journal=given.journal, pure=False
        )
        print(sum(block.result() for block in as_completed(blocks)))


if __name__ == "__main__":
    main()
