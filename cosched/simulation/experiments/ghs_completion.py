"""Completion on hosts that are not ours alone: the formulas against owners that come and go in virtual time.

The A-MM paper ("Enhanced Adaptive Scheduling for the Grid Harvest Service", section 2.2) prints the distribution that
GHS predicts, and no figure of how near it comes. Each row says how far the formula is off: in the mean, in the standard
deviation and in the distribution, there the largest difference of two probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.loads.completion import LastCompletion, interrupted_together, restarted
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.loaded_hosts import OwnerHabits, completion_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.prediction.loads.completion import Distribution

__all__ = ["EXPERIMENT"]

_WORK = 3600.0  # seconds
_PRESENCE = 120.0  # seconds
_LOADS = (0.1, 0.2, 0.35, 0.5)
_VARIATIONS = (0.5, 1.0, 2.0)
_SHARED_DEPTH = 0.5  # one process of the owner's beside ours on each processor
_EXCHANGES = 2.0  # the work of an evicted program in mean absences of the owner; more would hardly ever end
_EVICTED_RUNS = 10  # times as many: their ends are spread as widely as they are late


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    draw = np.random.default_rng(seed)
    runs = int(options["runs"])
    return [_row(draw, runs, *case) for case in _cases()]


def _cases() -> Iterator[tuple[str, int, float, float]]:
    """Yield (what an owner does to programs, hosts, load, variation of his presence)."""
    for load in _LOADS:
        for variation in _VARIATIONS:
            for way, hosts in (("suspend", 1), ("share", 1), ("evict", 1), ("coupled", 4), ("independent", 8)):
                if way != "coupled" or load <= _LOADS[1]:  # four hosts at 0.5 advance in a sixteenth of the time
                    yield way, hosts, load, variation


def _row(draw: np.random.Generator, runs: int, way: str, hosts: int, load: float, variation: float) -> ResultRow:
    depth = _SHARED_DEPTH if way == "share" else 1.0
    busy = load / depth if way == "share" and load < depth else load
    habits = OwnerHabits(_PRESENCE * (1 - busy) / busy, _PRESENCE, variation, depth)
    work = min(_WORK, _EXCHANGES * habits.idle) if way == "evict" else _WORK
    expected: Distribution
    if way == "evict":
        expected = restarted(work, habits.load)
        times = completion_times(draw, work, habits, 1, _EVICTED_RUNS * runs, evict=True)
    elif way == "independent":
        expected = LastCompletion([interrupted_together(work, (habits.load,))] * hosts)
        times = completion_times(draw, work, habits, 1, runs * hosts).reshape(runs, hosts).max(axis=1)
    else:
        expected = interrupted_together(work, (habits.load,) * hosts)
        times = completion_times(draw, work, habits, hosts, runs)
    mean, deviation = float(times.mean()), float(times.std())
    return {
        "way": way,
        "hosts": hosts,
        "load": load,
        "variation": variation,
        "work": work,
        "mean": mean,
        "formula": expected.mean,
        "mean error": expected.mean / mean - 1,
        "deviation": deviation,
        "deviation error": expected.deviation / deviation - 1,
        "distribution error": _distance(times, expected),
        "within 95 %": float((times <= expected.quantile(0.95)).mean()),
    }


def _distance(times: NDArray[np.float64], expected: Distribution) -> float:
    """Return the largest difference between the part of the runs that have ended and its prediction."""
    points = np.unique(np.quantile(times, np.linspace(0.0, 1.0, min(len(times) // 10, 200) + 1)))
    return max(abs(float((times <= point).mean()) - expected.within(float(point))) for point in points)


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    drawn = [row | {"slower": float(row["mean"] or 0.0) / float(row["work"] or 1.0)} for row in rows]
    drawn = [row for row in drawn if row["variation"] == 1.0 and row["way"] != "coupled"]
    return {
        "slower": line_chart(
            drawn, "load", "slower", "way", "Programs on hosts with owners", ("load", "time ÷ undisturbed time")
        )
    }


EXPERIMENT = Experiment(
    name="ghs-completion",
    reproduces="GHS, Pr{T <= t} of the A-MM paper, section 2.2: predicted completion against simulated owners",
    keys=("way", "hosts", "load", "variation"),
    run=_rows,
    options={"runs": ExperimentOption(4000, "simulated runs a row", 100, 200_000)},
    charts=_charts,
    pictures=1,
    note="the paper prints the formula without figures; errors are prediction ÷ simulation - 1, that of the "
    "distribution the largest difference of two probabilities",
)
