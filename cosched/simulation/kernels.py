"""The seven kernels of the Titan experiments, with model times and random queues.

The models are those in models/.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cosched.evaluation import load, load_hardware, profile
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from cosched.evaluation.hardware import Hardware

__all__ = ["HARDWARE", "HOSTS", "KERNELS", "KernelTask", "draw_kernel_tasks", "kernel_profile"]

KERNELS = ("sweep3d", "fft", "improc", "closure", "jacobi", "memsort", "cpi")
HARDWARE = "sgi_origin2000"
HOSTS = 16


@dataclass(frozen=True, slots=True)
class KernelTask:
    """A task to be submitted.

    Attributes:
        kernel: name of the application.
        relative_deadline: seconds after submission.
    """

    kernel: str
    relative_deadline: float


@cache
def kernel_profile(kernel: str, scale: float = 1.0) -> Profile:
    """Return a kernel's published times on 1…16 SGI Origin 2000 processors, in seconds, times `scale`."""
    times = profile(load(f"{kernel}_measured"), _hardware(), range(1, HOSTS + 1), {"Scale": scale})
    return Profile(tuple(float(value) for value in times), PredictionSource.MODEL, HARDWARE)


@cache
def _hardware() -> Hardware:
    return load_hardware(HARDWARE)


def draw_kernel_tasks(count: int, seed: int, *, scale: float = 1.0, kernels: int = len(KERNELS)) -> list[KernelTask]:
    """Draw tasks of random kernels with random deadlines.

    A deadline is uniform between the kernel's shortest time and four times its time on one host.

    The published ranges of deadlines come about in this way.

    Args:
        count: how many tasks.
        seed: seed of the draw.
        scale: factor of all run times.
        kernels: number of the first `KERNELS` to draw from, each as likely as any other.
    """
    source = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
    tasks = []
    for _ in range(count):
        kernel = source.choice(KERNELS[:kernels])
        times = kernel_profile(kernel, scale)
        tasks.append(KernelTask(kernel, source.uniform(times.shortest, 4 * times.on(1))))
    return tasks
