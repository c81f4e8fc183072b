"""Laws of the run time that runs may follow, and the choice between them.

Start at `chosen_law`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.modelling.curve import CorrectionCurve, correction_curve
from cosched.modelling.formula_search import (
    IDLE,
    MOST_TERMS,
    best_formulas,
    cached_formula,
    possible_terms,
    power_law,
    refitted,
    working_set,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.modelling.formula import Formula
    from cosched.modelling.points import Points

    Floats = NDArray[np.float64]

__all__ = ["SHORTEST", "Chosen", "Law", "chosen_law", "error_of"]

_BETTER = 0.9  # of the error of a simpler law, to be chosen before it
_FARTHEST = 20.0  # logarithm of how far off a prediction counts at most
SHORTEST = 1e-12
"""Seconds that a law gives at least: one of logarithms alone may give none."""

_CURVED = "with a curve"


@dataclass(frozen=True, slots=True)
class Law:
    """A formula of the run time in seconds, and a curve that corrects it."""

    formula: Formula
    curve: CorrectionCurve | None = None

    def at(self, points: Points) -> Floats:
        """Return seconds at points."""
        return self.seconds(points.values, points.processors)

    def seconds(self, values: Floats, processors: Floats) -> Floats:
        """Return seconds; shapes as of `Term.at`."""
        found = self.formula.at(values, processors)
        return np.maximum(found if self.curve is None else found * self.curve.at(found), SHORTEST)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The law that foretells sizes best which it has not seen.

    Attributes:
        name: what kind of law.
        law: learnt from all points.
        off: by point the logarithm of measured over foretold time, foretold without any run of that size.
        errors: of each kind of law that was tried, the mean part by which it was off, simplest first.
        learn: how to learn a law of that kind from other points; None where they are too few for it.
    """

    name: str
    law: Law
    off: Floats
    errors: dict[str, float]
    learn: Callable[[Points], Law | None]

    def again(self, points: Points) -> Law | None:
        """Return the law of the same terms with the costs of other points; one with a curve is learnt anew."""
        if self.law.curve is not None:
            return self.learn(points)
        found = refitted(self.law.formula, points, points.seconds)
        return None if found is None else Law(found)


def error_of(off: Floats) -> float:
    """Return the mean part of the run time by which predictions are off."""
    return float(np.mean(np.abs(1 / np.exp(np.clip(off, -_FARTHEST, _FARTHEST)) - 1)))


def chosen_law(points: Points, levels: Sequence[float] = (), noise: float = 0.0) -> Chosen:
    """Return the simplest law that no more complex one beats by a tenth.

    Each size is foretold by the others.

    Args:
        points: where the runs were.
        levels: bytes of each cache of the hosts, for runs whose memory is known.
        noise: part of the run time by which medians of runs differ; no law is looked for that is nearer.
    """
    possible, sizes = possible_terms(points), int(points.sizes.max()) + 1
    inside = working_set(points, possible) if levels else None
    most = max(1, min(MOST_TERMS, sizes - 2 - len(points.varying) // 2))
    growing = max(1, 2 * sizes // (len(points.varying) + 3))  # a term takes a cost and, each for half a size, exponents

    def formulas(part: Points) -> dict[str, Law]:
        found = {
            f"{place} term{'s' if place > 1 else ''}": Law(formula)
            for place, formula in enumerate(best_formulas(part, part.seconds, possible, most, growing, IDLE), 1)
        }
        if inside is not None:
            for name, law in list(found.items()):
                cached = cached_formula(law.formula, part, inside, levels)
                if cached is not None:
                    found[f"{name} and caches"] = Law(cached)
        found["power law"] = Law(power_law(part))
        return found

    outs = [points.folds == fold for fold in range(int(points.folds.max()) + 1)]
    parts = [points.where(~out) for out in outs]
    learnt, known = [formulas(part) for part in parts], formulas(points)
    off = _left_out(points, outs, learnt)
    errors = {name: error_of(off[name]) for name in sorted(off, key=_complexity) if name in known}
    name = _simplest(errors, noise)
    plain = Chosen(name, known[name], off[name], errors, lambda part: formulas(part).get(name))
    if errors[name] <= noise:
        return plain

    def curved(part: Points, laws: Mapping[str, Law]) -> dict[str, Law]:
        law = laws.get(name)
        curve = None if law is None else correction_curve(law.at(part), part.seconds)
        return {} if law is None or curve is None else {_CURVED: Law(law.formula, curve)}

    bent = _left_out(points, outs, [curved(part, laws) for part, laws in zip(parts, learnt, strict=True)])
    if _CURVED in bent:
        error = errors[f"{name} {_CURVED}"] = error_of(bent[_CURVED])
        best = curved(points, known).get(_CURVED)
        if error < _BETTER * errors[name] and best is not None:
            return Chosen(
                f"{name} {_CURVED}",
                best,
                bent[_CURVED],
                errors,
                lambda part: curved(part, formulas(part)).get(_CURVED),
            )
    return plain


def _simplest(errors: Mapping[str, float], noise: float) -> str:
    """Return the simplest law that no more complex one beats, of errors with the simplest first."""
    best = ""
    for name, error in errors.items():
        if not best or (error < _BETTER * errors[best] and errors[best] > noise):
            best = name
    return best


def _complexity(name: str) -> tuple[bool, bool, str]:
    return "power" in name, "caches" in name, name


def _left_out(
    points: Points, outs: Sequence[NDArray[np.bool_]], learnt: Sequence[Mapping[str, Law]]
) -> dict[str, Floats]:
    """Return by kind of law how far off unseen points are.

    A kind that cannot be learnt without some of the points does not count.

    Args:
        points: all of them.
        outs: those left out at a time, each once.
        learnt: the laws of the others, as `outs`.
    """
    off = {name: np.zeros(len(points)) for name in learnt[0] if all(name in laws for laws in learnt)}
    for out, laws in zip(outs, learnt, strict=True):
        unseen = points.where(out)
        for name, values in off.items():
            values[out] = np.log(unseen.seconds / np.maximum(laws[name].at(unseen), SHORTEST))
    return off
