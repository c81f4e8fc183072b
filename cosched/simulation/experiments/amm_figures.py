"""Figures 5 to 7 of the A-MM paper: adaptive mapping against Min-Min and Max-Min.

They also show the effect of its threshold.

Sliamu, Hou, Cao: "Enhanced Adaptive Scheduling for the Grid Harvest Service". Run times are its model: workload ÷
(capability · (1 - utilisation)). It publishes curves without numbers, and does not say how the three were drawn; ours
are drawn so that workloads are uneven, which is the case the algorithm is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.mapping.etc_mapping import CRITICAL, a_mm_at, mapping_makespan, max_min, min_min
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["EXPERIMENT"]

_FIGURES = {
    "5": [(5, tasks) for tasks in (5, 15, 30, 45)],
    "6": [(machines, 20) for machines in range(10, 51, 5)],
    "7": [(5, tasks) for tasks in range(5, 51, 5)],
}
_READINGS = {"a-mm": False, "a-mm-execution": True}


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    draw = np.random.default_rng(seed)
    rows: list[ResultRow] = []
    for figure, sizes in _FIGURES.items():
        for machines, tasks in (size for size in sizes if max(size) <= options["largest"]):
            makespans = _swept(_times(draw, machines, tasks, options))
            rows += [_row(figure, machines, tasks, label, "best", makespans) for label in _best(makespans)]
    machines, tasks = 5, 15
    makespans = _swept(_times(draw, machines, tasks, options))
    rows += [_row("thresholds", machines, tasks, label, at, makespans) for label, at in makespans if label in _READINGS]
    return rows


def _times(draw: np.random.Generator, machines: int, tasks: int, options: Mapping[str, float]) -> NDArray[np.float64]:
    """Return (tasks, machines) run times in seconds."""
    workload = np.exp(draw.uniform(0.0, np.log(options["spread"]), tasks))
    capability = draw.uniform(1.0, 4.0, machines)
    utilisation = draw.uniform(0.0, 0.6, machines)
    times: NDArray[np.float64] = workload[:, None] / (capability * (1 - utilisation))[None, :]
    times *= np.exp(draw.uniform(0.0, np.log(options["unrelated"]), times.shape))
    return times


def _swept(seconds: NDArray[np.float64]) -> dict[tuple[str, str], float]:
    """Return makespans by (mapping, critical value); "never" turns to Max-Min at no dispersion."""
    found = {("min-min", "never"): min_min(seconds), ("max-min", "always"): max_min(seconds)}
    for label, execution in _READINGS.items():
        for critical in CRITICAL:
            found[label, f"{critical:.2f}"] = a_mm_at(seconds, critical, execution=execution)
        found[label, "never"] = found["min-min", "never"]
    return {key: mapping_makespan(seconds, machine) for key, (machine, _) in found.items()}


def _best(makespans: Mapping[tuple[str, str], float]) -> list[str]:
    """Return the mappings in order of appearance, with the sweep as the paper has it.

    That is without "never".
    """
    return [*dict.fromkeys(label for label, _ in makespans), "a-mm as printed"]


def _row(
    figure: str, machines: int, tasks: int, label: str, at: str, makespans: Mapping[tuple[str, str], float]
) -> ResultRow:
    swept = {key[1]: value for key, value in makespans.items() if key[0] == label.removesuffix(" as printed")}
    if label == "a-mm as printed":
        del swept["never"]
    reached = min(swept.values()) if at == "best" else swept[at]
    ratio = reached / makespans["min-min", "never"]
    return {
        "figure": figure,
        "machines": machines,
        "tasks": tasks,
        "mapping": label,
        "threshold": at,
        "makespan": reached,
        "ratio": ratio,
    }


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    return {
        f"figure-{figure}": line_chart(
            drawn, x, "makespan", "mapping", f"Fig. {figure} of the A-MM paper", (x, "makespan (s)")
        )
        for figure, x in {"5": "tasks", "6": "machines", "7": "tasks"}.items()
        if (drawn := [row for row in rows if row["figure"] == figure])
    }


EXPERIMENT = Experiment(
    name="amm-figures",
    reproduces="A-MM paper, Figs 5 to 7: adaptive Min-Min and Max-Min, both readings, every threshold",
    keys=("figure", "machines", "tasks", "mapping", "threshold"),
    run=_rows,
    options={
        "largest": ExperimentOption(50, "leave out sizes of more tasks or machines", 5, 50),
        "spread": ExperimentOption(100.0, "largest workload ÷ smallest", 1, 1e6),
        "unrelated": ExperimentOption(
            1.0, "each task may be up to so many times slower on some machine; 1: as the paper", 1, 1e3
        ),
    },
    charts=_charts,
    pictures=1,
    note="the paper's figures have no numbers: it claims A-MM below Min-Min in all four groups of Fig. 5; "
    "ratio = makespan ÷ Min-Min's",
)
