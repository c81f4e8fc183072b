"""A recorded workload again, under another policy: the same arrivals, hosts and work, by the daemon's own core.

Times are seconds of the trace. What a trace does not know is drawn from the seed and the job's number, the same under
every policy: run times on other numbers of processors (`moldability`), how wrong predictions are, and deadlines.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.settings import Settings
from cosched.coscheduler.task import Task
from cosched.errors import UserError
from cosched.plot import Line, line_plot
from cosched.prediction.profile import Profile, Source
from cosched.scheduling.baselines import BASELINES
from cosched.scheduling.policies import MAPPED, REPLANNED, SEARCHED, Policy
from cosched.simulation.batch import INSTANCE
from cosched.simulation.engine import SimulatedDomain
from cosched.simulation.moldability import Moldability, times
from cosched.simulation.planner import Planner
from cosched.simulation.realised import realised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.engine import Run
    from cosched.simulation.experiment import Row
    from cosched.simulation.swf import Record, Trace

__all__ = ["MOST_PROCESSORS", "ONLINE", "Conditions", "Replay", "pictures", "replay"]

MOST_PROCESSORS = 16_384  # each is a host of its own
ONLINE = frozenset((*SEARCHED, *BASELINES, *REPLANNED, *MAPPED))
"""Policies that can run a domain as tasks come and go."""

_SHORT = 10.0  # bounded slowdown counts shorter jobs as so long (Feitelson, Rudolph: JSSPP 1998), seconds


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a replay assumes.

    Attributes:
        moldability: model of run times on other numbers of processors.
        requested: predictions are the times that users asked for where they did, else the recorded ones.
        noise: standard deviation of ln(actual ÷ predicted); predictions are then wrong even where not `requested`.
        least_slack: a deadline is submission + slack · recorded run time (counted as 10 s at least), the slack
            uniform from here…
        most_slack: …to here.
        generations: of the search at each change.
        seed: of everything drawn.
    """

    moldability: Moldability = Moldability.RIGID
    requested: bool = False
    noise: float = 0.0
    least_slack: float = 2.0
    most_slack: float = 20.0
    generations: int = 10
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it: the row of figures, and each job's wait in seconds by the job's place in the trace."""

    row: Row
    waits: tuple[float, ...]


def replay(trace: Trace, policy: Policy, conditions: Conditions, jobs: int = 0, processors: int = 0) -> Replay:
    """Run a trace under a policy.

    Args:
        trace: at least one record.
        policy: any that can run a domain as tasks come and go; `MAPPED` ones for jobs that can run on one processor.
        conditions: what is assumed.
        jobs: only so many from the start; 0 for all.
        processors: of the machine; 0 for the trace's own.

    Raises:
        UserError: the policy places no queue of such tasks, the machine is too large, or a job is wider than it.
    """
    if policy not in ONLINE:
        known = ", ".join(sorted(ONLINE))
        raise UserError(f"{policy} cannot run a domain as tasks come and go: choose one of {known}")
    records = trace.records[: jobs or None]
    processors = processors or trace.processors
    _refuse_wide(records, processors)
    if policy in MAPPED and conditions.moldability is Moldability.RIGID:
        _refuse_parallel(records, policy)
    settings = Settings(INSTANCE, policy=str(policy), seed=conditions.seed, margin=0.0)
    planner = Planner(conditions.generations, conditions.seed) if policy in SEARCHED else None
    tasks = [_task(place, record, processors, conditions) for place, record in enumerate(records, start=1)]
    actual = realised(conditions.noise, conditions.seed)

    def seconds(task: Task, count: int) -> float:
        assert task.profile is not None
        record = records[task.number - 1]
        return task.profile.on(count) * (record.seconds / _predicted(record, conditions)) * actual(task)

    domain = SimulatedDomain(settings, processors, seconds, planner)
    for task in tasks:
        domain.post(TaskSubmitted(task.submitted, task))
    domain.run()
    waits = [0.0] * len(tasks)
    for run in domain.runs:
        waits[int(run.task) - 1] = run.started - tasks[int(run.task) - 1].submitted
    return Replay(_row(policy, domain.runs, tasks, records, processors, waits), tuple(waits))


def pictures(replays: Mapping[str, Replay], title: str) -> dict[str, str]:
    """Return SVG by name: the share of the jobs that wait at most so long, by policy."""
    lines = []
    for name, found in replays.items():
        ordered = sorted(found.waits)
        steps = sorted({round(index * (len(ordered) - 1) / 200) for index in range(201)})
        lines.append(
            Line(name, [max(ordered[step], 1.0) for step in steps], [(step + 1) / len(ordered) for step in steps])
        )
    return {"waits": line_plot(lines, f"{title}: waits", "wait at most (s)", "share of the jobs", log_x=True)}


def _predicted(record: Record, conditions: Conditions) -> float:
    return record.requested if conditions.requested and record.requested is not None else record.seconds


def _task(place: int, record: Record, processors: int, conditions: Conditions) -> Task:
    seed = f"{conditions.seed}/{record.number}"
    predicted = times(conditions.moldability, _predicted(record, conditions), record.processors, processors, seed)
    slack = random.Random(f"{seed}/slack").uniform(conditions.least_slack, conditions.most_slack)  # noqa: S311  repeatable
    return Task(
        id=str(place),
        number=place,
        name=f"job {record.number}",
        application="job",
        command=("job",),
        submitted=record.submitted,
        profile=Profile(predicted, Source.USER),
        deadline=record.submitted + slack * max(record.seconds, _SHORT),
    )


def _refuse_wide(records: Sequence[Record], processors: int) -> None:
    if processors > MOST_PROCESSORS:
        raise UserError(
            f"the trace's machine has {processors} processors, and {MOST_PROCESSORS} are the most that can "
            "be simulated: give fewer with --set processors=N if its jobs fit"
        )
    for record in records:
        if record.processors > processors:
            raise UserError(
                f"job {record.number} needs {record.processors} of {processors} processors: "
                "give more with --set processors=N"
            )


def _refuse_parallel(records: Sequence[Record], policy: Policy) -> None:
    for record in records:
        if record.processors > 1:
            needs = f"{policy} places a job on one processor, and job {record.number} needs {record.processors}"
            raise UserError(f"{needs}: choose another policy, or a --moldability other than rigid")


def _row(
    policy: Policy,
    runs: Sequence[Run],
    tasks: Sequence[Task],
    records: Sequence[Record],
    processors: int,
    waits: Sequence[float],
) -> Row:
    ended = {int(run.task) - 1: run.finished for run in runs}
    began, finished = tasks[0].submitted, max(ended.values())
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in runs)
    slowdowns = [
        max(1.0, (ended[place] - record.submitted) / max(record.seconds, _SHORT))
        for place, record in enumerate(records)
    ]
    ordered = sorted(waits)
    return {
        "policy": str(policy),
        "jobs": len(tasks),
        "wait": statistics.fmean(ordered),
        "wait_median": statistics.median(ordered),
        "wait_95": ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)],
        "bounded_slowdown": statistics.fmean(slowdowns),
        "utilisation": busy / (processors * (finished - began)),
        "on_time": sum(ended[place] <= (task.deadline or 0.0) for place, task in enumerate(tasks)) / len(tasks),
        "makespan": finished - began,
    }
