"""Made-up programs, of which any number can be had: a machine has few real ones, too few to judge ranges by.

Start at `made_up`.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.truth.kernels import Kernel
from cosched.modelling.points import TimedRun

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MadeUp", "made_up"]

_SECONDS = 0.03, 0.9  # on one processor, as of the real ones
_STEPS = 3, 60
_EXPONENTS = 1.0, 1.5, 2.0, 3.0


class MadeUp(NamedTuple):
    """A program with runs of it, in the order in which they were made."""

    kernel: Kernel
    runs: tuple[TimedRun, ...]


@dataclass(frozen=True, slots=True)
class _Law:
    """What runs really take.

    Attributes:
        rate: seconds of one operation.
        exponents: of the sizes; there are as many operations in a step as the product of their powers.
        startup: seconds whatever the size.
        dearer: by which part operations are dearer far beyond a cache.
        cache: logarithm of the operations in a step from which on they are.
        sharp: how quickly that comes.
        serial: part that a second processor does not share.
        shared: how many times longer the rest takes where two share the memory.
        messages: seconds on two processors.
    """

    rate: float
    exponents: tuple[float, ...]
    startup: float
    dearer: float
    cache: float
    sharp: float
    serial: float
    shared: float
    messages: float

    def seconds(self, size: Sequence[float], processors: int) -> float:
        """Return the run time without noise; the last of the size is the number of steps."""
        step = math.prod(math.pow(value, exponent) for value, exponent in zip(size, self.exponents, strict=False))
        cost = 1 + self.dearer / (1 + math.exp(-self.sharp * (math.log(step) - self.cache)))
        alone = self.rate * step * size[-1] * cost
        if processors == 1:
            return self.startup + alone
        return self.startup + alone * (self.serial + (1 - self.serial) * self.shared / processors) + self.messages


def made_up(seed: int, sizes: int, launches: int) -> MadeUp:
    """Return a program with runs of it on one processor and on two.

    A half each have a start-up, a cache, a memory that two processors share, and sizes with times of their own. Of one
    in three the count that is known has exponents that are off by up to a tenth.

    Args:
        seed: of all that is random.
        sizes: how many.
        launches: of each size on each number of processors at most, and at least one.
    """
    draw = random.Random(seed)
    exponents = tuple(draw.choice(_EXPONENTS) for _ in range(draw.randint(1, 2)))
    rate = _between(draw, 1e-9, 1e-6)
    law = _Law(
        rate,
        exponents,
        startup=draw.choice((0.0, draw.uniform(0.002, 0.03))),
        dearer=draw.choice((0.0, draw.uniform(0.1, 0.6))),
        cache=math.log(0.01 / rate) + draw.uniform(-1, 2),
        sharp=draw.uniform(1, 4),
        serial=draw.uniform(0, 0.2),
        shared=draw.choice((1.0, draw.uniform(1, 1.3))),
        messages=draw.uniform(0, 0.005),
    )
    noise, own = _between(draw, 0.02, 0.12), draw.choice((0.0, draw.uniform(0.02, 0.08)))
    off = draw.choice((0.0, 0.0, 0.1))
    known = tuple(exponent * draw.uniform(1 - off, 1 + off) for exponent in exponents)
    names = (*(f"n{place}" for place in range(len(exponents))), "steps")

    def size_of(draw: random.Random, work: float) -> tuple[int, ...]:
        steps = draw.randint(*_STEPS)
        shares = [draw.uniform(0.5, 1.5) for _ in exponents]
        sides = ((work / steps) ** (share / sum(shares) / each) for share, each in zip(shares, exponents, strict=True))
        return *(max(2, round(side)) for side in sides), steps

    kernel = Kernel(
        f"made up {seed}",
        names,
        (),
        lambda size: math.prod(size[name] ** each for name, each in zip(names, (*known, 1.0), strict=True)),
        rate,
        size_of,
        "threads",
    )
    runs = []
    for _ in range(sizes):
        size = kernel.size(draw, _between(draw, *_SECONDS))
        for processors in kernel.processors:
            exact = law.seconds(tuple(size.values()), processors) * math.exp(draw.gauss(0, own))
            times = [exact * math.exp(draw.gauss(0, noise)) for _ in range(draw.randint(1, launches))]
            runs += [TimedRun(size, processors, seconds) for seconds in times]
    draw.shuffle(runs)
    return MadeUp(kernel, tuple(runs))


def _between(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))
