"""Figure 6 of the harvesting paper: waits and run times of a service's requests under its policies, and later ones.

Lee and Weissman: "Adaptive Resource Scheduling for Network Services", section 5.2. Their requests and arrivals are not
known (see `nbody_service`), nor the load of the hosts: ours is 0.5, 0.7 and 0.9. Run times are predicted exactly.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.nbody_service import (
    SERVICE_HOSTS,
    WORKLOADS,
    ResizeCost,
    ServiceTimes,
    drawn_requests,
    served,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPERIMENT"]

_LOADS = (0.5, 0.7, 0.9)


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    for workload in WORKLOADS:
        for load in _LOADS:
            rows += _policies(workload, load, seed, options)
    return rows


def _policies(workload: str, load: float, seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    times = {policy: _mean_times(policy, workload, load, seed, options) for policy in ElasticPolicyName}
    moldable, ideal = times[ElasticPolicyName.MOLDABLE_NOW], times[ElasticPolicyName.IDEAL]
    return [
        {
            "workload": workload,
            "load": load,
            "policy": str(policy),
            "wait": mean.wait,
            "run": mean.service - mean.wait,
            "service": mean.service,
            "against_moldable": mean.service / moldable.service - 1,
            "against_ideal": mean.service / ideal.service - 1,
            "resizes": mean.resizes,
        }
        for policy, mean in times.items()
    ]


def _mean_times(
    policy: ElasticPolicyName, workload: str, load: float, seed: int, options: Mapping[str, float]
) -> ServiceTimes:
    hosts, cost = int(options["hosts"]), ResizeCost(options["cost"], options["drain"])
    parameters = replace(WORKLOADS[workload].parameters, payback=options["payback"], seed=seed)
    found = [
        served(
            drawn_requests(workload, load, int(options["requests"]), hosts, f"{seed}/{draw}", cost),
            hosts,
            policy,
            parameters,
        )
        for draw in range(int(options["draws"]))
    ]
    return ServiceTimes(
        fmean(each.service for each in found), fmean(each.wait for each in found), fmean(each.resizes for each in found)
    )


EXPERIMENT = Experiment(
    name="harvest-figure-6",
    reproduces="harvesting paper, Fig. 6: waits, run times and service times of an N-body service's requests",
    keys=("workload", "load", "policy"),
    run=_rows,
    options={
        "requests": ExperimentOption(200, "of a workload", 1, 100_000),
        "draws": ExperimentOption(6, "drawn workloads, over which means are taken", 1, 1000),
        "hosts": ExperimentOption(SERVICE_HOSTS, "processors; ten PCs with two each", 1, 1000),
        "cost": ExperimentOption(0.0, "seconds without progress at each change of a request's hosts", 0, 1e4),
        "drain": ExperimentOption(0.0, "seconds until taken hosts are free", 0, 1e4),
        "payback": ExperimentOption(2.0, "times its cost that a change must save (policy marginal)", 0, 1e4),
    },
    paper=[
        {
            "workload": workload,
            "policy": str(ElasticPolicyName.SRT_HARVEST),
            "against_moldable": -saved,
            "against_ideal": -saved,
        }
        for workload, saved in (("light", 0.40), ("uniform", 0.20), ("heavy", 0.27))
    ],
    note="the paper says 'up to', and not against which of the two policies without harvesting: it stands beside both",
)
