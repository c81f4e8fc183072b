"""Figure 4 of the harvesting paper: how far predictions of an N-body service's requests are off, one after another.

Lee and Weissman: "Adaptive Resource Scheduling for Network Services". Inputs and numbers of hosts are drawn; the run
times are those of a master and its slaves with 3 % noise. Beside the daemon's history stands the paper's own predictor,
a matrix of clusters of inputs by numbers of hosts.
"""

from __future__ import annotations

import math
import random
from statistics import fmean, median
from typing import TYPE_CHECKING

from cosched.prediction.history import Run
from cosched.prediction.learning import LearntRuns
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.nbody_service import SERVICE_HOSTS, request_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXPERIMENT", "PerformanceMatrix"]

_GROUPS = ((2, 10), (11, 20), (21, 40), (41, 100))
_BODIES = 20_000


class PerformanceMatrix:
    """The paper's predictor: columns are numbers of hosts, rows clusters of inputs.

    Where the paper is silent: an input's row is that of the nearest known input within the cluster range (by the
    logarithms of its numbers); of two estimates one is enough; with neither the nearest run decides.
    """

    def __init__(self, cluster_range: float) -> None:
        """Set up.

        Args:
            cluster_range: how far times of one row may be apart on as many hosts, as a part.
        """
        self._range = cluster_range
        self._rows: list[dict[int, list[float]]] = []
        self._inputs: list[tuple[tuple[float, ...], int]] = []  # logarithms, and the row

    def predict(self, numbers: Sequence[float], hosts: int) -> float | None:
        """Return the seconds of a request; None before the first run."""
        if not self._inputs:
            return None
        place = _logarithms(numbers)
        nearest, row = min(self._inputs, key=lambda known: math.dist(known[0], place))
        near = max(abs(a - b) for a, b in zip(nearest, place, strict=True)) <= math.log1p(self._range)
        if near and hosts in self._rows[row]:
            return fmean(self._rows[row][hosts])
        found = []
        if near:
            found.append(_line([(count, fmean(times)) for count, times in self._rows[row].items()], hosts))
        column = [
            (math.dist(known, place), fmean(self._rows[line][hosts]), known)
            for known, line in self._inputs
            if hosts in self._rows[line]
        ]
        two = sorted(column)[:2]
        if len(two) == 2:
            found.append(_line([(sum(known), seconds) for _, seconds, known in two], sum(place)))
        known = [value for value in found if value is not None and value > 0]
        return fmean(known) if known else fmean(next(iter(self._rows[row].values())))

    def learn(self, numbers: Sequence[float], hosts: int, seconds: float) -> None:
        """Put a run into the row whose times it is like, or into one of its own."""
        like = [
            row
            for row, columns in enumerate(self._rows)
            if hosts in columns and abs(seconds / fmean(columns[hosts]) - 1) <= self._range
        ]
        row = like[0] if like else len(self._rows)
        if not like:
            self._rows.append({})
        self._rows[row].setdefault(hosts, []).append(seconds)
        self._inputs.append((_logarithms(numbers), row))


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    errors: dict[tuple[str, tuple[int, int]], list[float]] = {}
    for service in range(int(options["services"])):
        draw = random.Random(f"{seed}/{service}")  # noqa: S311  a repeatable draw, not a secret
        requests = [_request(draw, options["least_bodies"], options["noise"]) for _ in range(int(options["requests"]))]
        matrix = PerformanceMatrix(options["cluster_range"])
        known, runs = LearntRuns(), []
        for number, run in enumerate(requests, start=1):
            group = next((each for each in _GROUPS if each[0] <= number <= each[1]), None)
            foretold = {"history": _foretold(known, run), "matrix": matrix.predict(run.numbers, run.hosts)}
            for name, seconds in foretold.items():
                if group is not None and seconds is not None:
                    errors.setdefault((name, group), []).append(abs(seconds / run.seconds - 1))
            matrix.learn(run.numbers, run.hosts, run.seconds)
            runs.append(run)
            known = known.with_runs([run]) or LearntRuns.of(runs)
    return [
        {
            "predictor": name,
            "requests": f"{group[0]}-{group[1]}",
            "mean_error": fmean(values),
            "median_error": median(values),
        }
        for (name, group), values in sorted(errors.items())
    ]


def _request(draw: random.Random, least_bodies: float, noise: float) -> Run:
    """Return a request's run: its numbers are end time, length of a step, and bodies; it starts at time 0."""
    end, step = draw.uniform(1.0, 10.0), draw.choice((0.01, 0.02, 0.05, 0.1))
    bodies, hosts = (
        float(round(math.exp(draw.uniform(math.log(least_bodies), math.log(_BODIES))))),
        draw.randint(1, SERVICE_HOSTS),
    )
    seconds = request_seconds(end / step, bodies, hosts)
    return Run((end, step, bodies), hosts, "", seconds * math.exp(draw.gauss(0.0, noise)))


def _foretold(known: LearntRuns, run: Run) -> float | None:
    if known.history is None:
        return None
    return float(known.history.predict(run.numbers, [run.hosts], run.hardware)[0][0])


def _logarithms(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(math.log, numbers))


def _line(points: Sequence[tuple[float, float]], place: float) -> float | None:
    """Return the value at a place of the line through the two nearest points; None where there are no two."""
    near = sorted(points, key=lambda point: abs(point[0] - place))[:2]
    if len(near) < 2 or near[0][0] == near[1][0]:
        return None
    (x, y), (other_x, other_y) = near
    return y + (other_y - y) * (place - x) / (other_x - x)


EXPERIMENT = Experiment(
    name="harvest-figure-4",
    reproduces="harvesting paper, Fig. 4: errors of predicted run times, by number of requests",
    keys=("predictor", "requests"),
    run=_rows,
    options={
        "services": ExperimentOption(10, "services, each with requests of its own", 1, 1000),
        "requests": ExperimentOption(_GROUPS[-1][1], "of each service", _GROUPS[0][0], _GROUPS[-1][1]),
        "least_bodies": ExperimentOption(2000, f"of a request; the most are {_BODIES}", 1, _BODIES),
        "noise": ExperimentOption(0.03, "standard deviation of ln(actual ÷ expected)", 0, 1),
        "cluster_range": ExperimentOption(0.05, "of the matrix", 0, 1),
    },
    paper=({"predictor": "matrix", "requests": "41-100", "mean_error": 0.04},),
    note="the paper says 'within 4 %' after its learning phase, whose length it does not give",
)
