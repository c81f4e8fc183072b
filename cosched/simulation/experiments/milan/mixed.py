"""Tunable jobs of the MILAN paper among moldable and elastic ones, through the daemon's core.

The tunable jobs are those of the paper's section 5.3 (`figures_7_10`). Moldable and elastic ones do the same work
in one piece, by Amdahl's law on one processor up to those of a wide stage, with the same deadline. Elastic ones are
lent idle hosts while they run. Only tunable jobs are refused where they would be late.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import Elastic, ElasticSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.prediction.profile import PredictionSource, Profile
from cosched.simulation.chain_domain import submit_chain
from cosched.simulation.elastic_domain import ElasticDomain
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.experiments.milan.figures_7_10 import SECONDS, WIDE, shapes
from cosched.simulation.kernel_batch import SIMULATED_INSTANCE
from cosched.simulation.simulated_domain import SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.scheduling.tunable.tasks import Chain

__all__ = ["EXPERIMENT"]

_KINDS = {"tunable": 0.5, "moldable": 0.25, "elastic": 0.25}
_WORK = 2 * WIDE * SECONDS  # processor seconds of a job, as of the paper's
_SERIAL = 0.05  # part of a moldable job's work that one processor does
_DRAIN = 0.2  # seconds in which a worker leaves
_ROUNDED = 1e-6  # seconds


class _Job(NamedTuple):
    kind: str
    arrival: float


@dataclass(slots=True)
class _Served:
    """What became of the jobs of one kind: how many came, were taken, and ended in time."""

    came: int = 0
    taken: int = 0
    in_time: int = 0


@dataclass(frozen=True, slots=True)
class _System:
    ways: tuple[int, ...]  # of the two shapes
    generations: int | None = None  # of each search; None: there is none
    lending: bool = False


def _systems(generations: int) -> dict[str, _System]:
    return {
        "shape 1": _System((0,)),
        "shape 2": _System((1,)),
        "tunable": _System((0, 1)),
        "tunable, searched": _System((0, 1), generations),
        "tunable, searched, hosts lent": _System((0, 1), generations, lending=True),
    }


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(options["interval"], int(options["jobs"]))).tolist()
    kinds = random.choice(list(_KINDS), len(arrivals), p=list(_KINDS.values())).tolist()
    jobs = [_Job(kind, arrival) for kind, arrival in zip(kinds, arrivals, strict=True)]
    rows: list[ResultRow] = []
    for name, system in _systems(int(options["generations"])).items():
        served = _Mix(system, seed, options).serve(jobs)
        rows.append(
            {
                "system": name,
                "admitted": _share(served["tunable"].taken, served["tunable"].came),
                "in_time": _share(served["tunable"].in_time, served["tunable"].taken),
                **{f"{kind}_in_time": _share(served[kind].in_time, served[kind].came) for kind in list(_KINDS)[1:]},
                "all_in_time": sum(each.in_time for each in served.values()) / len(jobs),
            }
        )
    return rows


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(slots=True)
class _Mix:
    """One system that serves all jobs."""

    system: _System
    seed: int
    options: Mapping[str, float]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def serve(self, jobs: Sequence[_Job]) -> dict[str, _Served]:
        """Return what became of the jobs, by kind."""
        system, options = self.system, self.options
        planner = None if system.generations is None else SimulatedPlanner(system.generations, self.seed)
        settings = CoreSettings(
            SIMULATED_INSTANCE, staging=0.0, elastic=ElasticSettings(lending=system.lending, settle=1.0)
        )
        domain = ElasticDomain(settings, int(options["processors"]), _seconds, _DRAIN, planner)
        both = shapes(options["alpha"], options["laxity"])
        due = both[0].stages[-1].deadline
        tasks = [self._submit(domain, job, [both[way] for way in system.ways], due) for job in jobs]
        while domain.calendar.pending:
            domain.run()
        ends = {run.task: run.finished for run in domain.runs}
        served = {kind: _Served() for kind in _KINDS}
        for job, names in zip(jobs, tasks, strict=True):
            ended = [ends[name] for name in names if name in ends]
            served[job.kind].came += 1
            served[job.kind].taken += bool(names)
            served[job.kind].in_time += bool(ended) and max(ended) <= job.arrival + due + _ROUNDED
        return served

    def _submit(self, domain: ElasticDomain, job: _Job, ways: Sequence[Chain], due: float) -> tuple[str, ...]:
        """Submit a job at its arrival; return the names of its tasks, none where it is refused."""
        domain.run(job.arrival)
        if job.kind == "tunable":
            names = submit_chain(domain, ways, job.arrival, self.numbers)
        else:
            number = next(self.numbers)
            names = (str(number),)
            domain.post(TaskSubmitted(job.arrival, _task(job, number, job.arrival + due)))
        domain.run(job.arrival)
        return names


def _task(job: _Job, number: int, due: float) -> Task:
    seconds = tuple(_WORK * (_SERIAL + (1 - _SERIAL) / count) for count in range(1, WIDE + 1))
    elastic = Elastic(("/bin/true",)) if job.kind == "elastic" else None
    spec = TaskSpec(job.kind, job.kind, ("/bin/true",), deadline=due, best_effort=True, elastic=elastic)
    return Task(str(number), number, job.arrival, spec, profile=Profile(seconds, PredictionSource.USER, "any"))


def _seconds(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.on(count) if count <= len(task.profile.seconds) else math.inf


EXPERIMENT = Experiment(
    name="milan-mixed",
    reproduces="tunable jobs as in section 5.3 of the MILAN paper, beside moldable and elastic ones",
    keys=("system",),
    run=_rows,
    options={
        "jobs": ExperimentOption(200, "arrivals", 1, 100000),
        "interval": ExperimentOption(5.0, "mean time between arrivals", 0.01, 1e4),
        "laxity": ExperimentOption(0.5, "slack ÷ time from release to deadline", 0, 0.99),
        "processors": ExperimentOption(16, "of the domain", WIDE, 1000),
        "alpha": ExperimentOption(0.5, "width of the narrow stage ÷ of the wide one", 0.125, 1),
        "generations": ExperimentOption(20, "of each search", 0, 10000),
    },
    note="ours: the paper has no jobs beside its tunable ones",
)
