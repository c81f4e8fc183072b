"""The co-scheduler of one domain: events in, decisions out. No clock, no I/O, no threads, no randomness.

The daemon, the simulator and the fault tests run this very code; any run replays from its events.

    TaskSubmitted ─► waiting ─► Dispatch ─► AttemptSubmitted ─► JobReported(running) ─► JobReported(completed)
                        ▲                      │ error, restart                             │ host lost
                        └── removed or absent ◄┴─ Locate ─► AttemptMissing ─► Cancel ◄──────┘

At most one attempt of a task is live at any time, and none is given up before the manager's word or a fence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.connector.interface import JobReport, JobState
from cosched.coscheduler.decisions import Cancel, Decision, Dispatch, Locate, Outcome, Replan
from cosched.coscheduler.dispatching import Departure, departures, departures_in_order
from cosched.coscheduler.domain import Domain
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    Event,
    HostsObserved,
    JobReported,
    ScheduleImproved,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.task import Attempt, AttemptState, Task, TaskState
from cosched.coscheduler.waiting import Outlook, Waiting
from cosched.prediction.feedback import Correction, Handover
from cosched.scheduling.baselines import baseline_count
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoder import decode
from cosched.scheduling.metrics import measure, objective

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.settings import Settings
    from cosched.scheduling.problem import Plan, Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["Coscheduler"]

# How often the manager is asked again about an attempt that it has not confirmed as cancelled. Seconds.
_ASK_AGAIN = 5.0

_UNKNOWN = "the resource manager does not know this attempt"


class Coscheduler:
    """State of a domain and what to do next.

    Attributes:
        tasks: live tasks by identifier; a task that has ended is reported in its last outcome and forgotten.
        attempts: live attempts by UUID.
        domain: the hosts.
        waiting: the current plan.
        corrections: learned factors by `Task.correction`.
        handover: learned time from a decision to the start of its job.
        improved: the last plan of the search that was taken over; None before the first.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tasks: dict[str, Task] = {}
        self.attempts: dict[str, Attempt] = {}
        self.domain = Domain()
        self.waiting = Waiting()
        self.corrections: dict[str, Correction] = {}
        self.handover = Handover()
        self.improved: ScheduleImproved | None = None
        self._instance = UUID(settings.instance)
        self._live: dict[str, str] = {}  # task → its live attempt
        self._passing: dict[str, None] = {}  # waiting tasks without a profile, in order of arrival
        self._searched: set[str] = set()  # waiting tasks that a plan of the search has covered
        self._held_back: dict[str, float] = {}  # task → not before, epoch seconds
        self._lost: dict[str, int] = {}  # task → attempts whose hosts were lost
        self._asked: dict[str, float] = {}  # attempt being cancelled → when the manager was asked last
        self._paused_until = 0.0  # the manager does not answer: no dispatch before
        self._failures = 0  # submits in a row that the manager did not answer
        self._changes = _Changes()

    def handle(self, event: Event) -> Outcome:
        """Take one event and return what to write down and what to do.

        Events may come late, twice or in the wrong order; what no longer matters is ignored.
        """
        self._changes = _Changes()
        match event:
            case TaskSubmitted():
                self._accept(event.task)
            case CancelRequested():
                self._cancel_task(event)
            case HostsObserved():
                self._changes.replan |= self.domain.observe(event.hosts)
                self._call_back(event.time)
            case ScheduleImproved():
                self._improve(event)
            case Tick():
                self._ask_again(event.time)
            case _:
                self._hear(event)
        self._dispatch(event.time)
        return self._changes.outcome()

    def _hear(self, event: AttemptSubmitted | SubmitFailed | JobReported | AttemptMissing | AttemptAbsent) -> None:
        """Take what the resource manager says of an attempt that is still live; the rest no longer matters."""
        match event:
            case AttemptSubmitted():
                self._submitted(event)
            case SubmitFailed():
                self._submit_failed(event)
            case JobReported():
                self._reported(event.report, event.time)
            case AttemptMissing():
                self._missing(event)
            case AttemptAbsent():
                self._absent(event)

    def restore(
        self, tasks: Iterable[Task], attempts: Iterable[Attempt], completed: Iterable[Task], time: float
    ) -> Outcome:
        """Take up where a former process stopped.

        Args:
            tasks: all tasks that have not ended.
            attempts: their live attempts.
            completed: tasks that ended well, oldest first: what their run times taught.
            time: now, epoch seconds.

        Returns:
            Decisions that find out what became of each attempt meanwhile.
        """
        self._changes = _Changes()
        for task in completed:
            self._learn(task)
        for attempt in attempts:
            self.attempts[attempt.uuid] = attempt
            self._live[attempt.task] = attempt.uuid
        for task in sorted(tasks, key=lambda task: task.number):
            self.tasks[task.id] = task
            if task.id not in self._live:
                self._enqueue(task)
        for attempt in self.attempts.values():
            if attempt.state is AttemptState.CANCELLING:
                self._ask(attempt, time)
            else:
                self._changes.decisions.append(Locate(attempt.uuid))
        return self._changes.outcome()

    def snapshot(self, time: float) -> tuple[Problem, Plan] | None:
        """Return the problem that waits to be planned and the current plan of it; None where nothing does.

        The problem's origin is `time`. Under a baseline policy there is nothing to search.
        """
        if self.settings.policy != "genetic":
            return None
        problem = self._problem(time)
        return None if problem is None else (problem, self.waiting.plan(problem))

    def forecast(self, time: float) -> tuple[Problem, Schedule] | None:
        """Return where the waiting tasks are planned to run, in seconds from `time`; None where none waits."""
        problem = self._problem(time)
        return None if problem is None else (problem, decode(problem, self.waiting.plan(problem)))

    def attempt_of(self, task: str) -> Attempt | None:
        """Return the live attempt of a task, if there is one."""
        uuid = self._live.get(task)
        return None if uuid is None else self.attempts[uuid]

    def held_back_until(self, task: str) -> float | None:
        """Return before which time a task is not tried again, epoch seconds; None where it may leave at once."""
        return self._held_back.get(task)

    @property
    def paused_until(self) -> float:
        """No attempt is submitted before this time (epoch seconds), because the manager did not answer; 0 for none."""
        return self._paused_until

    def taken(self, time: float) -> dict[str, float]:
        """Return when each taken host is expected to be free, epoch seconds."""
        return self.domain.occupied(self.attempts.values(), time, self.handover.seconds)

    def factors(self) -> dict[str, float]:
        """Return the learned correction factors by key."""
        return {key: correction.factor for key, correction in self.corrections.items()}

    # ── tasks come and go ────────────────────────────────────────────────────────────────────────────────────

    def _accept(self, task: Task) -> None:
        if task.id in self.tasks:
            return
        self._put(task)
        self._enqueue(task)

    def _enqueue(self, task: Task, *, first: bool = False) -> None:
        if task.profile is None:
            self._passing = {task.id: None, **self._passing} if first else {**self._passing, task.id: None}
            return
        if first:
            self.waiting.add_first(task.id)
        else:
            self.waiting.add(task.id)
        self._changes.replan = True

    def _cancel_task(self, event: CancelRequested) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.state is TaskState.CANCELLING:
            return
        attempt = self.attempt_of(task.id)
        if attempt is None:
            self._end(task, TaskState.CANCELLED, event.time, reason=event.reason)
            return
        self._put(replace(task, state=TaskState.CANCELLING, reason=event.reason))
        self._cancel_attempt(attempt, event.reason, event.time)

    def _end(
        self, task: Task, state: TaskState, time: float, *, reason: str = "", attempt: Attempt | None = None
    ) -> None:
        ended = replace(task, state=state, reason=reason, finished=time)
        if attempt is not None:
            actual = None
            if state is TaskState.COMPLETED and attempt.started is not None and attempt.finished is not None:
                actual = attempt.finished - attempt.started
            ended = replace(ended, started=attempt.started, finished=attempt.finished or time, actual=actual,
                            exit_code=attempt.exit_code)  # fmt: skip
        self._put(ended)
        self._learn(ended)
        del self.tasks[task.id]
        for known in (self._passing, self._held_back, self._lost):
            known.pop(task.id, None)
        self._forget_waiting(task.id)
        self._changes.replan = True

    def _learn(self, task: Task) -> None:
        if (
            task.state is TaskState.COMPLETED
            and task.actual is not None
            and task.profile is not None
            and task.correction
        ):
            known = self.corrections.get(task.correction, Correction())
            self.corrections[task.correction] = known.learn(task.profile.on(len(task.hosts)), task.actual)

    # ── planning ─────────────────────────────────────────────────────────────────────────────────────────────

    def _problem(self, time: float) -> Problem | None:
        outlook = Outlook(self.factors(), self.handover.seconds, self.settings.margin, self._held_back)
        return self.waiting.problem(self.tasks, self.domain.up(), self.taken(time), time, outlook)

    def _improve(self, event: ScheduleImproved) -> None:
        """Take a plan over unless the current one has become better meanwhile."""
        problem = self._problem(event.time)
        if problem is None:
            return
        proposed = self.waiting.plan(problem, self.waiting.reordered(event.order, event.counts))
        current = self.waiting.plan(problem)
        if self._cost(problem, proposed) <= self._cost(problem, current):
            self.waiting.adopt(problem, proposed)
        if event.settled:
            self._searched.update(task for task in event.order if task in self.waiting)
        self.improved = event

    def _cost(self, problem: Problem, plan: Plan) -> float:
        return objective(measure(problem, decode(problem, plan)), self.settings.weights, lower_bound(problem))

    # ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────

    def _dispatch(self, time: float) -> None:
        if time < self._paused_until:
            return
        for name in list(self._passing):
            if self._held_back.get(name, 0.0) <= time:
                task = self.tasks[name]
                del self._passing[name]
                self._start_attempt(task, (), task.count, None, time)
        for departure in self._departures(time):
            task = self.tasks[departure.task]
            self._forget_waiting(task.id)
            seconds = departure.seconds - self.handover.seconds
            self._start_attempt(task, departure.hosts, len(departure.hosts), seconds, time)
            self._changes.replan = True

    def _departures(self, time: float) -> list[Departure]:
        if not len(self.waiting):
            return []
        taken = self.taken(time)
        idle = [host for host in self.domain.up() if host not in taken]
        problem = self._problem(time) if idle else None
        if problem is None:
            return []
        if self.settings.policy != "genetic":
            return departures_in_order(self._arrivals(problem), idle, lambda task: self._may_leave(task, time))
        schedule = decode(problem, self.waiting.plan(problem))
        return departures(schedule.assignments, idle, lambda task: self._ready(task, time))

    def _arrivals(self, problem: Problem) -> list[tuple[str, int, float]]:
        """Return the queue of a first-come-first-served policy; a host count is chosen once and kept."""
        queue = []
        for place, name in sorted(enumerate(problem.tasks), key=lambda item: self.tasks[item[1]].number):
            row = problem.seconds[0, place]
            count = self.waiting.counts[name]
            if not 1 <= count <= len(row):
                count = baseline_count(self.settings.policy, row, f"{self.settings.seed}/{self.tasks[name].number}")
                self.waiting.counts[name] = count
            queue.append((name, count, float(row[count - 1])))
        return queue

    def _ready(self, task: str, time: float) -> bool:
        staged = task in self._searched or time >= self.tasks[task].submitted + self.settings.staging
        return staged and self._may_leave(task, time)

    def _may_leave(self, task: str, time: float) -> bool:
        return self._held_back.get(task, 0.0) <= time

    def _start_attempt(
        self, task: Task, hosts: tuple[str, ...], count: int, seconds: float | None, time: float
    ) -> None:
        number = task.attempts + 1
        # Derived, not drawn: the core stays repeatable, and a restart cannot give one attempt two names.
        uuid = str(uuid5(self._instance, f"{task.id}/{number}"))
        attempt = Attempt(uuid=uuid, task=task.id, hosts=hosts, count=count, predicted=seconds, created=time)
        task = replace(task, state=TaskState.DISPATCHING, reason="", attempts=number, hosts=hosts, dispatched=time,
                       predicted=seconds, started=None)  # fmt: skip
        self._live[task.id] = uuid
        self._put(task)
        self._put_attempt(attempt)
        self._changes.decisions.append(Dispatch(attempt, task))

    def _submitted(self, event: AttemptSubmitted) -> None:
        self._failures = 0
        attempt = self.attempts.get(event.attempt)
        if attempt is None:
            return
        state = AttemptState.SUBMITTED if attempt.state is AttemptState.SUBMITTING else attempt.state
        self._put_attempt(replace(attempt, state=state, job=event.job))
        if state is AttemptState.CANCELLING:
            # The cancel may have overtaken the submit: say it again now that there is a job.
            self._ask(attempt, event.time)

    def _submit_failed(self, event: SubmitFailed) -> None:
        attempt = self.attempts.get(event.attempt)
        if attempt is None:
            return
        if event.transient:
            self._failures += 1
            pause = self.settings.retry * 2.0 ** min(self._failures - 1, 20)
            self._paused_until = event.time + min(pause, self.settings.retry_longest)
            self._changes.decisions.append(Locate(attempt.uuid))
            return
        self._drop_attempt(replace(attempt, state=AttemptState.FAILED, reason=event.message))
        self._end(self.tasks[attempt.task], TaskState.FAILED, event.time, reason=event.message)

    def _reported(self, report: JobReport, time: float) -> None:
        attempt = self.attempts.get(report.attempt)
        if attempt is None:
            return
        attempt = _merged(attempt, report)
        match report.state:
            case JobState.UNKNOWN:
                self._changes.decisions.append(Locate(attempt.uuid))
            case JobState.QUEUED | JobState.RUNNING | JobState.HELD:
                self._alive(attempt, report)
            case JobState.EVICTED:
                self._evicted(attempt, report, time)
            case JobState.COMPLETED | JobState.FAILED:
                self._ended(attempt, report, time)
            case JobState.REMOVED:
                self._removed(attempt, report, time)

    def _alive(self, attempt: Attempt, report: JobReport) -> None:
        if attempt.state is AttemptState.CANCELLING:
            self._put_attempt(attempt)
            return
        state, task_state = _ALIVE[report.state]
        if attempt.state is AttemptState.RUNNING and state is AttemptState.SUBMITTED:
            return  # an old report that came late; losing a host is EVICTED
        if state is AttemptState.HELD or attempt.state is AttemptState.HELD:
            self._changes.replan = True  # its hosts come free, or are taken again
        if (
            attempt.hosts
            and state is AttemptState.RUNNING
            and attempt.state is not state
            and attempt.started is not None
        ):
            self.handover = self.handover.learn(attempt.started - attempt.created)
        self._put_attempt(replace(attempt, state=state, reason=report.reason))
        task = self.tasks[attempt.task]
        reason = f"held by the resource manager: {report.reason}" if state is AttemptState.HELD else ""
        self._put(replace(task, state=task_state, started=attempt.started, reason=reason))

    def _evicted(self, attempt: Attempt, report: JobReport, time: float) -> None:
        if attempt.state is AttemptState.CANCELLING:
            return
        self._lost[attempt.task] = self._lost.get(attempt.task, 0) + 1
        self._cancel_attempt(attempt, report.reason or "its host was lost", time)

    def _ended(self, attempt: Attempt, report: JobReport, time: float) -> None:
        well = report.state is JobState.COMPLETED
        task = self.tasks[attempt.task]
        if not well and attempt.state is AttemptState.CANCELLING:
            # It died of our own cancel, which some managers report as a failure.
            self._removed(attempt, report, time)
            return
        attempt = replace(attempt, state=AttemptState.COMPLETED if well else AttemptState.FAILED)
        self._drop_attempt(attempt)
        reason = "" if well else report.reason or f"exit code {report.exit_code}"
        self._end(task, TaskState.COMPLETED if well else TaskState.FAILED, time, reason=reason, attempt=attempt)

    def _removed(self, attempt: Attempt, report: JobReport, time: float) -> None:
        task = self.tasks[attempt.task]
        ours = attempt.state is AttemptState.CANCELLING
        reason = attempt.reason if ours else report.reason or "removed from the resource manager's queue by hand"
        attempt = replace(attempt, state=AttemptState.CANCELLED, reason=reason)
        self._drop_attempt(attempt)
        if ours and task.state is not TaskState.CANCELLING:
            self._again(task, reason, time)
        else:
            self._end(task, TaskState.CANCELLED, time, reason=task.reason or reason, attempt=attempt)

    def _missing(self, event: AttemptMissing) -> None:
        """Have the attempt fenced. Written down first: a crash after the fence must not take it for a user's cancel."""
        attempt = self.attempts.get(event.attempt)
        if attempt is not None and attempt.state is not AttemptState.CANCELLING:
            self._cancel_attempt(attempt, _UNKNOWN, event.time)

    def _absent(self, event: AttemptAbsent) -> None:
        attempt = self.attempts.get(event.attempt)
        if attempt is None:
            return
        reason = attempt.reason or _UNKNOWN
        self._drop_attempt(replace(attempt, state=AttemptState.LOST, reason=reason))
        task = self.tasks[attempt.task]
        if task.state is TaskState.CANCELLING:
            self._end(task, TaskState.CANCELLED, event.time, reason=task.reason)
        else:
            self._again(task, reason, event.time)

    def _again(self, task: Task, reason: str, time: float) -> None:
        """Put a task whose attempt came to nothing back into the queue, at the front."""
        lost = self._lost.get(task.id, 0)
        if lost >= self.settings.attempts:
            self._end(task, TaskState.FAILED, time, reason=f"its hosts were lost under it {lost} times; last: {reason}")
            return
        if lost > 1:
            self._held_back[task.id] = time + min(self.settings.retry * 2.0 ** (lost - 2), self.settings.retry_longest)
        task = replace(task, state=TaskState.QUEUED, reason=reason, started=None)
        self._put(task)
        self._searched.add(task.id)  # it has been through staging once
        self._enqueue(task, first=True)

    def _call_back(self, time: float) -> None:
        """Take attempts back that have not begun and whose host went down: they would wait for it, however long."""
        up = set(self.domain.up())
        for attempt in list(self.attempts.values()):
            lost = [host for host in attempt.hosts if host not in up]
            if lost and attempt.state in (AttemptState.SUBMITTING, AttemptState.SUBMITTED):
                self._cancel_attempt(attempt, f"host {lost[0]} went down before it began there", time)

    def _cancel_attempt(self, attempt: Attempt, reason: str, time: float) -> None:
        attempt = replace(attempt, state=AttemptState.CANCELLING, reason=reason)
        self._put_attempt(attempt)
        self._ask(attempt, time)
        self._changes.replan = True

    def _ask(self, attempt: Attempt, time: float) -> None:
        self._asked[attempt.uuid] = time
        self._changes.decisions += [Cancel(attempt.uuid), Locate(attempt.uuid, fence=True)]

    def _ask_again(self, time: float) -> None:
        for attempt in list(self.attempts.values()):
            if attempt.state is AttemptState.CANCELLING and time >= self._asked.get(attempt.uuid, 0.0) + _ASK_AGAIN:
                self._ask(attempt, time)

    # ── bookkeeping ──────────────────────────────────────────────────────────────────────────────────────────

    def _forget_waiting(self, task: str) -> None:
        self.waiting.remove(task)
        self._searched.discard(task)

    def _put(self, task: Task) -> None:
        if self.tasks.get(task.id) != task:
            self.tasks[task.id] = task
            self._changes.tasks[task.id] = task

    def _put_attempt(self, attempt: Attempt) -> None:
        if self.attempts.get(attempt.uuid) != attempt:
            self.attempts[attempt.uuid] = attempt
            self._changes.attempts[attempt.uuid] = attempt

    def _drop_attempt(self, attempt: Attempt) -> None:
        """Write an attempt's end down and forget it."""
        self._changes.attempts[attempt.uuid] = attempt
        del self.attempts[attempt.uuid]
        del self._live[attempt.task]
        self._asked.pop(attempt.uuid, None)
        self._changes.replan = True


class _Changes:
    """What one event changed."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.attempts: dict[str, Attempt] = {}
        self.decisions: list[Decision] = []
        self.replan = False

    def outcome(self) -> Outcome:
        decisions = (*self.decisions, Replan()) if self.replan else tuple(self.decisions)
        return Outcome(tuple(self.tasks.values()), tuple(self.attempts.values()), decisions)


_ALIVE: Mapping[JobState, tuple[AttemptState, TaskState]] = {
    JobState.QUEUED: (AttemptState.SUBMITTED, TaskState.DISPATCHING),
    JobState.RUNNING: (AttemptState.RUNNING, TaskState.RUNNING),
    JobState.HELD: (AttemptState.HELD, TaskState.DISPATCHING),
}


def _merged(attempt: Attempt, report: JobReport) -> Attempt:
    return replace(
        attempt,
        job=report.job or attempt.job,
        started=report.started if report.started is not None else attempt.started,
        finished=report.finished if report.finished is not None else attempt.finished,
        exit_code=report.exit_code if report.exit_code is not None else attempt.exit_code,
    )
