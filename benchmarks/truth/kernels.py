"""The real programs whose run times are to be foretold, and how their sizes are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

__all__ = ["KERNELS", "Kernel"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program of `examples/kernels/real`.

    Attributes:
        name: of its file.
        parameters: their names, in the command's order.
        fixed: further words behind them.
        work: the count of its dominant loop for a size, as its author would give it; all processes together.
        rate: about how many seconds one of these takes, so that sizes of some run time can be drawn.
        draw: draws the parameters' values of a size of about some work.
        starts: how it gets its processors: by `mpirun`, as threads, or it has one.
    """

    name: str
    parameters: tuple[str, ...]
    fixed: tuple[str, ...]
    work: Callable[[Mapping[str, float]], float]
    rate: float
    draw: Callable[[random.Random, float], tuple[int, ...]]
    starts: str

    @property
    def processors(self) -> tuple[int, ...]:
        """Return the numbers of processors that it is run on: this machine has two."""
        return (1,) if self.starts == "alone" else (1, 2)

    def size(self, draw: random.Random, seconds: float) -> dict[str, float]:
        """Return a size that takes about so many seconds on one processor."""
        return dict(zip(self.parameters, map(float, self.draw(draw, seconds / self.rate)), strict=True))

    def command(self, size: Mapping[str, float]) -> list[str]:
        """Return the program's words for a size."""
        return [*[f"{size[name]:.0f}" for name in self.parameters], *self.fixed]


def _between(draw: random.Random, low: float, high: float) -> int:
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def _steps(work: float, each: float) -> int:
    return max(1, round(work / each))


def _heat(draw: random.Random, work: float) -> tuple[int, ...]:
    side = math.sqrt(work / _between(draw, 15, 60))
    wide = min(max(round(side * draw.uniform(0.6, 1.6)), 40), 1500)
    high = min(max(round(side**2 / wide), 40), 1500)
    return wide, high, _steps(work, wide * high)


def _sweep(draw: random.Random, work: float) -> tuple[int, ...]:
    side = (work / _between(draw, 2, 6)) ** (1 / 3)
    sides = [min(max(round(side * draw.uniform(0.7, 1.4)), 10), 200) for _ in range(3)]
    return *sides, _steps(work, math.prod(sides))


def _fft(draw: random.Random, work: float) -> tuple[int, ...]:
    usable = [n for n in (64, 128, 256, 512, 1024) if n * n * math.log2(n) <= work]
    n = draw.choice(usable[-2:] or [64])
    return n, _steps(work, n * n * math.log2(n))


def _matmul(draw: random.Random, work: float) -> tuple[int, ...]:
    n = max(32, 4 * round((work / draw.choice((1, 2, 3, 4))) ** (1 / 3) / 4))
    return n, _steps(work, float(n) ** 3)


def _sort(draw: random.Random, work: float) -> tuple[int, ...]:
    steps = draw.choice((1, 2, 3))
    keys = work / steps / 20
    return max(1000, round(keys * 20 / math.log2(max(keys, 2.0)))), steps


def _sorted(size: Mapping[str, float]) -> float:
    return size["keys"] * math.log2(size["keys"]) * size["steps"]


def _nbody(draw: random.Random, work: float) -> tuple[int, ...]:
    bodies = max(20, round(math.sqrt(work / _between(draw, 10, 40))))
    return bodies, _steps(work, float(bodies) ** 2)


def _cg(draw: random.Random, work: float) -> tuple[int, ...]:
    side = math.sqrt(work / _between(draw, 60, 200))
    wide = min(max(round(side * draw.uniform(0.7, 1.4)), 30), 900)
    high = min(max(round(side**2 / wide), 30), 900)
    return wide, high, _steps(work, wide * high)


def _kmeans(draw: random.Random, work: float) -> tuple[int, ...]:
    clusters = draw.randint(4, 16)
    points = max(200, round(work / draw.randint(10, 40)))
    return points, clusters, _steps(work, points)


def _summed(size: Mapping[str, float]) -> float:
    return size["points"] * size["steps"]  # by a loop of Python; the distances are arrays, and cost half as much


KERNELS = (
    Kernel("heat", ("nx", "ny", "steps"), ("10",), lambda s: math.prod(s.values()), 3.2e-9, _heat, "mpirun"),
    Kernel("sweep", ("nx", "ny", "nz", "steps"), ("5",), lambda s: math.prod(s.values()), 2.7e-7, _sweep, "mpirun"),
    Kernel("fft", ("n", "steps"), (), lambda s: s["n"] ** 2 * math.log2(s["n"]) * s["steps"], 3.5e-8, _fft, "mpirun"),
    Kernel("matmul", ("n", "steps"), (), lambda s: s["n"] ** 3 * s["steps"], 9e-10, _matmul, "mpirun"),
    Kernel("sort", ("keys", "steps"), (), _sorted, 1.8e-8, _sort, "mpirun"),
    Kernel("nbody", ("bodies", "steps"), (), lambda s: s["bodies"] ** 2 * s["steps"], 4e-8, _nbody, "threads"),
    Kernel("cg", ("nx", "ny", "steps"), (), lambda s: math.prod(s.values()), 1.25e-8, _cg, "alone"),
    Kernel("kmeans", ("points", "clusters", "steps"), (), _summed, 6e-7, _kmeans, "alone"),
)
"""Their rates were found on one machine; another needs them only for run times of the same order."""
