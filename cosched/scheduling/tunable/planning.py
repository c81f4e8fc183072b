"""Tunable tasks are admitted or refused as they arrive, and admitted ones get hosts.

`check_tunable` tests a plan from the definition alone; `plan_moldable` treats every useful host count of a moldable
task as a chain of one stage.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import dependency_order
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.host_counts import best_seconds, useful_counts
from cosched.scheduling.plan import Plan
from cosched.scheduling.tunable.tasks import AdmissionRule, Chain, Stage, TunableTask, admit, is_late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.tunable.tasks import TunablePlacement, TunableQueue

__all__ = [
    "RuleOutcome",
    "StageRun",
    "TunablePlan",
    "check_tunable",
    "plan_by_rule",
    "plan_moldable",
    "plan_tunable",
]

_MOST_ALONE = 16  # ways that are tried as the only one of every task


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of an admitted task.

    Attributes:
        task: name of the task.
        chain: index of the chain chosen.
        stage: index in the chain.
        name: name of the stage, for people; may be empty.
        hosts: names of the hosts it holds, in the order of the queue's.
        start: seconds.
        end: seconds.
    """

    task: str
    chain: int
    stage: int
    name: str
    hosts: tuple[str, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class TunablePlan:
    """Admitted tasks by arrival, refused ones, and every stage by its start.

    Attributes:
        rule: by which they were admitted.
        compared: what each rule that was tried admits, the one that was kept, too.
    """

    placements: tuple[TunablePlacement, ...]
    refused: tuple[str, ...]
    runs: tuple[StageRun, ...]
    rule: str = ""
    compared: tuple[RuleOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What one rule makes of a queue: how many tasks it admits, and the sum of their qualities."""

    rule: str
    admitted: int
    quality: float


def plan_tunable(queue: TunableQueue) -> TunablePlan:
    """Return the best of the plans that a few rules make; each admits tasks by arrival, without looking ahead.

    The rules are those of `AdmissionRule`, and each way alone, the first of every task, the second, and so on, of at
    most 16: freedom to choose makes no queue worse. The plan of the highest quality in all is kept, of equals that with
    most tasks, then that of the earlier rule.
    """
    plans = [plan_by_rule(queue, rule) for rule in AdmissionRule]
    fewest = min((len(task.chains) for task in queue.tasks), default=0)
    for way in range(min(fewest, _MOST_ALONE) if fewest > 1 else 0):
        alone = [replace(task, chains=task.chains[way : way + 1]) for task in queue.tasks]
        found = plan_by_rule(replace(queue, tasks=tuple(alone)), AdmissionRule.PAPER)
        placements = tuple([replace(each, chain=way) for each in found.placements])
        runs = tuple([replace(each, chain=way) for each in found.runs])
        plans.append(replace(found, placements=placements, runs=runs, rule=f"way {way + 1} alone"))
    compared = tuple([_outcome(plan) for plan in plans])
    best = max(range(len(plans)), key=lambda place: (*_worth(compared[place]), -place))
    return replace(plans[best], compared=compared)


def _outcome(plan: TunablePlan) -> RuleOutcome:
    qualities = [math.prod(stage.quality for stage in placement.stages) for placement in plan.placements]
    return RuleOutcome(plan.rule, len(qualities), math.fsum(qualities))


def _worth(outcome: RuleOutcome) -> tuple[float, int]:
    return round(outcome.quality, 9), outcome.admitted


def plan_by_rule(queue: TunableQueue, rule: AdmissionRule) -> TunablePlan:
    """Admit tasks one by one in order of release and position, without looking ahead."""
    holes = Holes([0.0] * len(queue.hosts))
    placements, refused = [], []
    for task in sorted(queue.tasks, key=lambda task: task.release):
        holes.forget(task.release)
        placement = admit(holes, task, rule)
        if placement is None:
            refused.append(task.id)
        else:
            placements.append(placement)
    return TunablePlan(tuple(placements), tuple(refused), tuple(_runs(placements, queue.hosts)), str(rule))


def _runs(placements: Sequence[TunablePlacement], hosts: Sequence[str]) -> list[StageRun]:
    """Give each stage the first idle hosts at its start.

    The holes have ensured that enough are idle.
    """
    waiting = [(start, placement, stage) for placement in placements for stage, start in enumerate(placement.starts)]
    waiting.sort(key=lambda item: item[0])
    idle = list(range(len(hosts)))
    busy: list[tuple[float, list[int]]] = []
    runs = []
    for start, placement, stage in waiting:
        while busy and busy[0][0] <= start:
            for host in heapq.heappop(busy)[1]:
                heapq.heappush(idle, host)
        work = placement.stages[stage]
        taken = [heapq.heappop(idle) for _ in range(work.hosts)]
        end = start + work.seconds
        heapq.heappush(busy, (end, taken))
        names = tuple(hosts[host] for host in taken)
        runs.append(StageRun(placement.task, placement.chain, stage, work.name, names, start, end))
    return runs


def check_tunable(queue: TunableQueue, plan: TunablePlan) -> list[str]:
    """Return the faults of a plan, a line each; without any it is feasible.

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
    ready = [task.release]
    for run, stage in zip(runs, stages, strict=True):
        where = f"{task.id}, stage {run.stage}"
        if len(set(run.hosts)) != stage.hosts or len(run.hosts) != stage.hosts or not hosts.issuperset(run.hosts):
            faults.append(f"{where}: not on {stage.hosts} known hosts")
        if not math.isclose(run.end - run.start, stage.seconds, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, run.end)):
            faults.append(f"{where}: takes {run.end - run.start} s, not {stage.seconds} s")
        if run.start < ready[-1]:
            faults.append(f"{where}: starts before it may")
        if is_late(task.release, stage, ready, run.end):
            faults.append(f"{where}: ends after its deadline")
        ready.append(run.end)
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


def plan_moldable(problem: Problem) -> Plan:
    """Plan tasks in order of arrival, each where it ends first.

    Host count and hole are chosen together.

    A task that can no longer meet its deadline is not refused here, where every task is to have its place: it is placed
    as if it had none. On several classes the decoder places in earnest, as after backfilling.
    """
    seconds, usable = best_seconds(problem), useful_counts(problem)
    holes = Holes(problem.free.tolist())
    ends: dict[int, float] = {}
    starts: dict[int, float] = {}
    counts = np.zeros(len(problem.tasks), dtype=np.int64)
    order = dependency_order(problem, np.argsort(problem.release, kind="stable").tolist())
    for index in order:
        ready = problem.ready(index, ends)
        slack = float(problem.deadline[index]) - ready
        chains = tuple(
            Chain((Stage(int(place) + 1, float(seconds[index, place]), slack),))
            for place in np.flatnonzero(usable[index])
        )
        placement = _admit_or_ignore_deadline(holes, TunableTask(problem.tasks[index], ready, chains))
        counts[index] = placement.stages[0].hosts
        starts[index], ends[index] = placement.starts[0], placement.end
    order.sort(key=starts.__getitem__)
    return Plan(np.array(order, dtype=np.int64), counts)


def _admit_or_ignore_deadline(holes: Holes, task: TunableTask) -> TunablePlacement:
    placement = admit(holes, task)
    if placement is None:
        free = tuple(Chain(tuple(replace(stage, deadline=math.inf) for stage in chain.stages)) for chain in task.chains)
        placement = admit(holes, replace(task, chains=free))
    assert placement is not None  # with no deadline every count that exists has a place behind all others
    return placement
