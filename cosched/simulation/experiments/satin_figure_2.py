"""Figure 2 of the Satin paper: a program of fifteen iterations in trouble, with and without self-adaptation.

Wrzesinska, Maassen and Bal: "Self-adaptive applications on the Grid", section 5. The model of the program has one
figure of the paper: 50 % efficiency on 36 nodes, 100 s an iteration; that is an average parallelism of 35. How long
iterations last in trouble the model cannot know: they last as published, and by how many times less the rest of the
program would be held up follows. Start at `_SCENARIOS`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.prediction.efficiency import parallel_speedup
from cosched.scheduling.elastic.adaptation import AdaptationParameters
from cosched.simulation.efficiency_world import Crash, IterativeProgram, Monitoring, Trouble, run_iterations
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.efficiency_world import TroubledRun

__all__ = ["EXPERIMENT", "iteration_seconds"]

_ITERATIONS, _NODES, _ITERATION, _EFFICIENCY = 15, 36, 100.0, 0.5
_WORK = _ITERATION * _NODES * _EFFICIENCY
_SPEEDUP = _NODES * _EFFICIENCY
_PARALLELISM = _SPEEDUP * (_NODES - 1) / (_NODES - _SPEEDUP)
_CLUSTERS = {
    "leiden": 72,
    "amsterdam": 32,
    "delft": 32,
    "utrecht": 32,
    "vrije": 32,
}  # one of 72 nodes, the others of 32
_THREE = {"leiden": 12, "amsterdam": 12, "delft": 12}
_LOADED, _LINKED = "amsterdam", "delft"
_LOADED_AT, _CRASHED_AT = 200.0, 500.0
_LIGHTLY_LOADED = 1 / 5  # "approximately 5 times" slower
_ALL = "all"


@dataclass(frozen=True, slots=True)
class _Scenario:
    """A scenario of the paper's section 5.

    Attributes:
        begins: workers that begin in each cluster.
        linked: shortest and longest iteration as published while a link is overloaded, seconds; None: no link is.
        loaded: whether one cluster's processors are slow, "heavily" from a time on or "lightly" from the start.
        crashes: whether two clusters crash.
        adapts: whether the advice is followed.
    """

    begins: Mapping[str, int]
    linked: tuple[float, float] | None = None
    loaded: str = ""
    crashes: bool = False
    adapts: bool = True


_SCENARIOS = {
    "0": _Scenario(_THREE, adapts=False),
    "1a": _Scenario({"leiden": 8}),
    "1b": _Scenario({"leiden": 8, "amsterdam": 8}),
    "1c": _Scenario({"leiden": 12, "amsterdam": 12}),
    "2": _Scenario(_THREE, loaded="heavily"),
    "3": _Scenario(_THREE, linked=(170.0, 890.0)),
    "4": _Scenario(_THREE, linked=(200.0, 1150.0), loaded="lightly"),
    "5": _Scenario(_THREE, crashes=True),
}


def iteration_seconds(shortest: float, longest: float, count: int) -> list[float]:
    """Return as many durations as are expected where the shortest and the longest are these.

    They are the expected order statistics of an exponential law above a least value: the law of greatest entropy where
    no more is known of a wait than that it has a mean.
    """
    harmonic = [sum(1 / (count - below) for below in range(place + 1)) for place in range(count)]
    if count == 1:
        return [(shortest + longest) / 2]
    mean = (longest - shortest) / (harmonic[-1] - harmonic[0])
    return [shortest + mean * (each - harmonic[0]) for each in harmonic]


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    for name, scenario in _SCENARIOS.items():
        orders = range(int(options["orders"])) if scenario.linked is not None else range(1)
        runs = [_runs(scenario, f"{seed}/{name}/{order}", options) for order in orders]
        fixed, adaptive = (fmean(run.seconds for run in each) for each in zip(*runs, strict=True))
        rows.append(
            {
                "scenario": name,
                "iteration": _ALL,
                "fixed": fixed,
                "adaptive": adaptive,
                "change": adaptive / fixed - 1,
                "shorter": fmean(without.durations[-1] / run.durations[-1] for without, run in runs),
                "hosts": fmean(run.hosts[-1] for _, run in runs),
            }
        )
        if options["series"]:
            rows += _series(name, *runs[0])
    return rows


def _series(name: str, fixed: TroubledRun, adaptive: TroubledRun) -> list[ResultRow]:
    return [
        {
            "scenario": name,
            "iteration": str(number),
            "fixed": without,
            "adaptive": seconds,
            "change": seconds / without - 1,
            "shorter": without / seconds,
            "hosts": float(hosts),
        }
        for number, (without, seconds, hosts) in enumerate(
            zip(fixed.durations, adaptive.durations, adaptive.hosts, strict=True), start=1
        )
    ]


def _runs(scenario: _Scenario, seed: str, options: Mapping[str, float]) -> tuple[TroubledRun, TroubledRun]:
    """Return the run without and with adaptation, both in the same trouble."""
    program = IterativeProgram(_ITERATIONS, _WORK, _PARALLELISM, options["resize"], _CLUSTERS, scenario.begins)
    troubles = _troubles(scenario, seed, options)
    crash = Crash(("amsterdam", "delft"), _CRASHED_AT) if scenario.crashes else None
    parameters = AdaptationParameters(options["e_min"], options["e_max"])
    monitoring = Monitoring(options["period"], options["overhead"], scenario.adapts, parameters)
    return run_iterations(program, troubles, crash), run_iterations(program, troubles, crash, monitoring)


def _troubles(scenario: _Scenario, seed: str, options: Mapping[str, float]) -> list[Trouble]:
    found = []
    speeds = float(sum(scenario.begins.values()))
    if scenario.loaded:
        slow = _LIGHTLY_LOADED if scenario.loaded == "lightly" else 1 / options["load"]
        speeds -= scenario.begins[_LOADED] * (1 - slow)
        heavily = scenario.loaded == "heavily"
        lasts = (_held_up(options["load"] * _ITERATION, speeds),) if heavily else (1.0,)
        found.append(Trouble(_LOADED, _LOADED_AT if heavily else 0.0, slow, lasts))
    if scenario.linked is not None:
        seconds = iteration_seconds(*scenario.linked, _ITERATIONS)
        random.Random(seed).shuffle(seconds)  # noqa: S311  a repeatable draw, not a secret
        found.append(Trouble(_LINKED, hold_up=tuple(_held_up(each, speeds) for each in seconds), link=True))
    return found


def _held_up(seconds: float, speeds: float) -> float:
    """Return by how many times an iteration of so many seconds is longer than the model's own on these speeds."""
    return seconds * parallel_speedup(speeds, _PARALLELISM) / _WORK


def _charts(rows: Sequence[ResultRow], seed: int, options: Mapping[str, float]) -> dict[str, str]:
    """Draw Figs 3 to 7: the iterations of each scenario."""
    del rows
    found = {}
    for name, scenario in _SCENARIOS.items():
        runs = dict(zip(("fixed", "adaptive"), _runs(scenario, f"{seed}/{name}/0", options), strict=True))
        points: list[ResultRow] = [
            {"iteration": float(number), "seconds": seconds, "run": label}
            for label, run in runs.items()
            for number, seconds in enumerate(run.durations, start=1)
        ]
        title = f"Satin paper, scenario {name}"
        found[f"scenario-{name}"] = line_chart(
            points, "iteration", "seconds", "run", title, ("iteration", "seconds"), dashed="fixed"
        )
    return found


_PAPER = {
    "0": (0.15, None),
    "1a": (-0.50, 3.0),
    "1b": (-0.35, 1.7),
    "1c": (-0.12, 1.2),
    "2": (-0.14, None),
    "3": (-0.60, None),
    "4": (-0.30, None),
    "5": (-0.13, None),
}

EXPERIMENT = Experiment(
    name="satin-figure-2",
    reproduces="Satin paper, Fig. 2: run time of Barnes-Hut in trouble with self-adaptation against without",
    keys=("scenario", "iteration"),
    run=_rows,
    options={
        "overhead": ExperimentOption(0.15, "of measurements; the paper's, 0.06 at a period of 10 minutes", 0, 10),
        "period": ExperimentOption(180.0, "seconds between advice", 1, 1e5),
        "resize": ExperimentOption(5.0, "seconds without progress at each change of workers", 0, 1e4),
        "load": ExperimentOption(2.0, "times longer iterations in scenario 2; the paper: 2 to 3", 1, 100),
        "e_min": ExperimentOption(0.3, "workers leave below this efficiency", 0, 1),
        "e_max": ExperimentOption(0.5, "workers are added above this efficiency", 0.01, 1),
        "orders": ExperimentOption(20, "drawn orders of the iterations' durations (scenarios 3 and 4)", 1, 1000),
        "series": ExperimentOption(0, "1: a row for each iteration, too (Figs 3 to 7; of the first order)", 0, 1),
    },
    paper=[
        {"scenario": name, "iteration": _ALL, "change": change, "shorter": shorter}
        for name, (change, shorter) in _PAPER.items()
    ],
    charts=_charts,
    pictures=len(_SCENARIOS),
    note="change: run time with adaptation against without; shorter: last iteration without ÷ with",
)
