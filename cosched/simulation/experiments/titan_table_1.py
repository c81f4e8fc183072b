"""Table 1 of the Titan paper: three first-come-first-served policies and the search.

They run the same tasks.

Spooner et al., "Predictive co-scheduling with Titan", section 3: 30 random tasks of five kernels on 16 hosts. Here in
virtual time, all tasks there at the start; `python -m benchmarks.titan_table_1` does it on real hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.drawing.gantt import GanttBar, gantt
from cosched.scheduling.policies import USER_COUNT_POLICIES
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.kernel_batch import run_batch
from cosched.simulation.kernels import HOSTS, KERNELS, draw_kernel_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.kernels import KernelTask
    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["EXPERIMENT"]

_POLICIES = (*USER_COUNT_POLICIES, "genetic")


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    orders = _orders(seed, options)
    rows = [_measured(policy, orders, _simulated(policy, orders, seed, options)) for policy in _POLICIES]
    shortest = float(rows[-1]["makespan"] or 0.0)
    return [row | {"ratio": float(row["makespan"] or 0.0) / shortest} for row in rows]


def _orders(seed: int, options: Mapping[str, float]) -> list[KernelTask]:
    return draw_kernel_tasks(int(options["tasks"]), seed, kernels=int(options["kernels"]))


def _simulated(
    policy: str, orders: Sequence[KernelTask], seed: int, options: Mapping[str, float]
) -> list[SimulatedRun]:
    return run_batch(orders, policy, options["noise"], seed, generations=int(options["generations"]))


def _measured(policy: str, orders: Sequence[KernelTask], runs: Sequence[SimulatedRun]) -> ResultRow:
    makespan = max(run.finished for run in runs)
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in runs)
    met = sum(run.finished <= orders[int(run.task) - 1].relative_deadline for run in runs)
    return {
        "policy": policy,
        "makespan": makespan,
        "idle": 1 - busy / (makespan * HOSTS),
        "on_time": met / len(orders),
    }


def _charts(_rows: Sequence[ResultRow], seed: int, options: Mapping[str, float]) -> dict[str, str]:
    """Draw the runs as in Fig. 3 of the paper."""
    orders = _orders(seed, options)
    hosts = [f"node{number:02d}" for number in range(1, HOSTS + 1)]
    found = {}
    for policy in _POLICIES:
        bars = [
            GanttBar(
                run.task,
                run.application,
                run.hosts,
                run.started,
                run.finished,
                orders[int(run.task) - 1].relative_deadline,
            )
            for run in _simulated(policy, orders, seed, options)
        ]
        found[policy] = gantt(bars, hosts, f"{len(orders)} tasks on {HOSTS} hosts: {policy}, seed {seed}", origin=0.0)
    return found


def _published() -> list[ResultRow]:
    published = {
        "fcfs-arbitrary": (70.08, 0.61),
        "fcfs-maximum": (69.10, 0.28),
        "fcfs-calculated": (38.05, 0.14),
        "genetic": (35.19, 0.21),
    }
    return [
        {"policy": policy, "makespan": minutes * 60, "idle": idle, "ratio": minutes / published["genetic"][0]}
        for policy, (minutes, idle) in published.items()
    ]


EXPERIMENT = Experiment(
    name="titan-table-1",
    reproduces="Titan paper, Table 1: 30 tasks on 16 hosts by batch queue alone and co-scheduled",
    keys=("policy",),
    run=_rows,
    searches=True,
    options={
        "tasks": ExperimentOption(30, "how many tasks", 1, 5000),
        "kernels": ExperimentOption(5, "how many of the kernels are drawn from", 1, len(KERNELS)),
        "noise": ExperimentOption(0.05, "standard deviation of ln(actual ÷ predicted)", 0, 2),
        "generations": ExperimentOption(100, "of the search at each change", 0, 100000),
    },
    paper=_published(),
    charts=_charts,
    pictures=len(_POLICIES),
    note="the paper's tasks are longer than the published kernels' times: compare ratios and idle shares",
)
