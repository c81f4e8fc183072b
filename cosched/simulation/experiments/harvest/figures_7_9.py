"""Figures 7 to 9 of the harvesting paper: how waits and run times follow its policies' parameters.

Lee and Weissman: "Adaptive Resource Scheduling for Network Services", section 5.3. One parameter varies, the others are
those of Table 1. At which load, and for Fig. 8 which two workloads, is not said: ours are all three at 0.7.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.nbody_service import SERVICE_HOSTS, WORKLOADS, ResizeCost, drawn_requests, served

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.tasks import ElasticParameters

__all__ = ["EXPERIMENT"]

_SWEEPS: Mapping[str, tuple[str, ElasticPolicyName, tuple[float, ...]]] = {
    "7": ("HP", ElasticPolicyName.SRT_HARVEST, (1.0, 1.2, 1.5, 1.8, 2.5, 4.0, 8.0)),
    "8": ("WP", ElasticPolicyName.SRT_HARVEST, (0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0)),
    "9": ("IP", ElasticPolicyName.IB_HARVEST, (1.05, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0)),
}


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    for workload in WORKLOADS:
        workloads = [
            drawn_requests(
                workload, options["load"], int(options["requests"]), SERVICE_HOSTS, f"{seed}/{draw}", ResizeCost()
            )
            for draw in range(int(options["draws"]))
        ]
        for figure, (parameter, policy, values) in _SWEEPS.items():
            for value in values:
                parameters = replace(_with(WORKLOADS[workload].parameters, parameter, value), seed=seed)
                times = [served(requests, SERVICE_HOSTS, policy, parameters) for requests in workloads]
                service, wait = fmean(each.service for each in times), fmean(each.wait for each in times)
                rows.append(
                    {
                        "figure": figure,
                        "parameter": parameter,
                        "value": value,
                        "workload": workload,
                        "policy": str(policy),
                        "wait": wait,
                        "run": service - wait,
                        "service": service,
                    }
                )
    return sorted(rows, key=lambda row: str(row["figure"]))


def _with(parameters: ElasticParameters, name: str, value: float) -> ElasticParameters:
    match name:
        case "HP":
            return replace(parameters, harvest=value)
        case "WP":
            return replace(parameters, patience=value)
        case _:
            return replace(parameters, impact=value)


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    found = {}
    for figure, (parameter, _, _) in _SWEEPS.items():
        drawn = [row for row in rows if row["figure"] == figure]
        for measure in ("wait", "service"):
            title = f"Fig. {figure} of the harvesting paper"
            found[f"figure-{figure}-{measure}"] = line_chart(
                drawn, "value", measure, "workload", title, (parameter, f"{measure} (s)")
            )
    return found


EXPERIMENT = Experiment(
    name="harvest-figures-7-9",
    reproduces="harvesting paper, Figs 7 to 9: waits and service times by its policies' parameters",
    keys=("figure", "parameter", "value", "workload", "policy"),
    run=_rows,
    options={
        "requests": ExperimentOption(200, "of a workload", 1, 100_000),
        "draws": ExperimentOption(6, "drawn workloads, over which means are taken", 1, 1000),
        "load": ExperimentOption(0.7, "of the hosts, if each request had its optimal number", 0.01, 10),
    },
    charts=_charts,
    pictures=2 * len(_SWEEPS),
    note="the paper's figures have no numbers: hold the shapes of the curves beside its words (docs/experiments.md)",
)
