"""What the core takes for an event with a long queue, on 16 to 256 hosts: `python -m benchmarks.events`.

Hosts are alike or of two classes, the second half as quick as the first. The tasks of the queue arrive together; then
a new task arrives while all hosts are busy, and while one is idle that nobody may leave for yet; then somebody asks
when one more would end. With `--at-once`, all tasks are an array of which so many may run at once, and do: the other
hosts stay idle, and "one idle" says the same once more. With `--users`, the same tasks are also of so many users in
groups of four, every second one without a deadline, under shares of the domain. With `--shared`, hosts of 64 cores,
256 GiB and 4 GPUs are shared by tasks of 1 to 32 cores instead: then "busy" is an arrival while all cores are taken,
"one ends" the end of a task, whose place another one takes, and "of ten" each of ten that end together; with `--ranges`
also tasks that may have 1 to 32 cores of one or two hosts, by Amdahl's law. Processor time, without the garbage
collector, whose runs depend on what else a process holds.
"""

from __future__ import annotations

import argparse
import gc
import time
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from benchmarks.figures import Figures, add_keep_option
from benchmarks.kernels import DEADLINES, KERNELS
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, JobReported, SharesChanged, TaskSubmitted
from cosched.coscheduler.places.alternatives import (
    Alternative,
    quickest_profile,
    tried_numbers,
    useful_alternatives,
)
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.sharing.shares import Shares
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.events import Event

_POOLS = ((16, 1), (64, 1), (256, 1), (64, 2), (256, 2))  # hosts, classes
_ARRIVALS = 40
_QUESTIONS = 5
_TOGETHER = 10  # tasks that end together
_STAGING = 1e6  # seconds that a new task waits for the search at most: none leaves here


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="that wait")
    parser.add_argument("--users", type=int, default=0, help="who share the domain, too")
    parser.add_argument("--at-once", type=int, default=0, help="the limit of the array that they are")
    parser.add_argument("--shared", action="store_true", help="hosts of 64 cores that tasks share")
    parser.add_argument("--ranges", action="store_true", help="tasks that may have several numbers of cores, too")
    add_keep_option(parser)
    options = parser.parse_args()
    gc.disable()
    Figures(options.keep).measure("events", partial(_measure, options))


def _measure(options: argparse.Namespace, figures: Figures) -> None:
    figures.section("events", f"one more task behind {options.tasks}, ms of the core each: median and longest")
    if options.shared:
        for hosts in (16, 64):
            for vectors in (False, True):
                _measure_shared(figures, hosts, options.tasks, vectors=vectors)
            if options.ranges:
                _measure_shared(figures, hosts, options.tasks, ranges=True)
        return
    for hosts, classes in _POOLS:
        for users in (0, options.users) if options.users else (0,):
            _measure_pool(figures, hosts, classes, options.tasks, users, options.at_once)


def _measure_pool(figures: Figures, hosts: int, classes: int, waiting: int, users: int, at_once: int) -> None:
    each = (_arrivals(hosts, classes, waiting, idle, users, at_once) for idle in (0, 1))
    (together, busy, asked), (_, idle, _) = each
    rows = {"together": together, "all hosts busy": busy, "one idle": idle, "asked": asked}
    name = f"{hosts} hosts" + (f", {classes} classes" if classes > 1 else "") + (f", {users} users" if users else "")
    _tell(figures, name, rows)


def _tell(figures: Figures, name: str, rows: Mapping[str, Sequence[float]]) -> None:
    texts = [f"{what}  {median(took):5.2f} {max(took):6.2f}" for what, took in rows.items()]
    figures.row(name, f"{name:>30}   " + "   ".join(texts), **{what: median(took) for what, took in rows.items()})


def _arrivals(
    hosts: int, classes: int, waiting: int, idle: int, users: int, at_once: int
) -> tuple[list[float], list[float], list[float]]:
    """Return how many ms the core takes: for each task of the queue, for tasks a second apart, and for forecasts."""
    draw, core = np.random.default_rng(1), Coscheduler(CoreSettings(str(UUID(int=hosts)), staging=_STAGING))
    if users:
        core.handle(SharesChanged(0.0, Shares(members={f"u{each}": f"g{each // 4}" for each in range(users)})))
    core.handle(HostsObserved(0.0, tuple(Host(f"host{number:03}", str(number % classes)) for number in range(hosts))))
    for number in range(at_once or hosts - idle):  # long before all others: it has been through staging
        long = _task(number, _profile((500.0 + number,), classes, slowdown=1.0), submitted=0.0, deadline=None)
        core.handle(TaskSubmitted(_STAGING, _in_array(long, at_once)))
    took = []
    for number in range(waiting + 1 + _ARRIVALS):
        now = _STAGING + (0.001 * number if number < waiting else 1.0 + number)
        kernel = str(draw.choice(list(KERNELS)))
        allowed = draw.uniform(*DEADLINES[kernel]) * max(1.0, waiting / (2 * hosts))
        task = _task(hosts + number, _profile(KERNELS[kernel][:hosts], classes), now, now + allowed)
        task = _in_array(task, at_once)
        if users:
            deadline = None if number % 2 else task.spec.deadline
            task = replace(task, owner=f"u{number % users}", spec=replace(task.spec, deadline=deadline))
        began = time.thread_time()
        core.handle(TaskSubmitted(now, task))
        took.append(1e3 * (time.thread_time() - began))
    asked, one = [], replace(task, id="asked", number=task.number + 1)
    for _ in range(_QUESTIONS):
        began = time.thread_time()
        predict_placement(core, one, now)
        asked.append(1e3 * (time.thread_time() - began))
    return took[:waiting], took[waiting + 1 :], asked  # the first makes up for those that came together


def _measure_shared(figures: Figures, hosts: int, waiting: int, *, vectors: bool = False, ranges: bool = False) -> None:
    """Measure on nodes whose tasks share them; with `vectors` memory and GPUs decide, too.

    With `ranges` the tasks have alternatives.
    """
    draw, took = np.random.default_rng(1), dict[str, list[float]]()
    core = Coscheduler(CoreSettings(str(UUID(int=hosts)), staging=0.0, share_hosts=True))

    def tell(what: str, event: Event) -> list[str]:
        began = time.thread_time()
        outcome = core.handle(event)
        took.setdefault(what, []).append(1e3 * (time.thread_time() - began))
        return [decision.attempt.uuid for decision in outcome.decisions if isinstance(decision, DispatchAttempt)]

    def part(number: int) -> Task:
        return _choosing(draw, number) if ranges else _part(draw, number, vectors=vectors)

    nodes = tuple(Host(f"host{number:03}", memory=262144, cores=64, gpus=4) for number in range(hosts))
    tell("hosts", HostsObserved(0.0, nodes))
    running, number = list[str](), 0
    while len(core.plan.tasks) < waiting:
        number += 1
        running += tell("together", TaskSubmitted(0.001 * number, part(number)))
    now = 1.0 + 0.001 * number
    for _ in range(_ARRIVALS):
        now, number = now + 1.0, number + 1
        running += tell("busy", TaskSubmitted(now, part(number)))
        uuid = running.pop(int(draw.integers(len(running))))
        report = JobReport(uuid, JobState.COMPLETED, started=now - 10.0, finished=now, exit_code=0)
        running += tell("one ends", JobReported(now, report))
    for _ in range(_ARRIVALS // _TOGETHER):
        now, before = now + 1.0, len(took["one ends"])
        for left in reversed(range(_TOGETHER)):
            uuid = running.pop(int(draw.integers(len(running))))
            report = JobReport(uuid, JobState.COMPLETED, started=now - 10.0, finished=now, exit_code=0)
            running += tell("one ends", JobReported(now, report, more=left > 0))
        took.setdefault("of ten", []).append(sum(took["one ends"][before:]) / _TOGETHER)
        del took["one ends"][before:]
    for _ in range(_QUESTIONS):
        began = time.thread_time()
        predict_placement(core, part(number + 1), now)
        took.setdefault("asked", []).append(1e3 * (time.thread_time() - began))
    del took["hosts"]
    _tell(
        figures,
        f"{hosts} nodes, {'ranges of cores' if ranges else 'cores, memory, GPUs' if vectors else 'cores'}",
        took,
    )


def _choosing(draw: np.random.Generator, number: int) -> Task:
    """Return a task that may have 1 to 32 cores of one or two hosts: 5 to 60 minutes on 8, a serial part to 20 %."""
    task, serial = _part(draw, number, vectors=False), draw.uniform(0.01, 0.2)
    eight = float(draw.uniform(300.0, 3600.0)) / (serial + (1 - serial) / 8)
    alternatives = []
    for cores in tried_numbers(1, 32):
        seconds = tuple(eight * (serial + (1 - serial) / (cores * hosts)) * 1.05 ** (hosts - 1) for hosts in (1, 2))
        alternatives.append(Alternative(cores, Profile(seconds, PredictionSource.USER)))
    useful = useful_alternatives(alternatives, ())
    return replace(task, profile=quickest_profile(useful), alternatives=useful).reopened()


def _part(draw: np.random.Generator, number: int, *, vectors: bool) -> Task:
    """Return a task that takes some cores of a node, one in eight those of two nodes."""
    seconds = float(draw.lognormal(6.0, 1.0))
    profile = _profile((np.inf, seconds) if number % 8 == 0 else (seconds,), 1)
    cores = int(draw.choice([1, 2, 4, 8, 16, 32]))
    task = _task(number, profile, 0.0, None)
    memory, gpus = (int(draw.integers(1, 9)) * 8192, int(draw.integers(0, 2))) if vectors else (0, 0)
    return replace(task, spec=replace(task.spec, cores=cores, memory=memory, gpus=gpus))


def _in_array(task: Task, at_once: int) -> Task:
    return replace(task, spec=replace(task.spec, array="0", array_at_most=at_once)) if at_once else task


def _profile(seconds: Sequence[float], classes: int, slowdown: float = 2.0) -> Profile:
    """Return times on hosts of each class alone, those of one so many times as long as those of the one before."""
    parts = [
        Profile(tuple(slowdown**each * time for time in seconds), PredictionSource.MODEL, str(each))
        for each in range(classes)
    ]
    return replace(parts[-1], hardware="", classes=tuple(parts) if classes > 1 else ())


def _task(number: int, profile: Profile, submitted: float, deadline: float | None) -> Task:
    return Task(str(number), number, submitted, TaskSpec("", "", (), deadline=deadline), profile=profile)


if __name__ == "__main__":
    main()
