"""Made-up runs of a known law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.modelling.points import TimedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["stencil", "stencil_runs"]


def stencil(nx: float, ny: float, processors: float) -> float:
    """Return the seconds of a stencil code: a start, a border and its cells."""
    return 2e-4 + 3e-6 * nx + 3e-7 * nx * ny / processors


def stencil_runs(
    noise: float = 0.02,
    seed: int = 1,
    law: Callable[[float, float, float], float] = stencil,
    counts: Sequence[int] = (1, 2, 4),
    sides: Sequence[int] = (64, 128, 256, 512, 1024),
    repeats: int = 2,
) -> list[TimedRun]:
    """Return runs of all sides with every second one."""
    drawn = np.random.default_rng(seed)
    return [
        TimedRun({"nx": nx, "ny": ny, "steps": 20}, count, law(nx, ny, count) * float(np.exp(drawn.normal(0, noise))))
        for nx in sides
        for ny in sides[::2]
        for count in counts
        for _ in range(repeats)
    ]
