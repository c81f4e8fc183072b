"""Models are made without some runs, which they then foretell.

Start at `held_out`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.modelling.fitting import Fitted, fit_runs
from cosched.modelling.points import points_of
from cosched.modelling.validation import Foretold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cosched.modelling.points import Points, TimedRun

__all__ = ["HOLDOUTS", "held_out", "holdout_groups"]

HOLDOUTS = {
    "size:inside": "inside",
    "size:ends": "ends",
    "size:2x": "2x",
    "size:4x": "4x",
    "hosts:new": "new host count",
}
"""Words for what is held out, with the split that it is."""

_MOST_MODELS = 12
_MOST_LEFT_OUT = 500  # runs whose errors make ranges by jackknife+
_MISSED = 0.1  # part of runs that a range may miss


def held_out(application: str, runs: Sequence[TimedRun], what: str, levels: Sequence[float] = ()) -> Iterator[Foretold]:
    """Yield the runs that are held out, as a model of all others foretells them.

    Args:
        application: name of the program.
        runs: see `fit_runs`.
        what: one of `HOLDOUTS`: sizes between others or at an end, one or a few at a time; those of more than a half or
            a quarter of the greatest work; or the greatest number of processors.
        levels: see `fit_runs`.

    Raises:
        UserError: nothing can be held out, or the others make no model.
    """
    for held in holdout_groups(runs, what):
        kept = [run for place, run in enumerate(runs) if place not in held]
        rest = [run for place, run in enumerate(runs) if place in held]
        try:
            fitted = fit_runs(application, kept, levels)
        except UserError as error:
            raise UserError(f"--holdout {what} leaves too little: {error}") from error
        if what == "hosts:new" and not fitted.points.processors_vary:
            raise UserError("--holdout hosts:new leaves runs on one number of hosts: it takes two others")
        ranges = _jackknife(fitted, kept)
        for run in rest:
            low, high = fitted.interval(run.parameters, run.processors)
            yield Foretold(run, fitted.predict(run.parameters, run.processors), low, high, ranges(run))


def holdout_groups(runs: Sequence[TimedRun], what: str) -> list[set[int]]:
    """Return the places of held-out runs, a set for each model that is made; parameters and errors of `held_out`."""
    points = points_of(runs)
    sizes = [tuple(run.parameters[name] for name in points.names) for run in runs]
    if what == "hosts:new":
        most = max(run.processors for run in runs)
        if not points.processors_vary:
            raise UserError("--holdout hosts:new: all runs are on one number of hosts: run on others")
        return [{place for place, run in enumerate(runs) if run.processors == most}]
    if what in ("size:2x", "size:4x"):
        work = dict.fromkeys(sizes, 0.0)
        for size, run in zip(sizes, runs, strict=True):
            work[size] = max(work[size], run.seconds * run.processors)
        most_work = max(work.values()) / (2 if what == "size:2x" else 4)
        return [{place for place, size in enumerate(sizes) if work[size] > most_work}]
    low, high = points.values.min(axis=0), points.values.max(axis=0)
    chosen = [
        size
        for size in sorted(set(sizes))
        if any(size[each] in (low[each], high[each]) for each in points.varying) == (what == "size:ends")
    ]
    if not chosen:
        where = "at an end" if what == "size:ends" else "between others"
        raise UserError(f"--holdout {what}: no size is {where}: run more sizes")
    folds = {size: fold % _MOST_MODELS for fold, size in enumerate(chosen)}
    found: list[set[int]] = [set() for _ in range(min(len(chosen), _MOST_MODELS))]
    for place, size in enumerate(sizes):
        if size in folds:
            found[folds[size]].add(place)
    return found


def _jackknife(fitted: Fitted, kept: Sequence[TimedRun]) -> Callable[[TimedRun], tuple[float, float] | None]:
    """Return ranges by jackknife+, each size left out once.

    Barber and others, Predictive inference with the jackknife+, Annals of Statistics 49, 2021.
    """
    points = fitted.points
    folds = points.folds
    places = {tuple(place): fold for place, fold in zip(points.values.tolist(), folds.tolist(), strict=True)}
    laws = {fold: fitted.chosen.learn(points.where(folds != fold)) for fold in set(folds.tolist())}
    found = []
    for run in kept[:: math.ceil(len(kept) / _MOST_LEFT_OUT)]:
        place = tuple(run.parameters[name] for name in points.names)
        if place not in places:
            continue
        law = laws[places[place]]
        if law is None:
            return _no_range
        found.append((law, abs(math.log(run.seconds / float(law.seconds(*_place(points, run))[0])))))

    def around(run: TimedRun) -> tuple[float, float]:
        logs = {id(law): math.log(float(law.seconds(*_place(points, run))[0])) for law in laws.values() if law}
        lows = sorted(logs[id(law)] - off for law, off in found)
        highs = sorted(logs[id(law)] + off for law, off in found)
        out = max(math.floor(_MISSED * (len(found) + 1)), 1)
        return math.exp(lows[out - 1]), math.exp(highs[-out])

    return around


def _no_range(_run: TimedRun) -> None:
    return None


def _place(points: Points, run: TimedRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array([[run.parameters[name] for name in points.names]]), np.array([float(run.processors)])
