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
from cosched.scheduling.gantt import Bar, gantt
from cosched.simulation.engine import SimulatedDomain
from cosched.simulation.experiment import Experiment, Option, Row
from cosched.simulation.kernels import HOSTS, KERNELS, draw, kernel_profile
from cosched.simulation.planner import Planner
from cosched.simulation.realised import realised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.engine import Run
    from cosched.simulation.kernels import Order

__all__ = ["EXPERIMENT"]

_INSTANCE = "00000000-0000-0000-0000-000000000000"  # of simulated domains, which have no database
_POLICIES = (*BASELINES, "genetic")


def _rows(seed: int, options: Mapping[str, float]) -> list[Row]:
    orders = _orders(seed, options)
    rows = [_measured(policy, orders, _simulated(policy, orders, seed, options)) for policy in _POLICIES]
    shortest = float(rows[-1]["makespan"] or 0.0)
    return [row | {"ratio": float(row["makespan"] or 0.0) / shortest} for row in rows]


def _orders(seed: int, options: Mapping[str, float]) -> list[Order]:
    return draw(int(options["tasks"]), int(options["kernels"]), seed)


def _simulated(policy: str, orders: Sequence[Order], seed: int, options: Mapping[str, float]) -> list[Run]:
    settings = Settings(_INSTANCE, policy=policy, seed=seed)
    planner = Planner(int(options["generations"]), seed) if policy == "genetic" else None
    domain = SimulatedDomain(settings, HOSTS, realised(options["noise"], seed), planner)
    for number, order in enumerate(orders, start=1):
        task = Task(id=str(number), number=number, name=order.kernel, application=order.kernel, command=(order.kernel,),
                    submitted=0.0, profile=kernel_profile(order.kernel), deadline=order.allowance)  # fmt: skip
        domain.post(TaskSubmitted(0.0, task))
    domain.run()
    return domain.runs


def _measured(policy: str, orders: Sequence[Order], runs: Sequence[Run]) -> Row:
    makespan = max(run.finished for run in runs)
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in runs)
    met = sum(run.finished <= orders[int(run.task) - 1].allowance for run in runs)
    return {
        "policy": policy,
        "makespan": makespan,
        "idle": 1 - busy / (makespan * HOSTS),
        "on_time": met / len(orders),
    }


def _pictures(_rows: Sequence[Row], seed: int, options: Mapping[str, float]) -> dict[str, str]:
    """Draw the runs as in Fig. 3 of the paper."""
    orders = _orders(seed, options)
    hosts = [f"node{number:02d}" for number in range(1, HOSTS + 1)]
    found = {}
    for policy in _POLICIES:
        bars = [
            Bar(run.task, run.application, run.hosts, run.started, run.finished, orders[int(run.task) - 1].allowance)
            for run in _simulated(policy, orders, seed, options)
        ]
        found[policy] = gantt(bars, hosts, f"{len(orders)} tasks on {HOSTS} hosts: {policy}, seed {seed}", origin=0.0)
    return found


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
    pictures=_pictures,
    note="the paper's tasks are longer than the published kernels' times: compare ratios and idle shares",
)
