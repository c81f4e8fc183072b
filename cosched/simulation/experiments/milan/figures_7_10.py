"""Figures 7 to 10 of the MILAN paper: the value of two shapes.

One parameter varies.

Chang, Karamcheti, Kedem: "Exploiting Application Tunability for Efficient, Predictable Parallel Resource Management",
section 5.3. A job has two stages of equal area, one of x processors for t, one of alpha·x for t/alpha; shape 1 begins
with the wide one, shape 2 with the narrow one, the tunable job may do either. Jobs arrive at random (Poisson); each
stage's deadline leaves the laxity's share of the time up to it as slack. What the paper keeps fixed beside x = 8, t = 5
and 10,000 arrivals it does not say: the defaults below are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableTask, admit
from cosched.simulation.chain_domain import serve_chains
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["EXPERIMENT", "SECONDS", "WIDE", "shapes"]

WIDE, SECONDS = 8, 5.0
"""Processors and seconds of a job's wide stage."""

_SWEEPS: dict[str, tuple[str, tuple[float, ...]]] = {
    "7": ("interval", tuple(float(value) for value in range(1, 21))),
    "8": ("laxity", tuple(step / 20 for step in range(1, 20))),
    "9": ("processors", tuple(float(value) for value in range(8, 15))),
    "10": ("alpha", tuple(step / WIDE for step in range(1, WIDE + 1))),
}


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    for figure, (parameter, values) in _SWEEPS.items():
        for value in values:
            rows += _systems(figure, parameter, value, seed, {**options, parameter: value})
    return rows


def _systems(figure: str, parameter: str, value: float, seed: int, options: Mapping[str, float]) -> Iterable[ResultRow]:
    first, second = shapes(options["alpha"], options["laxity"])
    intervals = np.random.default_rng(seed).exponential(options["interval"], int(options["jobs"]))
    arrivals = np.cumsum(intervals).tolist()
    for system, chains in {"tunable": (first, second), "shape 1": (first,), "shape 2": (second,)}.items():
        served = _served_by_core if options["core"] else _served
        utilisation, admitted = served(arrivals, chains, int(options["processors"]))
        yield {
            "figure": figure,
            "parameter": parameter,
            "value": value,
            "system": system,
            "utilisation": utilisation,
            "throughput": admitted / len(arrivals),
        }


def shapes(alpha: float, laxity: float) -> tuple[Chain, Chain]:
    """Return shape 1, which begins with the wide stage, and shape 2."""
    wide, narrow = (WIDE, SECONDS), (round(WIDE * alpha), SECONDS / alpha)
    return _chain((wide, narrow), laxity), _chain((narrow, wide), laxity)


def _chain(shape: tuple[tuple[int, float], ...], laxity: float) -> Chain:
    stages, until = [], 0.0
    for hosts, seconds in shape:
        until += seconds
        stages.append(Stage(hosts, seconds, until / (1 - laxity)))
    return Chain(tuple(stages))


def _served(arrivals: list[float], chains: tuple[Chain, ...], processors: int) -> tuple[float, int]:
    """Return the used share of the processors' time, and the number of admitted jobs."""
    holes = Holes([0.0] * processors)
    used, last, admitted = 0.0, arrivals[-1], 0
    for arrival in arrivals:
        holes.forget(arrival)
        placement = admit(holes, TunableTask("job", arrival, chains))
        if placement is not None:
            admitted += 1
            used += sum(stage.hosts * stage.seconds for stage in placement.stages)
            last = max(last, placement.end)
    return used / (last * processors), admitted


def _served_by_core(arrivals: list[float], chains: tuple[Chain, ...], processors: int) -> tuple[float, int]:
    """Return the same for jobs that the daemon's core admits, plans and dispatches in virtual time."""
    found = [each for each in serve_chains(arrivals, chains, processors) if each is not None]
    used = sum(stage.hosts * stage.seconds for each in found for stage in chains[each.chain].stages)
    return used / (max([arrivals[-1], *[each.end for each in found]]) * processors), len(found)


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    found = {}
    for figure, (parameter, _) in _SWEEPS.items():
        drawn = [row for row in rows if row["figure"] == figure]
        for measure in ("utilisation", "throughput"):
            title = f"Fig. {figure} of the MILAN paper"
            found[f"figure-{figure}-{measure}"] = line_chart(
                drawn, "value", measure, "system", title, (parameter, measure)
            )
    return found


EXPERIMENT = Experiment(
    name="milan-figures-7-10",
    reproduces="MILAN paper, Figs 7 to 10: utilisation and throughput with and without tunability",
    keys=("figure", "parameter", "value", "system"),
    run=_rows,
    options={
        "jobs": ExperimentOption(10000, "arrivals", 1, 1000000),
        "interval": ExperimentOption(10.0, "mean time between arrivals where it does not vary (Fig. 7)", 0.01, 1e4),
        "laxity": ExperimentOption(
            0.5, "slack ÷ time from release to deadline where it does not vary (Fig. 8)", 0, 0.99
        ),
        "processors": ExperimentOption(8, "where they do not vary (Fig. 9)", WIDE, 1000),
        "core": ExperimentOption(0, "1: through the daemon's core (slow: take fewer jobs)", 0, 1),
        "alpha": ExperimentOption(
            0.5, "width of the narrow stage ÷ of the wide one where it does not vary (Fig. 10)", 0.125, 1
        ),
    },
    charts=_charts,
    pictures=2 * len(_SWEEPS),
    note="the paper's figures have no numbers: hold the shapes of the curves beside its words (docs/experiments.md)",
)
