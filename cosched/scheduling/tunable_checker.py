"""Is a plan of tunable tasks feasible? Checked from the definition alone, sharing nothing with holes and admission."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.tunable import TunableTask
    from cosched.scheduling.tunable_file import TunableQueue
    from cosched.scheduling.tunable_plan import StageRun, TunablePlan

__all__ = ["check_tunable"]


def check_tunable(queue: TunableQueue, plan: TunablePlan) -> list[str]:
    """Return every fault of a plan as one line each; an empty list means that it is feasible.

    Checked: every task is either refused or runs one of its chains, whole and in order, on as many distinct known hosts
    as each stage needs and for as long, not before its release, each stage by its deadline, and no host does two things
    at a time.
    """
    runs: dict[str, list[StageRun]] = defaultdict(list)
    for run in plan.runs:
        runs[run.task].append(run)
    known = {task.id for task in queue.tasks}
    faults = [f"{name} is not a task of the queue" for name in {*runs, *plan.refused} if name not in known]
    for task in queue.tasks:
        if (task.id in plan.refused) == (task.id in runs):
            faults.append(f"{task.id} is neither refused nor run, or both")
        elif task.id in runs:
            faults += _task_faults(task, sorted(runs[task.id], key=lambda run: run.stage), set(queue.hosts))
    return faults + _overlaps(plan)


def _task_faults(task: TunableTask, runs: list[StageRun], hosts: set[str]) -> list[str]:
    stages = task.chains[runs[0].chain].stages if runs[0].chain < len(task.chains) else ()
    whole = [run.stage for run in runs] == list(range(len(stages)))
    if not whole or any(run.chain != runs[0].chain for run in runs):
        return [f"{task.id} does not run one chain whole"]
    faults = []
    ready = task.release
    for run, stage in zip(runs, stages, strict=True):
        where = f"{task.id}, stage {run.stage}"
        if len(set(run.hosts)) != stage.hosts or len(run.hosts) != stage.hosts or not hosts.issuperset(run.hosts):
            faults.append(f"{where}: not on {stage.hosts} known hosts")
        if not math.isclose(run.end - run.start, stage.seconds, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, run.end)):
            faults.append(f"{where}: takes {run.end - run.start} s, not {stage.seconds} s")
        if run.start < ready:
            faults.append(f"{where}: starts before it may")
        if run.end > task.release + stage.deadline:
            faults.append(f"{where}: ends after its deadline")
        ready = run.end
    return faults


def _overlaps(plan: TunablePlan) -> list[str]:
    on_host = defaultdict(list)
    for run in plan.runs:
        for host in run.hosts:
            on_host[host].append((run.start, run.end, run.task))
    return [
        f"{first[2]} and {second[2]} are on {host} at the same time"
        for host, spans in on_host.items()
        for first, second in pairwise(sorted(spans))
        if second[0] < first[1]
    ]
