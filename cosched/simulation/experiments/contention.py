"""Tasks side by side on shared nodes that cost one another time: planned as alone, as stated, and as learnt.

Four programs, from one that nothing slows to one that is slowed most, wait for nodes of 64 cores. What the first and
the second half of the runs took is held against what was predicted as they began. Start at `_rows`.
"""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from cosched.connector.hosts import Host
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.profile import PredictionSource, Profile
from cosched.simulation.contending_hosts import ContendingDomain
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.simulated_domain import SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.attempts.attempt import Attempt

__all__ = ["EXPERIMENT"]

_INSTANCE = "00000000-0000-0000-0000-000000000023"
_CORES, _MEMORY = 64, 256 * 1024
_PROGRAMS = 4
_WIDTHS = (4, 8, 16, 32)
_CLASS = "node"


class _Domain(ContendingDomain):
    """A domain that notes what was predicted of each task as it began.

    Attributes:
        predicted: seconds, by task.
    """

    predicted: dict[str, float]

    def _start(self, attempt: Attempt, task: Task) -> None:
        assert attempt.predicted is not None
        self.predicted[task.id] = attempt.predicted
        super()._start(attempt, task)


def _program(number: int) -> int:
    return number % _PROGRAMS


def _tasks(draw: np.random.Generator, count: int, nodes: int) -> list[Task]:
    """Return tasks of 4 to 32 cores whose arrivals keep the nodes full, each with a deadline."""
    widths, seconds = draw.choice(_WIDTHS, count), draw.lognormal(math.log(300.0), 0.6, count)
    times = np.cumsum(draw.exponential(seconds.mean() * float(widths.mean()) / (nodes * _CORES), count))
    slack = draw.uniform(2.0, 6.0, count)
    found = []
    for number, (cores, alone, time, ratio) in enumerate(
        zip(widths.tolist(), seconds.tolist(), times.tolist(), slack.tolist(), strict=True), start=1
    ):
        name = f"program-{_program(number)}"
        spec = TaskSpec(name, name, ("/bin/true",), deadline=time + alone * ratio, best_effort=True, cores=cores)
        profile = Profile((alone,), PredictionSource.MODEL, _CLASS)
        found.append(Task(str(number), number, time, spec, profile=profile, correction=f"{name}/{_CLASS}"))
    return found


def _alone(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.on(count)


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    nodes, most = int(options["nodes"]), options["slowdown"]
    slowdowns = [most * number / (_PROGRAMS - 1) for number in range(_PROGRAMS)]
    hosts = [Host(f"node{number:02}", _CLASS, memory=_MEMORY, cores=_CORES) for number in range(1, nodes + 1)]
    rows: list[ResultRow] = []
    for way, stated in (("learnt", {}), ("stated, then learnt", {_CLASS: fmean(slowdowns)})):
        tasks = _tasks(np.random.default_rng(seed), int(options["tasks"]), nodes)
        settings = CoreSettings(_INSTANCE, staging=0.0, share_hosts=True, contention=stated)
        generations = int(options["generations"])
        planner = SimulatedPlanner(generations, seed) if generations else None
        domain = _Domain(settings, hosts, _alone, lambda task: slowdowns[_program(task.number)], planner)
        domain.predicted = {}
        for task in tasks:
            domain.post(TaskSubmitted(task.submitted, task))
        domain.run()
        due = {task.id: task.spec.deadline or math.inf for task in tasks}
        runs = sorted(domain.runs, key=lambda run: run.started)
        for part, some in (("first half", runs[: len(runs) // 2]), ("second half", runs[len(runs) // 2 :])):
            ratios = [(run.finished - run.started) / domain.predicted[run.task] for run in some]
            rows.append(
                {
                    "way": way,
                    "runs": part,
                    "longer": median(ratios) - 1,
                    "error": median(abs(math.log(ratio)) for ratio in ratios),
                    "on_time": fmean(run.finished <= due[run.task] for run in some),
                    "makespan": max(run.finished for run in runs),
                }
            )
    return rows


EXPERIMENT = Experiment(
    name="contention",
    reproduces="Beyond the papers: what tasks side by side on shared nodes cost one another, stated and learnt",
    keys=("way", "runs"),
    run=_rows,
    searches=True,
    options={
        "tasks": ExperimentOption(200, "number of tasks", 8, 5000),
        "nodes": ExperimentOption(4, "number of nodes of 64 cores", 1, 64),
        "slowdown": ExperimentOption(0.6, "of the program that is slowed most, on a node that others fill", 0.0, 3.0),
        "generations": ExperimentOption(20, "generations of the search at each change", 0, 10_000),
    },
    note="longer: median of actual ÷ predicted - 1; error: median of |ln(actual ÷ predicted)|",
)
