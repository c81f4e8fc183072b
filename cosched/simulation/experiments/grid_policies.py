"""Beyond the papers: titan-table-2's agents against other placements, with growing prediction errors.

The others place each request once, when it is submitted, by a broker that sees all domains as they are; only the race
submits everywhere and calls the other copies off. Every domain is under the same genetic search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.experiments import titan_table_2
from cosched.simulation.placement_rules import PlacementRule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXPERIMENT"]

_ERRORS = (0.0, 0.05, 0.12, 0.30)
_MEASURES = ("makespan", "average_delay", "utilisation", "on_time", "moved", "messages")


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    load, rate = int(options["requests"]), int(options["rate"])
    rows: list[ResultRow] = []
    for error in _ERRORS if options["error"] < 0 else (options["error"],):
        settings = titan_table_2.EXPERIMENT.settings({}) | {
            "noise": error,
            "first": options["first"],
            "generations": options["generations"],
        }
        for label in ("agents", *(str(placement) for placement in PlacementRule)):
            found = titan_table_2.measured_row(load, rate, label, seed, settings)
            measured: ResultRow = {column: found[column] for column in _MEASURES}
            rows.append({"error": error, "policy": label, **measured})
    return rows


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    title, x = "Sixteen domains", "standard deviation of ln(actual ÷ predicted)"
    return {
        "makespan": line_chart(rows, "error", "makespan", "policy", title, (x, "makespan (s)")),
        "on-time": line_chart(rows, "error", "on_time", "policy", title, (x, "share of deadlines met")),
    }


EXPERIMENT = Experiment(
    name="grid-policies",
    reproduces="Beyond the papers: agents against random, least-loaded, earliest-start and race-to-start placement",
    keys=("error", "policy"),
    run=_rows,
    searches=True,
    options={
        "requests": ExperimentOption(500, "how many", 1, 1000),
        "rate": ExperimentOption(2, "requests a second", 1, 100),
        "first": ExperimentOption(0, "run only the first N requests; 0: all", 0, 1000),
        "error": ExperimentOption(-1.0, "only this error of prediction; -1: 0, 5, 12 and 30 %", -1, 2),
        "generations": ExperimentOption(20, "of each domain's search at each change", 0, 100000),
    },
    charts=_charts,
    pictures=2,
)
