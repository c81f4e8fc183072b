"""Tasks on hosts with owners, one of whom does not do as his past foretells: what knowing of loads is worth.

GHS (A-MM paper, section 2) predicts the load of each hour from 1,000 hours and reschedules where a host departs from
its past; it publishes no figure of either. Here owners come and go by the hour of the day. Two days are learnt; then
tasks arrive at ten in the morning, and the owner of one host begins to work much more than ever.
"""

from __future__ import annotations

import statistics
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.loads.load_history import LoadHistory
from cosched.prediction.profile import PredictionSource, Profile
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.loaded_hosts import LoadedDomain, OwnerDiary
from cosched.simulation.simulated_domain import SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["EXPERIMENT"]

_HOUR, _DAY = 3600.0, 86400.0
_LEARNT = 2 * _DAY
_BEGIN = 40 * _DAY + 10 * _HOUR  # of the day on which the tasks arrive; a multiple of days is midnight
_LENGTH = 12 * _HOUR
_PRESENCE = 240.0  # seconds
_STEP = 60.0  # seconds between two looks at the owners
_WORST = 0.6  # largest part that an owner takes
_BAD = 0.7  # part that the one takes who turns bad
_SHORTEST, _LONGEST = 300.0, 2400.0  # seconds of work
_INSTANCE = "5d2b1c0e-9a8f-4f42-8f5c-3a9c7d3d1a01"
_WAYS = ("not known", "mean", "quantile 0.8", "with trigger")
_POLICIES = ("genetic", "a-mm")


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    draw = np.random.default_rng(seed)
    hosts = [f"node{number:02d}" for number in range(1, int(options["hosts"]) + 1)]
    usual = dict(zip(hosts, np.linspace(0.0, _WORST, len(hosts)).tolist(), strict=True))
    window = _BEGIN - _LEARNT, _BEGIN + _LENGTH
    diaries = {
        host: OwnerDiary.drawn(draw, partial(_part, most, turns_bad=host == hosts[0]), _PRESENCE, window)
        for host, most in usual.items()
    }
    tasks = _tasks(draw, int(options["tasks"]), len(hosts))
    learnt = LoadHistory()
    _look(learnt, diaries, _BEGIN - _LEARNT, _BEGIN)
    rows = []
    for policy in _POLICIES:
        for way in _WAYS:
            planner = SimulatedPlanner(int(options["generations"]), seed) if policy == "genetic" else None
            rows.append(_row(policy, way, diaries, learnt, tasks, planner))
    return rows


def _part(most: float, time: float, *, turns_bad: bool) -> float:
    """Return which part of a host its owner takes: by day up to `most`, at night a tenth of that."""
    if turns_bad and time >= _BEGIN:
        return _BAD
    hour = time % _DAY / _HOUR
    return most if 8 <= hour < 18 else most / 10


def _tasks(draw: np.random.Generator, count: int, hosts: int) -> list[Task]:
    """Draw tasks of one host, with deadlines that leave as much time as the queue needs on hosts without owners."""
    works = draw.uniform(_SHORTEST, _LONGEST, count)
    mean = float(works.sum()) / hosts
    deadlines = works + draw.uniform(0.5, 2.5, count) * mean
    return [
        Task(
            str(number),
            number,
            0.0,
            TaskSpec(name=f"t{number}", application="app", command=("/bin/true",), deadline=float(deadline)),
            profile=Profile((float(work),), PredictionSource.USER),
        )
        for number, (work, deadline) in enumerate(zip(works, deadlines, strict=True), 1)
    ]


def _row(
    policy: str,
    way: str,
    diaries: Mapping[str, OwnerDiary],
    learnt: LoadHistory,
    tasks: Sequence[Task],
    planner: SimulatedPlanner | None,
) -> ResultRow:
    quantile = 0.8 if way == "quantile 0.8" else 0.5
    settings = CoreSettings(_INSTANCE, policy=policy, staging=0.0, quantile=quantile)
    foretold = _Foretold(diaries, deepcopy(learnt) if way != "not known" else None, follows=way == "with trigger")
    moved = {host: _from_now(diary) for host, diary in diaries.items()}
    domain = LoadedDomain(settings, moved, foretold.loads, planner)
    for task in tasks:
        domain.post(TaskSubmitted(0.0, task))
    time = _STEP
    while foretold.follows and time < _LENGTH:
        domain.calendar.at(time, domain.look)
        time += _STEP
    domain.run()
    late = [max(run.finished - (tasks[int(run.task) - 1].spec.deadline or 0.0), 0.0) for run in domain.runs]
    return {
        "policy": policy,
        "load": way,
        "makespan": max(run.finished for run in domain.runs),
        "on_time": sum(each == 0 for each in late) / len(tasks),
        "lateness": statistics.fmean(late),
        "on the bad host": sum(run.hosts == ("node01",) for run in domain.runs),
    }


def _from_now(diary: OwnerDiary) -> OwnerDiary:
    """Return a diary with times from the arrival of the tasks on."""
    kept = [(came - _BEGIN, went - _BEGIN) for came, went in zip(diary.came, diary.went, strict=True) if went > _BEGIN]
    return OwnerDiary(tuple(came for came, _ in kept), tuple(went for _, went in kept))


class _Foretold:
    """What a core is told of loads: nothing, what the past foretold at the beginning, or what is seen from then on."""

    def __init__(self, diaries: Mapping[str, OwnerDiary], history: LoadHistory | None, *, follows: bool) -> None:
        self.follows = follows
        self._diaries = diaries
        self._history = history
        self._looked = _BEGIN
        self._told: Mapping[str, HostLoad] = {} if history is None else history.loads(_BEGIN)

    def loads(self, time: float) -> Mapping[str, HostLoad]:
        """Return what the core is told at a time of its own."""
        if self.follows and self._history is not None:
            self._looked = _look(self._history, self._diaries, self._looked, _BEGIN + time)
            self._told = self._history.loads(_BEGIN + time)
        return self._told


def _look(history: LoadHistory, diaries: Mapping[str, OwnerDiary], since: float, until: float) -> float:
    """Have a history see the owners from one time to another; return when it looks next."""
    while since <= until:
        history.observe({host: float(diary.there(since)) for host, diary in diaries.items()}, since)
        history.loads(since)
        since += _STEP
    return since


EXPERIMENT = Experiment(
    name="ghs-trigger",
    reproduces="GHS's prediction and rescheduling (A-MM paper, section 2): hosts with owners, one of whom turns bad",
    keys=("policy", "load"),
    run=_rows,
    searches=True,
    options={
        "tasks": ExperimentOption(64, "how many tasks, of one host each", 1, 2000),
        "hosts": ExperimentOption(16, "how many hosts", 2, 200),
        "generations": ExperimentOption(30, "of the search at each change", 0, 10_000),
    },
    note="the paper publishes no figure of this",
)
