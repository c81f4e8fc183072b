"""A curve corrects a formula where runs lie off it, by what the formula gives.

Start at `correction_curve`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.modelling.formula import number
from cosched.prediction.history import History, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["CorrectionCurve", "correction_curve"]

MOST_KNOTS = 12
_MOST_RUNS = 24  # evenly from all; more teach so few knots little
_SHORTEST = 1e-300  # microseconds; of nothing there is no logarithm


@dataclass(frozen=True, slots=True)
class CorrectionCurve:
    """The logarithm of a factor, linear between knots and level beyond them.

    Attributes:
        knots: logarithms of microseconds, ascending.
        start: the logarithm of the factor up to the first knot.
        slopes: by how much the slope changes at each knot; together 0.
    """

    knots: tuple[float, ...]
    start: float
    slopes: tuple[float, ...]

    def at(self, seconds: Floats) -> Floats:
        """Return the factor for what the formula gives."""
        logs = np.log(np.maximum(seconds * 1e6, _SHORTEST))
        bent = np.maximum(0.0, logs[:, None] - np.array(self.knots)) @ np.array(self.slopes)
        return np.asarray(np.exp(self.start + bent))

    def psl(self, name: str) -> str:
        """Return it as PSL, of a variable that holds the formula's time."""
        bends = [
            f" {'+' if slope > 0 else '-'} {number(abs(slope))} * max(0, log({name} / 1 us) - {number(knot)})"
            for knot, slope in zip(self.knots, self.slopes, strict=True)
            if slope
        ]
        return f"exp({number(self.start)}{''.join(bends)})"


def correction_curve(stated: Floats, measured: Floats) -> CorrectionCurve | None:
    """Return the curve that a history of runs has learnt; None for fewer than 4 different times.

    Args:
        stated: seconds that the formula gives.
        measured: seconds that the runs took.
    """
    if len(np.unique(stated)) < 4 or stated.min() <= 0:
        return None
    order = np.argsort(stated)
    chosen = order[np.linspace(0, len(order) - 1, min(len(order), _MOST_RUNS)).round().astype(int)]
    history = History(
        Run((float(stated[place]),), 1, "", float(measured[place]), stated=float(stated[place])) for place in chosen
    )
    logs = np.unique(np.log(stated * 1e6).round(6))
    logs = np.unique(logs[np.linspace(0, len(logs) - 1, min(len(logs), MOST_KNOTS)).round().astype(int)])
    factors = []
    for log in logs.tolist():
        seconds = float(np.exp(log)) / 1e6
        median, _ = history.predict((seconds,), [1], "", stated=[seconds])
        factors.append(float(np.log(median[0] / seconds)))
    rises = np.diff(factors) / np.diff(logs)
    slopes = [float(number(value)) for value in np.diff([0.0, *rises.tolist(), 0.0]).tolist()]
    return CorrectionCurve(tuple(float(number(log)) for log in logs.tolist()), float(number(factors[0])), tuple(slopes))
