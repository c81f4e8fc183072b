"""Table 1 of the Titan paper: the same tasks first come, first served in three ways, and under the search.

Spooner et al., "Predictive co-scheduling with Titan", section 3: 30 random tasks of five kernels on 16 hosts. Here in
virtual time, all tasks there at the start; `python -m benchmarks.titan_table_1` does it on real hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.settings import Settings
from cosched.coscheduler.task import Task
from cosched.scheduling.baselines import BASELINES
from cosched.simulation.engine import SimulatedDomain
from cosched.simulation.experiment import Experiment, Option, Row
from cosched.simulation.kernels import HOSTS, KERNELS, draw, kernel_profile
from cosched.simulation.planner import Planner
from cosched.simulation.realised import realised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.kernels import Order

__all__ = ["EXPERIMENT"]

_INSTANCE = "00000000-0000-0000-0000-000000000000"  # of simulated domains, which have no database


def _rows(seed: int, options: Mapping[str, float]) -> list[Row]:
    orders = draw(int(options["tasks"]), int(options["kernels"]), seed)
    rows = [_measured(policy, orders, seed, options) for policy in (*BASELINES, "genetic")]
    shortest = float(rows[-1]["makespan"] or 0.0)
    return [row | {"ratio": float(row["makespan"] or 0.0) / shortest} for row in rows]


def _measured(policy: str, orders: Sequence[Order], seed: int, options: Mapping[str, float]) -> Row:
    settings = Settings(_INSTANCE, policy=policy, seed=seed, staging=1.0 if policy == "genetic" else 0.0)
    planner = Planner(int(options["generations"]), seed) if policy == "genetic" else None
    domain = SimulatedDomain(settings, HOSTS, realised(options["noise"], seed), planner)
    for number, order in enumerate(orders, start=1):
        task = Task(id=str(number), number=number, name=order.kernel, application=order.kernel, command=(order.kernel,),
                    submitted=0.0, profile=kernel_profile(order.kernel), deadline=order.allowance)  # fmt: skip
        domain.post(TaskSubmitted(0.0, task))
    domain.run()
    makespan = max(run.finished for run in domain.runs)
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in domain.runs)
    met = sum(run.finished <= orders[int(run.task) - 1].allowance for run in domain.runs)
    return {
        "policy": policy,
        "makespan": makespan,
        "idle": 1 - busy / (makespan * HOSTS),
        "on_time": met / len(orders),
    }


def _published() -> list[Row]:
    published = {"fcfs-arbitrary": (70.08, 0.61), "fcfs-maximum": (69.10, 0.28), "fcfs-calculated": (38.05, 0.14),
                 "genetic": (35.19, 0.21)}  # fmt: skip
    return [
        {"policy": policy, "makespan": minutes * 60, "idle": idle, "ratio": minutes / published["genetic"][0]}
        for policy, (minutes, idle) in published.items()
    ]


EXPERIMENT = Experiment(
    name="titan-table-1",
    reproduces="Titan paper, Table 1: 30 tasks on 16 hosts by batch queue alone and co-scheduled",
    keys=("policy",),
    run=_rows,
    options={
        "tasks": Option(30, "how many tasks", 1, 5000),
        "kernels": Option(5, "how many of the kernels are drawn from", 1, len(KERNELS)),
        "noise": Option(0.05, "standard deviation of ln(actual ÷ predicted)", 0, 2),
        "generations": Option(100, "of the search at each change", 0, 100000),
    },
    paper=_published(),
    note="the paper's tasks are longer than the published kernels' times: compare ratios and idle shares",
)
