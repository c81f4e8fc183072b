"""Runs of a program become a model of its run time.

Start at `fit_runs` and `Fitted`.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.language.vocabulary import PROCESSORS
from cosched.modelling.laws import SHORTEST, Chosen, chosen_law, error_of
from cosched.modelling.points import check_design, points_of, repeat_noise
from cosched.prediction.others.exponents import USUAL_HOSTS_STATED, USUAL_NUMBER, USUAL_NUMBER_STATED
from cosched.prediction.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.modelling.points import Points, TimedRun

    Floats = NDArray[np.float64]

__all__ = [
    "BEYOND",
    "LEAST_TIME",
    "UNSURE_COST",
    "Fitted",
    "Seen",
    "fit_runs",
    "only_class",
    "samples_digest",
    "seen_of",
    "stated_error",
]

_TAIL = 1.645  # standard deviations that nine in ten of normal values lie within

BEYOND = 4.0
"""Times the greatest value seen of a parameter, up to which a model may be asked; likewise below the least."""

UNSURE_COST = round(_TAIL * USUAL_NUMBER_STATED.deviation, 2)
"""Exponent of the run time by which what an operation costs may change where runs take longer than any seen."""

LEAST_TIME = 1e-9
"""Seconds that a formula is taken to give at least where its logarithm is needed."""

_LEAST_ERROR = 0.01
_LEAST_BEYOND = 0.25  # stated error outside of what was seen
_WIDER_BEYOND = 1.3
_FEWEST_HALVED = 6  # sizes, of which the smaller half may foretell the larger
_UNSURE = 1.0  # exponent that may be off by more, from which other values are wished for
_GAP = 4.0  # times as large a value as the next smaller one that was run, from which one between is wished for


@dataclass(frozen=True, slots=True)
class Seen:
    """Sizes and numbers of processors that runs had.

    Attributes:
        values: by parameter the values, ascending.
        processors: the numbers of processors, ascending.
        sizes: how many there are.
    """

    values: Mapping[str, tuple[float, ...]]
    processors: tuple[int, ...]
    sizes: int

    def limits(self, name: str) -> tuple[float, float]:
        """Return between what values a model may be asked: those seen and `BEYOND` times as far, if several were."""
        values = self.values[name]
        low, high = values[0], values[-1]
        if low == high:
            return low, high
        whole = all(value == int(value) for value in values)
        least = max(low / BEYOND, 1.0) if low >= 1 else low / BEYOND
        return (float(math.floor(least)) if whole else least), high * BEYOND

    def ends(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest value of a parameter, or of the number of processors."""
        values = self.processors if name == PROCESSORS else self.values[name]
        return values[0], values[-1]

    def text(self) -> str:
        """Return it as models keep it: `nx 64 1024, Nproc 1 2 4`."""
        parts = [f"{name} {values[0]:.12g} {values[-1]:.12g}" for name, values in self.values.items()]
        return ", ".join([*parts, " ".join([PROCESSORS, *map(str, self.processors)])])


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted law foretells run times, and says how sure it is.

    Attributes:
        application: name of the program.
        hardware: class of the hosts; empty where nobody says.
        runs: how many it comes from.
        digest: of these runs.
        seen: where they were.
        points: those of them that the law comes from.
        chosen: the law, and how it foretold sizes without them.
        noise: mean part by which repeats differ; None where nothing was repeated.
        error: part of the run time within which nine runs in ten stay, inside of what was seen: above; below it is
            `error / (1 + error)`.
        error_beyond: likewise outside, where it is near.
        unsure: by how much the exponents may be off of parameters that vary and, where it does, of the number of
            processors: by so much the error grows the farther outside. Likewise where a run takes longer, or shorter,
            than all that were seen, though each of its parameters may be one of theirs.
    """

    application: str
    hardware: str
    runs: int
    digest: str
    seen: Seen
    points: Points
    chosen: Chosen
    noise: float | None
    error: float
    error_beyond: float
    unsure: Mapping[str, float]

    @property
    def mean_error(self) -> float:
        """Return the mean error of sizes, each foretold by the others."""
        return error_of(self.chosen.off)

    @property
    def worst_error(self) -> float:
        """Return the worst of these errors."""
        return max(error_of(off) for off in self.chosen.off[:, None])

    def predict(self, parameters: Mapping[str, float], processors: int) -> float:
        """Return seconds.

        Args:
            parameters: those of the runs; what never varied may be left out.
            processors: how many in all.

        Raises:
            UserError: a parameter is missing.
        """
        return float(self.chosen.law.seconds(self._place(parameters), np.array([float(processors)]))[0])

    def interval(self, parameters: Mapping[str, float], processors: int) -> tuple[float, float]:
        """Return the range of seconds that nine runs in ten stay in; see `predict`."""
        error, seconds = self.error_at(parameters, processors), self.predict(parameters, processors)
        return seconds / (1 + error), seconds * (1 + error)

    def error_at(self, parameters: Mapping[str, float], processors: int) -> float:
        """Return the error of a run, above; see `predict`."""
        inside, (middle, reach) = self.inside(parameters, processors), self.times
        within = self.error if inside else self.error_beyond
        place = dict(zip(self.points.names, self._place(parameters)[0].tolist(), strict=True))
        place[PROCESSORS] = float(processors)
        formula = self.chosen.law.formula.at(self._place(parameters), np.array([float(processors)]))
        farther = [
            math.log1p(within),
            UNSURE_COST * max(0.0, abs(math.log(max(float(formula[0]), LEAST_TIME) / middle)) - reach),
        ]
        for name, deviation in self.unsure.items():
            low, high = self.seen.ends(name)
            farther.append(deviation * max(0.0, math.log(low / place[name]), math.log(place[name] / high)))
        return math.expm1(math.hypot(*farther))

    @property
    def times(self) -> tuple[float, float]:
        """Return the middle of the run times seen, and how far the longest is off it, as a logarithm."""
        low, high = float(self.points.seconds.min()), float(self.points.seconds.max())
        return math.sqrt(low * high), math.log(high / low) / 2

    def inside(self, parameters: Mapping[str, float], processors: int) -> bool:
        """Return whether a run lies within those seen."""
        place = zip(self.points.names, self._place(parameters)[0].tolist(), strict=True)
        within = all(self.seen.values[name][0] <= value <= self.seen.values[name][-1] for name, value in place)
        return within and self.seen.processors[0] <= processors <= self.seen.processors[-1]

    def _place(self, parameters: Mapping[str, float]) -> Floats:
        given = dict(zip(self.points.names, self.points.values[0].tolist(), strict=True))
        missing = [name for place, name in enumerate(self.points.names) if place in self.points.varying]
        missing = [name for name in missing if name not in parameters]
        if missing:
            raise UserError(f"{self.application} has no value of {missing[0]}: set it")
        return np.array([[float({**given, **parameters}[name]) for name in self.points.names]])

    def wishes(self) -> list[str]:
        """Return hints what to run next, the most important first."""
        return list(_wishes(self))


def fit_runs(application: str, runs: Sequence[TimedRun], levels: Sequence[float] = ()) -> Fitted:
    """Return the law that the runs of a program follow.

    Args:
        application: its name.
        runs: all with the same parameters and of one class of hosts.
        levels: bytes of each cache of the hosts.

    Raises:
        UserError: what runs are missing or cannot be used.
    """
    if not runs:
        raise UserError(f"there are no runs of {application}: name a table or records")
    hardware = only_class(runs)
    points = points_of(runs)
    check_design(points)
    seen, points = seen_of(points), points.thinned()
    noise = repeat_noise(runs)
    floor = (noise or 0.0) / math.sqrt(2 * float(np.median(points.counts)))  # that of a median
    chosen = chosen_law(points, levels, floor)
    error = max(_LEAST_ERROR, stated_error(chosen.off, noise or 0.0, points))
    beyond = max(_LEAST_BEYOND, _WIDER_BEYOND * error, _extrapolated(points, chosen))
    return Fitted(
        application,
        hardware,
        len(runs),
        samples_digest(runs),
        seen,
        points,
        chosen,
        noise,
        _rounded_up(error),
        _rounded_up(beyond),
        _unsure_exponents(points, chosen.off),
    )


def only_class(runs: Sequence[TimedRun]) -> str:
    """Return the class of the hosts of all runs; empty where nobody says.

    Raises:
        UserError: there are several.
    """
    classes = sorted({run.hardware for run in runs})
    if len(classes) > 1:
        raise UserError(
            f"the runs are of several classes of hosts ({', '.join(name or 'unnamed' for name in classes)}): "
            "choose one with --class"
        )
    return classes[0]


def samples_digest(runs: Sequence[TimedRun]) -> str:
    """Return the digest of runs in any order."""
    lines = sorted(
        json.dumps([sorted(run.parameters.items()), run.processors, run.hosts, run.hardware, run.seconds])
        for run in runs
    )
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def seen_of(points: Points) -> Seen:
    """Return the sizes and numbers of processors of points."""
    values = {name: tuple(np.unique(points.values[:, place]).tolist()) for place, name in enumerate(points.names)}
    counts = tuple(int(count) for count in np.unique(points.processors))
    return Seen(values, counts, int(points.sizes.max()) + 1)


def stated_error(off: Floats, noise: float, points: Points) -> float:
    """Return the error to state for a single run at a new size.

    Args:
        off: logarithms of measured over foretold times at sizes left out.
        noise: see `repeat_noise`.
        points: where they were.
    """
    repeats = float(np.median(points.counts))
    among = max(repeats, 2.0)
    single = noise * math.sqrt(math.pi / 2 * (among - 1) / among)  # from the mean distance of a run to its others
    deviation = math.hypot(float(np.sqrt(np.mean(off**2))), single * math.sqrt(1 - 1 / repeats))
    return math.expm1(min(t_quantile(len(np.unique(points.sizes)) - 1) * deviation, 20.0))


def _unsure_exponents(points: Points, off: Floats) -> dict[str, float]:
    """Return by what nine exponents in ten of a law are off at most.

    That is Bayesian linear regression of the logarithms on those of parameters and processors (Gelman and others,
    Bayesian Data Analysis, 2013, 14.8): of a parameter that hardly varied the runs tell as good as nothing.

    Args:
        points: where the runs were.
        off: see `stated_error`; those of one size count as one.
    """
    columns = {points.names[place]: (points.values[:, place], USUAL_NUMBER.deviation) for place in points.varying}
    if points.processors_vary:
        columns[PROCESSORS] = points.processors, USUAL_HOSTS_STATED.deviation
    sizes = int(points.sizes.max()) + 1
    logs = np.array([np.log(values) for values, _ in columns.values()]).reshape(len(columns), len(points))
    logs -= logs.mean(axis=1, keepdims=True)
    variance = max(float(np.mean(off**2)), _LEAST_ERROR**2) * len(points) / sizes
    prior = np.diag([deviation**-2 for _, deviation in columns.values()])
    variances = np.diag(np.linalg.inv(prior + logs @ logs.T / variance))
    tail = t_quantile(sizes - 1)
    return {name: _rounded_up(tail * math.sqrt(each)) for name, each in zip(columns, variances.tolist(), strict=True)}


def _extrapolated(points: Points, chosen: Chosen) -> float:
    """Return the error of larger sizes as the smaller half foretells them.

    0 where the sizes are too few, or none is larger: times in whole seconds may be the same.
    """
    sizes = points.sizes
    several = int(sizes.max()) + 1
    if several < _FEWEST_HALVED:
        return 0.0
    work = np.array([np.median((points.seconds * points.processors)[sizes == size]) for size in range(several)])
    small = work[sizes] <= np.median(work)
    law = None if small.all() else chosen.again(points.where(small))
    if law is None:
        return 0.0
    rest = points.where(~small)
    off = np.abs(np.log(rest.seconds / np.maximum(law.at(rest), SHORTEST)))
    return math.expm1(min(float(np.quantile(off, 0.9)), 20.0))


def _rounded_up(error: float) -> float:
    """Return an error with two digits."""
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    return float(f"{math.ceil(error / step - 1e-9) * step:.2g}")


def _wishes(fitted: Fitted) -> list[str]:
    seen, found = fitted.seen, []
    if not fitted.chosen.law.formula.grows:
        varied = ", ".join(fitted.points.names[place] for place in fitted.points.varying)
        found.append(f"The run time was not seen to grow with {varied} by more than repeats differ: run larger sizes")
    if fitted.noise is None:
        found.append("No size was run twice, so that it is not known how far repeats differ: run one again")
    for name, values in seen.values.items():
        gaps = [(high / low, low, high) for low, high in pairwise(values) if low > 0]
        widest = max(gaps, default=(1.0, 0.0, 0.0))
        if widest[0] > _GAP:
            middle = math.sqrt(widest[1] * widest[2])
            shown = f"{round(middle)}" if all(value == int(value) for value in values) else f"{middle:.3g}"
            found.append(f"Nothing between {name} = {widest[1]:g} and {widest[2]:g} has been seen: run {name}={shown}")
    for name in seen.values:
        (low, high), (least, most) = seen.ends(name), seen.limits(name)
        if fitted.unsure.get(name, 0.0) > _UNSURE:
            other = least if least < low else most
            found.append(
                f"Between {name} = {low:g} and {high:g} it hardly shows how the run time grows with it: "
                f"run {name}={other:g}"
            )
    if len(seen.processors) == 1:
        found.append(
            f"Only {PROCESSORS} = {seen.processors[0]} has been seen, and the model says nothing of others: "
            f"run on {2 * seen.processors[0]}"
        )
    largest = [name for place, name in enumerate(fitted.points.names) if place in fitted.points.varying]
    ends = ", ".join(f"{name} = {seen.values[name][-1]:g}" for name in largest)
    more = " ".join(f"{name}={2 * seen.values[name][-1]:g}" for name in largest[:1])
    found.append(f"Sizes above {ends} have not been seen: run {more} next")
    return found
