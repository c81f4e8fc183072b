"""The seven kernels' published run times, and queues drawn from them.

Predicted seconds on 1 … 16 processors of an SGI Origin 2000 and the range that deadlines were drawn from, as published
for the Titan and ARMS experiments of the University of Warwick.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEADLINES", "KERNELS", "kept", "mixed", "queue"]

KERNELS: dict[str, tuple[int, ...]] = {
    "sweep3d": (50, 40, 30, 25, 23, 20, 17, 15, 13, 11, 9, 7, 6, 5, 4, 4),
    "fft": (25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10),
    "improc": (48, 41, 35, 30, 26, 23, 21, 20, 20, 21, 23, 26, 30, 35, 41, 48),
    "closure": (9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2),
    "jacobi": (40, 35, 30, 25, 23, 20, 17, 15, 13, 11, 10, 9, 8, 7, 6, 6),
    "memsort": (17, 16, 15, 14, 13, 12, 11, 10, 10, 11, 12, 13, 14, 15, 16, 17),
    "cpi": (32, 26, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 4, 7, 12, 20),
}
DEADLINES = {name: (min(seconds), 4 * seconds[0]) for name, seconds in KERNELS.items()}


def queue(tasks: int, hosts: int, seed: int, *, deadlines: bool = False, stretch: float = 1.0) -> Problem:
    """Return a queue of random kernels on identical hosts, all there at the origin.

    Args:
        tasks: how many, each kernel as likely as any other.
        hosts: how many; counts above 16 cannot be used.
        seed: of the draw.
        deadlines: draw each task's deadline evenly from its kernel's range, stretched by tasks ÷ (2 · hosts), so
            that the load on the deadlines is alike for queues of any length.
        stretch: multiplies the deadlines, of which none comes before its task's shortest run time.
    """
    draw = np.random.default_rng(seed)
    names = list(KERNELS)
    drawn = [names[index] for index in draw.integers(len(names), size=tasks)]
    seconds = np.full((1, tasks, hosts), np.inf)
    for task, name in enumerate(drawn):
        usable = KERNELS[name][:hosts]
        seconds[0, task, : len(usable)] = usable
    limits = np.array([DEADLINES[name] for name in drawn], dtype=np.float64)
    due = draw.uniform(limits[:, 0], limits[:, 1]) * max(1.0, tasks / (2 * hosts)) * stretch
    due = np.maximum(due, limits[:, 0])
    return Problem(
        tasks=tuple(f"{name}-{task}" for task, name in enumerate(drawn)),
        hosts=tuple(f"host{number:02d}" for number in range(hosts)),
        classes=("origin2000",),
        host_class=np.zeros(hosts, dtype=np.int64),
        free=np.zeros(hosts),
        seconds=seconds,
        release=np.zeros(tasks),
        deadline=due if deadlines else np.full(tasks, np.inf),
    )


def kept(tasks: int, hosts: int, seed: int, *, apart: bool = False, deadlines: bool = False) -> Problem:
    """Return such a queue where a quarter of the hosts is kept for others, for three tenths of the makespan's bound.

    Args:
        tasks: see `queue`.
        hosts: see `queue`.
        seed: see `queue`.
        apart: each of them at a time of its own, else all from three tenths of the bound on.
        deadlines: see `queue`.
    """
    problem = queue(tasks, hosts, seed, deadlines=deadlines)
    bound, away = lower_bound(problem), range(hosts // 4)
    begins = np.random.default_rng(seed).uniform(0.1, 0.9, len(away)) if apart else np.full(len(away), 0.3)
    unavailability = [
        Unavailability(host, begin * bound, (begin + 0.3) * bound) for host, begin in zip(away, begins, strict=True)
    ]
    return replace(problem, unavailability=tuple(unavailability))


def mixed(tasks: int, hosts: int, seed: int, slowdowns: Sequence[float]) -> Problem:
    """Return such a queue on hosts of several classes, as many of each, which take so many times as long as `queue`'s.

    Args:
        tasks: see `queue`.
        hosts: see `queue`.
        seed: see `queue`.
        slowdowns: of each class.
    """
    problem = queue(tasks, hosts, seed)
    return replace(
        problem,
        classes=tuple(f"class-{number}" for number in range(len(slowdowns))),
        host_class=np.sort(np.arange(hosts, dtype=np.int64) % len(slowdowns)),
        seconds=np.concatenate([problem.seconds * slowdown for slowdown in slowdowns]),
    )
