"""Time that launchers take beside a program, of which a law knows nothing.

Start at `start_up`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.modelling.points import TimedRun

__all__ = ["LAUNCHER", "StartUp", "start_up"]

LAUNCHER = "launcher"
"""Name of the parameter in a model."""

_WITHIN = 1.645  # standard deviations that nine in ten of normal values lie within
_LEAST = 0.25  # other hosts and other managers take longer, or shorter
_FEW, _UNSURE = 5, 0.5


@dataclass(frozen=True, slots=True)
class StartUp:
    """Start-up of a program's runs.

    Attributes:
        seconds: its median.
        error: part of it within which nine in ten stay: above; below it is `error / (1 + error)`.
    """

    seconds: float
    error: float

    def told(self) -> str:
        """Return a line about it."""
        return f"Launchers take {self.seconds:.2g} s more ({LAUNCHER}; within {self.error:.0%})"


def start_up(runs: Sequence[TimedRun]) -> tuple[list[TimedRun], StartUp | None]:
    """Return runs without their start-up, and this; where some do not tell it, runs with it, and None."""
    known = np.array([run.startup for run in runs if run.startup is not None])
    if len(known) == 0:
        return list(runs), None
    if len(known) < len(runs):
        return [replace(run, seconds=run.seconds + (run.startup or 0.0), startup=None) for run in runs], None
    spread = math.expm1(min(_WITHIN * float(np.std(np.log(known))), 2.0))
    return list(runs), StartUp(float(np.median(known)), max(_LEAST if len(known) >= _FEW else _UNSURE, spread))
