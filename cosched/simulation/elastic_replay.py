"""A recorded workload, a part of its jobs elastic, under an elastic policy; start at `replay_elastic`.

Who is elastic is drawn by job number, or listed in a file (`ElasticChoice`). Jobs start first come, first served with
backfilling (EASY), but for srt-harvest and hesrpt, which have orders of their own.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.scheduling.elastic.registry import ELASTIC_POLICIES
from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic
from cosched.scheduling.formats.elastic_jobs_file import ElasticBounds
from cosched.simulation.trace_predictions import AskedTimes
from cosched.simulation.trace_replay import (
    Moldability,
    ReplayConditions,
    TraceReplay,
    bounded_slowdown,
    drawn_deadline,
    moldable_times,
    refuse_wide_jobs,
    replayed_records,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.policy import ElasticPolicyName
    from cosched.scheduling.elastic.virtual_pool import ElasticRun
    from cosched.scheduling.formats.swf import RecordedJob, WorkloadTrace
    from cosched.simulation.experiment import ResultRow

__all__ = ["ElasticChoice", "elastic_job", "elastic_trace_replay", "replay_elastic", "turnaround_row"]

_EXACT = ReplayConditions()
_WIDER = 4  # an elastic job runs on a quarter of its recorded processors to four times as many


@dataclass(frozen=True, slots=True)
class ElasticChoice:
    """Which jobs of a trace are elastic.

    Attributes:
        share: part of the jobs, drawn by seed and job number, 0…1; who is elastic at some share is so at every larger
            one.
        listed: jobs with their bounds, by number, in place of a share.
        cost: seconds without progress at each change of a job's processors, where `listed` says none.
    """

    share: float = 0.0
    listed: Mapping[int, ElasticBounds] | None = None
    cost: float = 0.0

    @property
    def any(self) -> bool:
        """Whether there may be elastic jobs."""
        return self.share > 0 or self.listed is not None

    def bounds(self, record: RecordedJob, seed: int) -> ElasticBounds | None:
        """Return the bounds of a job; None where it is not elastic."""
        if self.listed is not None:
            return self.listed.get(record.number)
        drawn = random.Random(f"{seed}/{record.number}/elastic").random()  # noqa: S311  repeatable, no secret
        if drawn >= self.share:
            return None
        return ElasticBounds(max(1, record.processors // _WIDER), _WIDER * record.processors)


def elastic_job(
    record: RecordedJob,
    processors: int,
    choice: ElasticChoice,
    seed: int,
    moldability: Moldability = Moldability.RIGID,
) -> ElasticTask:
    """Return a job as the pool runs it.

    The recorded time holds on the recorded processors. On others `moldability` says it; of an elastic job, which must
    run on others, Amdahl's law does where that says rigid.

    Args:
        record: the job.
        processors: of the machine, as many as the job had or more.
        choice: who is elastic.
        seed: seed of what is drawn.
        moldability: model of run times on other numbers of processors.

    Raises:
        UserError: it needs more processors than there are.
    """
    had, name = record.processors, f"{record.number:09}"
    bounds = choice.bounds(record, seed)
    if bounds is None and moldability is Moldability.RIGID:
        return ElasticTask(name, (record.seconds,) * had, had, had, had, submitted=record.submitted)
    model = Moldability.AMDAHL if moldability is Moldability.RIGID else moldability
    seconds = moldable_times(model, record.seconds, had, processors, f"{seed}/{record.number}")
    if bounds is None:
        return ElasticTask(name, seconds, 1, processors, had, submitted=record.submitted, moldable=True)
    if bounds.least > processors:
        raise UserError(
            f"job {record.number} needs {bounds.least} of {processors} processors at least: "
            "give more with --set processors=N"
        )
    most = min(bounds.most, processors)
    preferred = min(max(had if bounds.preferred is None else bounds.preferred, bounds.least), most)
    cost = choice.cost if bounds.cost is None else bounds.cost
    return ElasticTask(name, seconds[:most], bounds.least, most, preferred, cost, cost, submitted=record.submitted)


def replay_elastic(
    records: Sequence[RecordedJob],
    processors: int,
    policy: ElasticPolicyName,
    choice: ElasticChoice,
    parameters: ElasticParameters,
    moldability: Moldability = Moldability.RIGID,
) -> list[ElasticRun]:
    """Run jobs under an elastic policy; return their runs in the order of the records.

    Args:
        records: none wider than the machine.
        processors: of the machine.
        policy: name of the policy.
        choice: who is elastic.
        parameters: of the policy; the seed is that of what is drawn, too.
        moldability: model of run times on other numbers of processors.
    """
    tasks = [elastic_job(record, processors, choice, parameters.seed, moldability) for record in records]
    runs = {run.task.id: run for run in run_elastic(tasks, processors, ELASTIC_POLICIES[policy], parameters)}
    return [runs[task.id] for task in tasks]


def turnaround_row(records: Sequence[RecordedJob], runs: Sequence[ElasticRun], processors: int) -> ResultRow:
    """Return means over jobs; the slowdown is against the recorded time."""
    turnarounds = [run.finished - record.submitted for record, run in zip(records, runs, strict=True)]
    began = min(record.submitted for record in records)
    makespan = max(run.finished for run in runs) - began
    return {
        "wait": fmean(run.started - record.submitted for record, run in zip(records, runs, strict=True)),
        "turnaround": fmean(turnarounds),
        "bounded_slowdown": fmean(map(bounded_slowdown, turnarounds, [record.seconds for record in records])),
        "utilisation": sum(run.host_seconds for run in runs) / (processors * makespan),
        "makespan": makespan,
        "resizes": fmean(run.resizes for run in runs),
    }


def elastic_trace_replay(
    trace: WorkloadTrace,
    policy: ElasticPolicyName,
    conditions: ReplayConditions,
    choice: ElasticChoice,
    payback: float = 2.0,
    jobs: int = 0,
    processors: int = 0,
) -> TraceReplay:
    """Replay a trace under an elastic policy, with the columns of `replay_trace` and a few more.

    Args:
        trace: at least one record.
        policy: name of the policy.
        conditions: the assumptions of the replay; predictions are exact.
        choice: who is elastic.
        payback: times its cost that a change must save (policy marginal).
        jobs: number of jobs to run, from the start; 0 for all.
        processors: processors of the machine; 0 for the trace's own.

    Raises:
        UserError: predictions are not to be exact, the machine is too large, or a job is wider than it.
    """
    for name, value, exact in (
        ("noise", conditions.noise, _EXACT.noise),
        ("passed", conditions.passed, _EXACT.passed),
        ("quantile", conditions.quantile, _EXACT.quantile),
    ):
        if value != exact:
            raise UserError(f"{policy} knows how long jobs take: leave --set {name}={value:g} out")
    records, processors = replayed_records(trace, conditions, jobs), processors or trace.processors
    refuse_wide_jobs(records, processors)
    parameters = ElasticParameters(payback=payback, backfill=True, seed=conditions.seed)
    runs = replay_elastic(records, processors, policy, choice, parameters, conditions.moldability)
    waits = [run.started - record.submitted for record, run in zip(records, runs, strict=True)]
    deadlines, ordered = _deadlines(records, runs, conditions), sorted(waits)
    elastic = [choice.bounds(record, conditions.seed) is not None for record in records]
    row: ResultRow = {
        "policy": str(policy),
        "jobs": len(records),
        **turnaround_row(records, runs, processors),
        "wait_median": statistics.median(ordered),
        "wait_95": ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)],
        "on_time": fmean(run.finished <= deadline for run, deadline in zip(runs, deadlines, strict=True)),
        "elastic": fmean(elastic),
    }
    return TraceReplay(row, tuple(waits))


def _deadlines(records: Sequence[RecordedJob], runs: Sequence[ElasticRun], conditions: ReplayConditions) -> list[float]:
    """Return each job's deadline, of what is known when it comes."""
    asked, deadlines = AskedTimes(), []
    ended = sorted((run.finished, place) for place, run in enumerate(runs))
    following = 0
    for record in records:
        while following < len(ended) and ended[following][0] <= record.submitted:
            asked.learn(records[ended[following][1]])
            following += 1
        deadlines.append(drawn_deadline(record, asked.of(record), conditions))
    return deadlines
