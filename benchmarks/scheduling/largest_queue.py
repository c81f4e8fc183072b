"""The largest queue that is accepted: what it takes, in a process that does nothing else.

A module of its own: a process that is spawned cannot find what stands in a package's `__main__`.
"""

from __future__ import annotations

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

from benchmarks.kernels import queue
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.genetic_search import warm_up
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from benchmarks.figures import Figures

__all__ = ["largest_queue"]


def largest_queue(figures: Figures) -> None:
    """Print makespan ÷ bound, seconds and memory of 20,000 tasks on 1,000 hosts."""
    figures.section("largest queue", "20000 tasks on 1000 hosts, a budget of 1 s")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        ratio, took, memory = process.submit(_largest, figures.processor_time).result()
    figures.row(
        "counts to 16",
        f"counts to 16: {ratio:.4f} ÷ bound in {took:.1f} s, at most {memory:.2f} GB",
        over_bound=ratio,
        seconds=took,
        gigabytes=memory,
    )


def _largest(processor_time: bool) -> tuple[float, float, float]:
    """Return makespan ÷ bound, seconds and the process's GB at most."""
    warm_up()
    clock = time.thread_time if processor_time else time.perf_counter
    problem, began = queue(20_000, 1000, 1), clock()
    schedule, statistics = plan(problem, PolicyName.GENETIC, Limit(1.0, clock=clock), weights=Weights(1.0, 0.0, 0.0))
    took, memory = clock() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return schedule.makespan / statistics.bound, took, memory / 2**20
