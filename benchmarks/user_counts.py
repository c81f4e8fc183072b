"""What "calculated" host counts may mean for first come, first served: `python -m benchmarks.user_counts`, a second.

The queues of `cosched simulate titan-table-1` (30 tasks on 16 hosts, of five or of all seven kernels), run times exact,
no task before the one ahead of it. Makespans in seconds: of seed 1, then the mean over the seeds 1 to 20.
"""

from __future__ import annotations

import argparse
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.batch_queue import calculated_counts
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem
from cosched.simulation.kernels import HOSTS, draw_kernel_tasks, kernel_profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["DEFINITIONS", "makespan"]

_SEEDS = range(1, 21)


def _half_efficient(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the fastest counts that still gain half of what as many hosts could at best."""
    area = seconds * np.arange(1, seconds.shape[1] + 1)
    gains = area <= 2 * seconds[:, :1]
    return np.asarray(np.where(gains, seconds, np.inf).argmin(axis=1) + 1, dtype=np.int64)


DEFINITIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.int64]]] = {
    "fewest host-seconds (fcfs-calculated)": calculated_counts,
    "fastest": lambda seconds: np.asarray(seconds.argmin(axis=1) + 1, dtype=np.int64),
    "fastest at half efficiency": _half_efficient,
    "one host for everybody": lambda seconds: np.ones(len(seconds), dtype=np.int64),
}
"""Host counts (m,) of (m, N) run times, by what they are."""


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.user_counts", description=__doc__).parse_args()
    print(f"{'first come, first served, host counts':40} five kernels: seed 1, mean   seven kernels: seed 1, mean")
    for name in DEFINITIONS:
        figures = [[makespan(name, seed, kernels) for seed in _SEEDS] for kernels in (5, 7)]
        print(f"{name:40}" + "".join(f"{own[0]:20.1f} {fmean(own):8.1f}" for own in figures))


def makespan(definition: str, seed: int, kernels: int) -> float:
    """Return the makespan of a queue of so many kernels under one of the `DEFINITIONS`."""
    orders = draw_kernel_tasks(30, seed, kernels=kernels)
    profiles = {each.kernel: kernel_profile(each.kernel) for each in orders}
    seconds = np.array(
        [[profiles[each.kernel].on(number) for number in range(1, HOSTS + 1)] for each in orders], dtype=np.float64
    )
    tasks = len(orders)
    problem = Problem(
        tasks=tuple(f"{each.kernel}-{number}" for number, each in enumerate(orders)),
        hosts=tuple(f"host{number:02d}" for number in range(HOSTS)),
        classes=("",),
        host_class=np.zeros(HOSTS, dtype=np.int64),
        free=np.zeros(HOSTS),
        seconds=seconds[np.newaxis],
        release=np.zeros(tasks),
        deadline=np.full(tasks, np.inf),
    )
    plan = Plan(np.arange(tasks, dtype=np.int64), DEFINITIONS[definition](seconds))
    return decode(problem, plan, in_order=True).makespan


if __name__ == "__main__":
    main()
