"""Explanation of a task whose job the resource manager has: whether it has begun, and when it should end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.explanation.elastic_sentences import worker_sentences
from cosched.coscheduler.explanation.slowdown_sentences import contention_sentences, owner_sentences
from cosched.coscheduler.explanation.task_explanation import TaskExplanation
from cosched.coscheduler.explanation.task_names import first_tasks, task_text
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.places.shortage import needs_text
from cosched.coscheduler.progress import overrun_of
from cosched.durations import format_duration

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.progress import Overrun
    from cosched.coscheduler.task import Task

__all__ = ["explain_attempt"]


def explain_attempt(core: Coscheduler, task: Task, attempt: Attempt, time: float) -> TaskExplanation:
    """Explain a task with a live attempt: what the manager does with its job, and when it should end."""
    job = f"job {attempt.job}" if attempt.job else "its job"
    sentences = [
        {
            AttemptState.SUBMITTING: "the resource manager is being given its job"
            f"{f'; its last answer: {attempt.reason}' if attempt.reason else ''}",
            AttemptState.SUBMITTED: f"the resource manager has {job} and has not started it on all hosts yet",
            AttemptState.RUNNING: f"{job} is running",
            AttemptState.HELD: f"the resource manager holds {job}: {attempt.reason}; release or cancel it",
            AttemptState.CANCELLING: f"{job} is being cancelled: {attempt.reason}",
        }.get(attempt.state, attempt.state.value)
    ]
    waited = core.unstarted.waited(attempt.uuid, time)
    if waited:
        sentences = _not_begun(core, task, attempt, job, waited)
    elif attempt.state is AttemptState.SUBMITTED:
        sentences += [f"why it has not begun: {attempt.reason}"] if attempt.reason else []
        if not attempt.hosts:
            sentences.append(needs_text(core.domain, task.spec, attempt.count, core.attempts.values()))
    if attempt.predicted is None or waited or attempt.state is AttemptState.HELD:
        return TaskExplanation(task.id, task.status.state, tuple(sentences))  # nothing is known of its end
    sentences += worker_sentences(core, task, attempt, time)
    if attempt.lead is not None and attempt.leave_by is not None:  # it will stop then, and its task will not have ended
        hosts = attempt.reckoned_hosts
        return TaskExplanation(task.id, task.status.state, tuple(sentences), attempt.started, planned_hosts=hosts)
    sentences += owner_sentences(core, task, attempt.reckoned_hosts)
    sentences += contention_sentences(core, task, attempt.hosts)
    if (past := overrun_of(core, attempt, time)) is not None:
        sentences += _overrun_sentences(core, task, past, time)
    handover = core.planning_view.assumptions(time).handover
    start, end = attempt.begins(time, handover), expected_end(attempt, time, handover)
    slack = None if task.spec.deadline is None else task.spec.deadline - end
    low, high = (EndRanges(core).of(task, attempt.reckoned_hosts, start) if past is None else None) or (None, None)
    hosts = attempt.reckoned_hosts
    return TaskExplanation(task.id, task.status.state, tuple(sentences), start, end, low, high, hosts, slack)


def _not_begun(core: Coscheduler, task: Task, attempt: Attempt, job: str, waited: float) -> list[str]:
    """Say that an attempt should have begun, and who may be in its way."""
    reason, hosts = core.unstarted.reason(attempt.uuid), set(attempt.reckoned_hosts)
    others = [each for each in core.attempts.values() if each.task != task.id]
    beside = list(dict.fromkeys(each.task for each in others if hosts.intersection(each.reckoned_hosts)))
    foreign = any(known.others != HostShare() for host in hosts if (known := core.domain.hosts.get(host)) is not None)
    free = "" if beside or foreign else " on free hosts"
    found = [
        f"the resource manager has {job}, and has not started it{free} for {format_duration(waited)}"
        f"{f': {reason}' if reason else ''}; it is asked why, and the job is called back if it does not begin"
    ]
    if beside:
        found.append(f"on its hosts, too: {first_tasks(core, beside, task)}")
    if anywhere := [each.task for each in others if each.state is AttemptState.SUBMITTED and not each.hosts]:
        waits, its = ("waits", "its") if len(anywhere) == 1 else ("wait", "their")
        found.append(
            f"{first_tasks(core, anywhere, task)} {waits} in the resource manager, which chooses {its} hosts and may "
            "keep some of these for that"
        )
    return found


def _overrun_sentences(core: Coscheduler, task: Task, past: Overrun, time: float) -> list[str]:
    found = [
        f"it runs {format_duration(time - past.predicted)} longer than predicted, "
        f"and is now expected to run for another {format_duration(past.expected - time)}"
    ]
    for name, missed in past.presses.items():
        late = f", which would miss its deadline by {format_duration(missed)}" if missed else ""
        found.append(f"its hosts are planned next for {task_text(core, name, task)}{late}")
    return found
