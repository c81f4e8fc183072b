"""Runs of a program, and the points at which they were made.

Start at `TimedRun` and `points_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cosched.errors import UserError
from cosched.language.vocabulary import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["MOST_PARAMETERS", "Points", "TimedRun", "check_design", "points_of", "repeat_noise"]

MOST_PARAMETERS = 6
"""Of so many parameters at most it is found out how run times grow with them."""

_MOST_FOLDS = 24
_MOST_POINTS = 400
_MOST_REPEATS = 30  # of which the noise is found
_TOGETHER = 0.99  # correlation of logarithms from which two parameters are taken to vary together
_INDEPENDENT = 1e-3  # least part of the spread that no combination of the others explains


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run that completed.

    Attributes:
        parameters: by name; the same names in all runs of a program.
        processors: how many it had in all.
        seconds: run time.
        hosts: how many hosts had these processors.
        hardware: class of the hosts; empty where nobody says.
        memory: bytes that each of its processes took at most; 0 where nobody says.
        startup: seconds that launchers took beside; None: the run time is everything.
        by_task: whether a resource manager started it, so that tasks' launchers take as long.
    """

    parameters: Mapping[str, float]
    processors: int
    seconds: float
    hosts: int = 1
    hardware: str = ""
    memory: float = 0.0
    startup: float | None = None
    by_task: bool = False


@dataclass(frozen=True, eq=False)
class Points:
    """Points are sizes on numbers of processors; of several runs at one the median counts.

    Attributes:
        names: the parameters, in their order.
        values: shape (points, parameters).
        processors: shape (points,).
        seconds: medians of run times.
        memory: medians of bytes, 0 where they are not known.
        counts: how many runs there were.
    """

    names: tuple[str, ...]
    values: Floats
    processors: Floats
    seconds: Floats
    memory: Floats
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the number of each point's size.

        One size may have been run on several numbers of processors.
        """
        return np.asarray(np.unique(self.values, axis=0, return_inverse=True)[1], np.int64).reshape(-1)

    @property
    def folds(self) -> NDArray[np.int64]:
        """Return the number of each point's fold, by which it is left out: a size or, of many, several."""
        return self.sizes % _MOST_FOLDS

    @property
    def varying(self) -> tuple[int, ...]:
        """Return the places of the parameters that have more than one value."""
        return tuple(np.flatnonzero((self.values != self.values[:1]).any(axis=0)).tolist())

    @property
    def processors_vary(self) -> bool:
        """Return whether there are several numbers of processors."""
        return bool((self.processors != self.processors[0]).any())

    def thinned(self) -> Self:
        """Return the points, of very many some from the shortest to the longest run time."""
        if len(self) <= _MOST_POINTS:
            return self
        order = np.argsort(self.seconds, kind="stable")
        kept = np.zeros(len(self), bool)
        kept[order[np.linspace(0, len(self) - 1, _MOST_POINTS).round().astype(int)]] = True
        return self.where(kept)

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Return some of the points."""
        return type(self)(
            self.names,
            self.values[kept],
            self.processors[kept],
            self.seconds[kept],
            self.memory[kept],
            self.counts[kept],
        )


def points_of(runs: Sequence[TimedRun]) -> Points:
    """Return the points of runs, ordered by size.

    Raises:
        UserError: the runs have different parameters.
    """
    names = tuple(runs[0].parameters)
    found: dict[tuple[tuple[float, ...], int], list[TimedRun]] = {}
    for run in runs:
        if run.parameters.keys() != set(names):
            odd = sorted(run.parameters.keys() ^ set(names))
            raise UserError(f"not all runs state {odd[0]}: give it for all of them, or leave it out with --parameters")
        found.setdefault((tuple(run.parameters[name] for name in names), run.processors), []).append(run)
    places = sorted(found)
    return Points(
        names,
        np.array([values for values, _ in places], float).reshape(len(places), len(names)),
        np.array([processors for _, processors in places], float),
        np.array([np.median([run.seconds for run in found[place]]) for place in places]),
        np.array([np.median([run.memory for run in found[place]]) for place in places]),
        np.array([len(found[place]) for place in places]),
    )


def repeat_noise(runs: Sequence[TimedRun]) -> float | None:
    """Return how much repeated runs differ from the median of their others.

    It is the mean, a part of the run time; None where no point has two runs.
    """
    found: dict[tuple[tuple[tuple[str, float], ...], int], list[float]] = {}
    for run in runs:
        found.setdefault((tuple(sorted(run.parameters.items())), run.processors), []).append(run.seconds)
    compared = [times[-_MOST_REPEATS:] for times in found.values() if len(times) > 1]
    off = [
        abs(times[place] / float(np.median(times[:place] + times[place + 1 :])) - 1)
        for times in compared
        for place in range(len(times))
    ]
    return float(np.mean(off)) if off else None


def check_design(points: Points) -> None:
    """Refuse runs that do not tell how the run time grows.

    Raises:
        UserError: too few sizes, too many parameters, some that vary together, or one that is not above 0.
    """
    varying = [points.names[place] for place in points.varying]
    sizes = int(points.sizes.max()) + 1
    if sizes == 1:
        raise UserError(
            "all runs have one size: it cannot be told how the run time grows: run another size "
            "(a constant model was not written)"
        )
    if len(varying) > MOST_PARAMETERS:
        raise UserError(
            f"{len(varying)} parameters vary ({', '.join(varying)}): name the {MOST_PARAMETERS} "
            "that count most with --parameters"
        )
    if sizes < len(varying) + 2:
        raise UserError(
            f"{sizes} sizes are fewer than the terms of {len(varying)} parameters that vary ({', '.join(varying)}): "
            f"run at least {len(varying) + 2}"
        )
    for place in points.varying:
        if points.values[:, place].min() <= 0:
            raise UserError(
                f"{points.names[place]} varies and is {points.values[:, place].min():g} in a run: only what is above 0 "
                "can be fitted; leave these runs out, or the parameter with --parameters"
            )
    _check_independent(points, [*varying, *([PROCESSORS] if points.processors_vary else [])])


def _check_independent(points: Points, names: Sequence[str]) -> None:
    columns = [_column(points, name) for name in names]
    logs = np.log(np.array(columns))
    logs -= logs.mean(axis=1, keepdims=True)
    logs /= np.sqrt((logs**2).sum(axis=1, keepdims=True))
    alike = logs @ logs.T
    for first in range(len(names)):
        for second in range(first + 1, len(names)):
            if abs(alike[first, second]) > _TOGETHER:
                raise _together(points, names[first], names[second])
    values, vectors = np.linalg.eigh(alike)
    if len(names) > 2 and values[0] < _INDEPENDENT:
        which = [name for name, part in zip(names, vectors[:, 0], strict=True) if abs(part) > 0.1]
        raise UserError(
            f"{', '.join(which[:-1])} and {which[-1]} vary together: what the run time grows with cannot be told: "
            f"run sizes in which {which[0]} alone changes"
        )


def _column(points: Points, name: str) -> Floats:
    return points.processors if name == PROCESSORS else np.asarray(points.values[:, points.names.index(name)])


def _together(points: Points, first: str, second: str) -> UserError:
    what = "the number of processors" if second == PROCESSORS else second
    place = points.names.index(first)
    middle = float(np.sort(points.values[:, place])[len(points) // 2])
    other = _column(points, second)
    wish = f"{first} = {middle:g} with {what} = {_other_value(other, points.values[:, place], middle):g}"
    leave = "" if second == PROCESSORS else f", or leave {second} out with --parameters"
    return UserError(
        f"{first} and {what} vary together: which of them the run time grows with cannot be told: run {wish}{leave}"
    )


def _other_value(other: Floats, values: Floats, middle: float) -> float:
    """Return the value farthest from the one that went with the middle."""
    went = float(np.median(other[np.argsort(np.abs(values - middle))[:1]]))
    return float(max(set(other.tolist()), key=lambda value: abs(math.log(value / went))))
