"""Time that launchers take beside a program, of which a law knows nothing.

Start at `start_up`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.modelling.points import TimedRun

__all__ = ["LAUNCHER", "StartUp", "start_up"]

LAUNCHER = "launcher"
"""Name of the parameter in a model."""

_ELSEWHEN = math.log1p(0.25)  # nine in ten of other hosts and hours are within, as a logarithm
_USUAL = _ELSEWHEN / 1.645  # standard deviation of that logarithm between runs, before any tell it
_USUAL_RUNS = 2  # so many runs it counts as
_MOST = 2.0  # as a logarithm
_ELSEWHERE, _ELSEWHERE_BELOW = 1.0, 0.9  # from a terminal to a manager's job: other daemons, networks and variables
_MANAGER = 0.6  # seconds that a manager may need before a launcher begins and after its end, which no terminal shows


@dataclass(frozen=True, slots=True)
class StartUp:
    """Start-up of a program's runs.

    Attributes:
        seconds: its median.
        error: part of it within which nine in ten of further runs that start likewise stay: above; below it is
            `error / (1 + error)`.
        by_tasks: whether tasks took it; else a program that was run from a terminal.
    """

    seconds: float
    error: float
    by_tasks: bool

    @property
    def above(self) -> float:
        """The part of it by which a task's start-up may be longer."""
        if self.by_tasks:
            return self.error
        return max(self.error, _ELSEWHERE) + _MANAGER / self.seconds

    @property
    def below(self) -> float:
        """The part of it by which a task's start-up may be shorter."""
        below = self.error / (1 + self.error)
        return below if self.by_tasks else max(below, _ELSEWHERE_BELOW)

    def told(self) -> str:
        """Return a line about it."""
        if self.by_tasks:
            return f"Launchers take {self.seconds:.2g} s more ({LAUNCHER}; within {self.error:.0%})"
        return (
            f"Launchers take {self.seconds:.2g} s more here ({LAUNCHER}), and of tasks "
            f"{(1 - self.below) * self.seconds:.2g} to {(1 + self.above) * self.seconds:.2g} s: "
            "`cosched task submit --observe` tells it there"
        )


def start_up(runs: Sequence[TimedRun]) -> tuple[list[TimedRun], StartUp | None]:
    """Return runs without their start-up, and this; where some do not tell it, runs with it, and None."""
    known = np.array([run.startup for run in runs if run.startup is not None])
    if len(known) == 0:
        return list(runs), None
    if len(known) < len(runs):
        return [replace(run, seconds=run.seconds + (run.startup or 0.0), startup=None) for run in runs], None
    error = math.expm1(min(math.hypot(_ELSEWHEN, _next_run(np.log(known))), _MOST))
    return list(runs), StartUp(float(np.median(known)), error, all(run.by_task for run in runs))


def _next_run(logs: NDArray[np.float64]) -> float:
    """Return how far off their middle nine in ten of further runs are.

    That is Student's distribution, of few runs much wider than they are: the posterior predictive distribution of
    normal values whose variance has a scaled inverse chi-squared prior (Gelman and others, Bayesian Data Analysis,
    2013, 3.3).

    Args:
        logs: logarithms of what runs needed.
    """
    told = len(logs) - 1
    squares = float(((logs - logs.mean()) ** 2).sum())
    freedom = _USUAL_RUNS + told
    deviation = math.sqrt((_USUAL_RUNS * _USUAL**2 + squares) / freedom)
    return t_quantile(freedom) * deviation * math.sqrt(1 + 1 / len(logs))
