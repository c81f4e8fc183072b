"""Which tasks: kernels drawn at random, and deadlines drawn from the range published for each kernel."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.evaluation import load, load_hardware, profile

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HARDWARE", "HOSTS", "KERNELS", "Order", "draw", "seconds"]

KERNELS = ("sweep3d", "fft", "improc", "closure", "jacobi", "memsort", "cpi")
HARDWARE = "sgi_origin2000"
HOSTS = 16


@dataclass(frozen=True, slots=True)
class Order:
    """One task to be submitted.

    Attributes:
        kernel: name of the application.
        allowance: the deadline, in seconds after submission.
    """

    kernel: str
    allowance: float


def seconds(kernel: str, scale: float) -> list[float]:
    """Return a kernel's run time in seconds on 1…16 hosts, from its model in models/."""
    model = load(f"{kernel}_measured")
    times = profile(model, load_hardware(HARDWARE), range(1, HOSTS + 1), {"Scale": scale})
    return [float(value) for value in times]


def draw(count: int, seed: int, scale: float) -> Sequence[Order]:
    """Draw tasks; each deadline is uniform between the kernel's shortest time and four times its time on one host.

    That is how the published ranges of deadlines come about.
    """
    source = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
    times = {kernel: seconds(kernel, scale) for kernel in KERNELS}
    orders = []
    for _ in range(count):
        kernel = source.choice(KERNELS)
        orders.append(Order(kernel, source.uniform(min(times[kernel]), 4 * times[kernel][0])))
    return orders
