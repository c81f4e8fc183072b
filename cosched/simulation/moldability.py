"""How long a recorded job would have taken on other numbers of processors: a trace does not know, so a model says.

Whatever the model, the recorded time holds on the recorded number. What is drawn is drawn from the seed and the job's
number.

rigid: the recorded number or none.
amdahl: a serial share f, log-uniform in 0.001…0.2; T(p) ∝ f + (1 - f)/p.
downey: Downey's speed-up S(p; A, s) ("A model for speedup of parallel programs", 1997), T(p) ∝ 1/S(p), with the average
parallelism A log-uniform between half and twice the recorded number (users choose sensible sizes) and the variance s
uniform in 0…2.
"""

from __future__ import annotations

import math
import random
from enum import StrEnum

__all__ = ["Moldability", "downey", "times"]


class Moldability(StrEnum):
    """The model of run times on other numbers of processors."""

    RIGID = "rigid"
    AMDAHL = "amdahl"
    DOWNEY = "downey"


def times(model: Moldability, seconds: float, recorded: int, most: int, seed: str) -> tuple[float, ...]:
    """Return run times on 1…`most` processors.

    Args:
        model: which.
        seconds: recorded run time.
        recorded: number of processors it was recorded on, at most `most`.
        most: processors of the machine.
        seed: of what is drawn for this job.

    Returns:
        Seconds; infinite where that number cannot be used.
    """
    if model is Moldability.RIGID:
        return tuple(seconds if count == recorded else math.inf for count in range(1, recorded + 1))
    draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
    if model is Moldability.AMDAHL:
        serial = math.exp(draw.uniform(math.log(0.001), math.log(0.2)))
        relative = [serial + (1 - serial) / count for count in range(1, most + 1)]
    else:
        parallelism = math.exp(draw.uniform(math.log(max(1.0, recorded / 2)), math.log(2.0 * recorded)))
        variance = draw.uniform(0.0, 2.0)
        relative = [1 / downey(count, parallelism, variance) for count in range(1, most + 1)]
    return tuple(seconds * (value / relative[recorded - 1]) for value in relative)


def downey(count: int, parallelism: float, variance: float) -> float:
    """Return the speed-up on `count` processors (Downey 1997, equations for low and high variance).

    Args:
        count: 1 or more.
        parallelism: A, the average parallelism, 1 or more.
        variance: the coefficient of variance of the parallelism, 0 or more; up to 1 it is called low.
    """
    if variance <= 1:
        if count <= parallelism:
            return parallelism * count / (parallelism + variance / 2 * (count - 1))
        if count <= 2 * parallelism - 1:
            return parallelism * count / (variance * (parallelism - 0.5) + count * (1 - variance / 2))
        return parallelism
    if count <= parallelism + parallelism * variance - variance:
        return count * parallelism * (variance + 1) / (variance * (count + parallelism - 1) + parallelism)
    return parallelism
