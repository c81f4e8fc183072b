"""A recorded workload run again under another policy: same arrivals, hosts and work.

Start at `replay_trace`. What a trace does not say is drawn from the seed and the job's number: run times on other
numbers of processors (`Moldability`: rigid, Amdahl, Downey 1997), errors of prediction, deadlines.
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import PredictionPassed, TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.errors import UserError
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.objective.slowdown import SHORTEST_COUNTED
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import POLICIES, PolicyName
from cosched.simulation.kernel_batch import SIMULATED_INSTANCE, run_time_factors
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner
from cosched.simulation.trace_predictions import AskedTimes, PassedPrediction, Predictions, trace_predictor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.scheduling.formats.swf import RecordedJob, WorkloadTrace
    from cosched.simulation.experiment import ResultRow
    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = [
    "MOST_PROCESSORS",
    "ONLINE_POLICIES",
    "Moldability",
    "ReplayConditions",
    "TraceReplay",
    "bounded_slowdown",
    "downey_speedup",
    "drawn_deadline",
    "moldable_times",
    "refuse_wide_jobs",
    "replay_trace",
    "replayed_records",
]


class Moldability(StrEnum):
    """The model of run times on other numbers of processors than the recorded one.

    The recorded time holds on the recorded number.

    RIGID: the recorded number alone. AMDAHL: a serial share f, log-uniform in 0.001…0.2; T(p) ∝ f + (1 - f)/p.
    DOWNEY: T(p) ∝ 1/S(p; A, s) ("A model for speedup of parallel programs", 1997), with the average parallelism A
    log-uniform between half and twice the recorded number (users choose sensible sizes) and the variance s uniform in
    0…2.
    """

    RIGID = "rigid"
    AMDAHL = "amdahl"
    DOWNEY = "downey"


def moldable_times(model: Moldability, seconds: float, recorded: int, most: int, seed: str) -> tuple[float, ...]:
    """Return run times on 1…`most` processors.

    Args:
        model: model of the job.
        seconds: recorded run time.
        recorded: number of processors it was recorded on, at most `most`.
        most: processors of the machine.
        seed: seed of everything drawn for this job.

    Returns:
        Seconds; infinite where that number cannot be used.
    """
    if model is Moldability.RIGID:
        return tuple(seconds if count == recorded else math.inf for count in range(1, recorded + 1))
    draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
    if model is Moldability.AMDAHL:
        serial = math.exp(draw.uniform(math.log(0.001), math.log(0.2)))
        relative = [serial + (1 - serial) / count for count in range(1, most + 1)]
    else:
        parallelism = math.exp(draw.uniform(math.log(max(1.0, recorded / 2)), math.log(2.0 * recorded)))
        variance = draw.uniform(0.0, 2.0)
        relative = [1 / downey_speedup(count, parallelism, variance) for count in range(1, most + 1)]
    return tuple(seconds * (value / relative[recorded - 1]) for value in relative)


def downey_speedup(count: int, parallelism: float, variance: float) -> float:
    """Return the speed-up on `count` processors (Downey 1997, equations for low and high variance).

    Args:
        count: 1 or more.
        parallelism: A, the average parallelism, 1 or more.
        variance: the coefficient of variance of the parallelism, 0 or more; up to 1 it is called low.
    """
    if variance <= 1:
        if count <= parallelism:
            return parallelism * count / (parallelism + variance / 2 * (count - 1))
        if count <= 2 * parallelism - 1:
            return parallelism * count / (variance * (parallelism - 0.5) + count * (1 - variance / 2))
        return parallelism
    if count <= parallelism + parallelism * variance - variance:
        return count * parallelism * (variance + 1) / (variance * (count + parallelism - 1) + parallelism)
    return parallelism


MOST_PROCESSORS = 16_384  # each is a host of its own
ONLINE_POLICIES = frozenset(name for name, policy in POLICIES.items() if policy.online)
"""Policies that can run a domain as tasks come and go."""


@dataclass(frozen=True, slots=True)
class ReplayConditions:
    """Assumptions of a replay.

    Attributes:
        moldability: model of run times on other numbers of processors.
        predictions: their origin; on other numbers of processors as `moldability` says.
        noise: standard deviation of ln(actual ÷ predicted); predictions are then wrong even where they are the recorded
            times.
        least_slack: a deadline is submission + slack · the time that the user asked for (`AskedTimes`; counted as 10 s
            at least), the slack uniform from here…
        most_slack: …to here.
        as_asked: whether a job has the processors that were asked for and ends at the time asked for, as in other
            simulators (pyss), where it was recorded to have others and to go on.
        passed: what a job is expected to take once it has taken as long as foretold.
        generations: generations of the search at each change.
        objective: what the search minimises.
        quantile: share of runs that stays below the times to plan with, where a prediction has a range.
        seed: seed of everything drawn.
    """

    moldability: Moldability = Moldability.RIGID
    predictions: Predictions = Predictions.RECORDED
    noise: float = 0.0
    least_slack: float = 2.0
    most_slack: float = 20.0
    as_asked: bool = False
    passed: PassedPrediction = PassedPrediction.CORE
    generations: int = 10
    objective: ObjectiveName = ObjectiveName.BALANCED
    quantile: float = 0.5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class TraceReplay:
    """Row of figures, and each job's wait in seconds, in the trace's order."""

    row: ResultRow
    waits: tuple[float, ...]


def replay_trace(
    trace: WorkloadTrace, policy: PolicyName, conditions: ReplayConditions, jobs: int = 0, processors: int = 0
) -> TraceReplay:
    """Run a trace under a policy.

    Args:
        trace: at least one record.
        policy: one of `ONLINE_POLICIES`; those for one host take jobs that can run on one processor.
        conditions: the assumptions of the replay.
        jobs: number of jobs to run, from the start; 0 for all.
        processors: processors of the machine; 0 for the trace's own.

    Raises:
        UserError: the policy places no queue of such tasks, the machine is too large, or a job is wider than it.
    """
    if policy not in ONLINE_POLICIES:
        known = ", ".join(sorted(ONLINE_POLICIES))
        raise UserError(f"{policy} cannot run a domain as tasks come and go: choose one of {known}")
    records, processors = replayed_records(trace, conditions, jobs), processors or trace.processors
    refuse_wide_jobs(records, processors)
    if POLICIES[policy].one_host and conditions.moldability is Moldability.RIGID:
        _refuse_parallel_jobs(records, policy)
    settings = CoreSettings(
        SIMULATED_INSTANCE,
        policy=str(policy),
        weights=conditions.objective.weights,
        seed=conditions.seed,
        margin=0.0,
        quantile=conditions.quantile,
    )
    planner = SimulatedPlanner(conditions.generations, conditions.seed) if POLICIES[policy].searched else None
    domain = _ReplayedDomain(settings, records, processors, conditions, planner)
    domain.run()
    waits = [0.0] * len(records)
    for run in domain.runs:
        waits[int(run.task) - 1] = run.started - records[int(run.task) - 1].submitted
    row = _measured_row(policy, domain.runs, domain.tasks, records, processors, waits)
    return TraceReplay({**row, **_prediction_errors(records, domain.foretold)}, tuple(waits))


class _ReplayedDomain(SimulatedDomain):
    """A domain at which a trace's jobs arrive; each is predicted then.

    Attributes:
        tasks: those that have arrived, in the trace's order.
        foretold: low, expected and high seconds of each, on the recorded processors.
    """

    def __init__(
        self,
        settings: CoreSettings,
        records: Sequence[RecordedJob],
        processors: int,
        conditions: ReplayConditions,
        planner: SimulatedPlanner | None,
    ) -> None:
        super().__init__(settings, processors, self._actual_seconds, planner)
        self.tasks: list[Task] = []
        self.foretold: list[tuple[float, float, float]] = []
        self._records = records
        self._processors = processors
        self._conditions = conditions
        self._asked = AskedTimes()
        self._asked_times: list[float] = []
        self._predictor = trace_predictor(conditions.predictions, self._asked)
        self._factor = run_time_factors(conditions.noise, conditions.seed)
        for place, record in enumerate(records, start=1):
            self.calendar.at(record.submitted, partial(self._arrive, place, record))

    def completed(self, run: SimulatedRun) -> None:
        """Note a run that has ended, and learn from it."""
        super().completed(run)
        place = int(run.task) - 1
        self._asked.learn(self._records[place])
        self._predictor.learn(self._records[place], self.foretold[place])

    def _start(self, attempt: Attempt, task: Task) -> None:
        super()._start(attempt, task)
        if attempt.predicted is not None and self._conditions.passed is not PassedPrediction.CORE:
            self._expect(attempt, self.time, attempt.predicted)

    def _expect(self, attempt: Attempt, started: float, seconds: float) -> None:
        """Look again when a job has taken so many seconds."""
        self.calendar.at(started + seconds, partial(self._pass, attempt, started, seconds))

    def _pass(self, attempt: Attempt, started: float, seconds: float) -> None:
        """Correct the prediction of a job that goes on."""
        if attempt.uuid not in self.core.attempts or attempt.predicted is None:
            return
        asked = self._asked_times[int(attempt.task) - 1]
        found = self._conditions.passed.corrected(attempt.predicted, seconds, asked)
        if found is not None:
            self.carry_out(self.handle(PredictionPassed(self.time, attempt.uuid, found)))
            self._expect(attempt, started, found)

    def _arrive(self, place: int, record: RecordedJob) -> None:
        foretold, asked = self._predictor.predict(record), self._asked.of(record)
        task = _task(place, record, foretold, asked, self._processors, self._conditions)
        self._asked_times.append(asked)
        self.foretold.append(foretold)
        self.tasks.append(task)
        self.carry_out(self.handle(TaskSubmitted(record.submitted, task)))

    def _actual_seconds(self, task: Task, count: int) -> float:
        assert task.profile is not None
        record, (_, expected, _) = self._records[task.number - 1], self.foretold[task.number - 1]
        return task.profile.on(count) * (record.seconds / expected) * self._factor(task)


def _prediction_errors(
    records: Sequence[RecordedJob], foretold: Sequence[tuple[float, float, float]]
) -> dict[str, float | None]:
    """Return how far predictions were off, and how many of those with a range were within."""
    expected = [(middle, record.seconds) for (_, middle, _), record in zip(foretold, records, strict=True)]
    ranged = [
        low <= record.seconds <= high for (low, _, high), record in zip(foretold, records, strict=True) if low < high
    ]
    return {
        "error": statistics.fmean(abs(middle - seconds) for middle, seconds in expected),
        "relative_error": statistics.median(abs(middle / seconds - 1) for middle, seconds in expected),
        "off_by_two": statistics.fmean(max(middle / seconds, seconds / middle) >= 2 for middle, seconds in expected),
        "within": statistics.fmean(ranged) if ranged else None,
    }


def _task(
    place: int,
    record: RecordedJob,
    foretold: tuple[float, float, float],
    asked: float,
    processors: int,
    conditions: ReplayConditions,
) -> Task:
    """Return the task of a job that arrives; nothing of it depends on a recorded time that is not known by then.

    Args:
        place: 1 for the first job.
        record: the job.
        foretold: low, expected and high seconds.
        asked: seconds that its user asked for.
        processors: of the machine.
        conditions: the assumptions of the replay.
    """
    low, expected, high = foretold
    seed = f"{conditions.seed}/{record.number}"
    predicted = moldable_times(conditions.moldability, expected, record.processors, processors, seed)
    deadline = drawn_deadline(record, asked, conditions)
    spec = TaskSpec(f"job {record.number}", "job", ("job",), deadline=deadline)
    profile = Profile(predicted, PredictionSource.USER)
    if low < high:
        profile = replace(
            profile,
            low=tuple([min(value * low / expected, value) for value in predicted]),  # rounding may be over it
            high=tuple([max(value * high / expected, value) for value in predicted]),
        )
    return Task(str(place), place, record.submitted, spec, profile=profile)


def drawn_deadline(record: RecordedJob, asked: float, conditions: ReplayConditions) -> float:
    """Return a job's deadline, seconds; `asked` are those that its user asked for."""
    seed = f"{conditions.seed}/{record.number}/slack"
    slack = random.Random(seed).uniform(conditions.least_slack, conditions.most_slack)  # noqa: S311  repeatable
    return record.submitted + slack * max(asked, SHORTEST_COUNTED)


def replayed_records(trace: WorkloadTrace, conditions: ReplayConditions, jobs: int = 0) -> tuple[RecordedJob, ...]:
    """Return the jobs of a replay, so many from the start (0: all), as recorded or as asked for."""
    records = trace.records[: jobs or None]
    return tuple([_as_asked(record) for record in records]) if conditions.as_asked else records


def _as_asked(record: RecordedJob) -> RecordedJob:
    """Return a job with the processors that were asked for, which ends when it has taken the time asked for."""
    most = math.inf if record.requested is None else record.requested
    processors = record.requested_processors or record.processors
    return replace(record, seconds=min(record.seconds, most), processors=processors)


def bounded_slowdown(turnaround: float, recorded: float) -> float:
    """Return how many times its run time a job took from submission to end, both seconds (Feitelson, Rudolph 1998)."""
    return max(1.0, turnaround / max(recorded, SHORTEST_COUNTED))


def refuse_wide_jobs(records: Sequence[RecordedJob], processors: int) -> None:
    """Refuse a machine that cannot be simulated, or that one of the jobs does not fit on.

    Raises:
        UserError: says which number of processors would do.
    """
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


def _refuse_parallel_jobs(records: Sequence[RecordedJob], policy: PolicyName) -> None:
    for record in records:
        if record.processors > 1:
            needs = f"{policy} places a job on one processor, and job {record.number} needs {record.processors}"
            raise UserError(f"{needs}: choose another policy, or a --moldability other than rigid")


def _measured_row(
    policy: PolicyName,
    runs: Sequence[SimulatedRun],
    tasks: Sequence[Task],
    records: Sequence[RecordedJob],
    processors: int,
    waits: Sequence[float],
) -> ResultRow:
    ended = {int(run.task) - 1: run.finished for run in runs}
    began, finished = tasks[0].submitted, max(ended.values())
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in runs)
    slowdowns = [
        bounded_slowdown(ended[place] - record.submitted, record.seconds) for place, record in enumerate(records)
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
        "on_time": sum(ended[place] <= (task.spec.deadline or 0.0) for place, task in enumerate(tasks)) / len(tasks),
        "makespan": finished - began,
    }
