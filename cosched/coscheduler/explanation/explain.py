"""An explanation says why a task waits, until when, and what would change it.

Start at `explain`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.explanation.live_attempts import explain_attempt
from cosched.coscheduler.explanation.obstacles import beyond_licences, find_obstacles, why_impossible
from cosched.coscheduler.explanation.planned_hosts import avoided_hosts, missing_room, occupants
from cosched.coscheduler.explanation.rescue import rescues
from cosched.coscheduler.explanation.slowdown_sentences import contention_change, owner_sentences
from cosched.coscheduler.explanation.task_explanation import TaskExplanation
from cosched.coscheduler.explanation.what_helps import earlier_unreserved, helpful_changes
from cosched.coscheduler.places.shortage import shape_text
from cosched.coscheduler.progress import doubtful_hosts
from cosched.coscheduler.sharing.standing import beyond_share
from cosched.coscheduler.task import TaskState
from cosched.durations import format_duration

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task, TaskStatus

__all__ = ["explain"]


def explain(core: Coscheduler, name: str, time: float) -> TaskExplanation | None:
    """Explain a live task; return None for one that is unknown or has ended."""
    task = core.tasks.get(name)
    if task is None:
        return None
    found = _explain_live(core, task, time)
    left = math.inf if task.spec.deadline is None else task.spec.deadline - time
    return replace(found, slack=left) if found.slack is None and left < 0 else found


def _explain_live(core: Coscheduler, task: Task, time: float) -> TaskExplanation:
    name = task.id
    attempt = core.attempt_of(name)
    if attempt is not None:
        return explain_attempt(core, task, attempt, time)
    status = task.status
    if status.peer:
        why = _explain_forwarded(status)
        return TaskExplanation(name, status.state, (why,), planned_start=status.started, planned_hosts=status.hosts)
    if status.held_by:
        why = f"its release: {status.held_by} holds it (`cosched task release {name}`)"
        return TaskExplanation(name, status.state, (why,))
    if task.in_transit:
        why = f"a domain that takes it: it comes from {task.origin}, cannot run here and only goes through"
        return TaskExplanation(name, status.state, (why,))
    if task.profile is None:
        shape = shape_text(core.domain, task.spec, task.spec.count)
        why = f"it has no model: it goes to the resource manager as it is, for {shape}"
        if task.spec.deadline is not None:
            why += ", and nothing plans towards its deadline"
        beyond = beyond_licences(core, task) or beyond_share(core, task)
        return TaskExplanation(name, status.state, (*find_obstacles(core, task, time), beyond or why))
    found = _explain_waiting(core, task, time)
    if status.restarts is None or not status.reason:
        return found
    return replace(found, waits_for=(status.reason, *found.waits_for))  # why it was stopped


def _explain_forwarded(status: TaskStatus) -> str:
    if status.state is TaskState.CANCELLING:
        return f"domain {status.peer} has it and is asked to end it: {status.reason}"
    does = "it runs there" if status.started is not None else "it waits there"
    return f"domain {status.peer} has it, {does}: {status.reason}"


def _explain_waiting(core: Coscheduler, task: Task, time: float) -> TaskExplanation:
    obstacles = find_obstacles(core, task, time)
    forecast = core.planning_view.forecast(time)
    problem, schedule = forecast if forecast is not None else (None, None)
    if problem is None or schedule is None or task.id not in problem.tasks:
        why = () if core.predecessors(task.id) else (why_impossible(core, task),)
        return TaskExplanation(task.id, task.status.state, (*obstacles, *why))
    mine = next(a for a in schedule.assignments if a.task == task.id)
    shape = core.domain.planned_shape(task, mine)
    # Neither a task that did not begin when it was tried nor one behind such a job can be said to be in time.
    doubtful = core.unstarted.tries(task.id) > 0 or not doubtful_hosts(core, time).isdisjoint(mine.hosts)
    slack = None if task.spec.deadline is None or doubtful else task.spec.deadline - time - mine.end
    handover = core.planning_view.assumptions(time).handover
    begins = time + mine.start + handover
    low, high = EndRanges(core).of(shape, mine.hosts, begins) or (None, None)
    earlier = earlier_unreserved(core, mine, time)
    changes = [*helpful_changes(core, problem, mine, handover), *owner_sentences(core, shape, mine.hosts)]
    changes += contention_change(core, shape, mine.hosts)
    if earlier:
        changes.append(f"without reservations it would end {format_duration(earlier)} earlier")
    waits_for = [
        *obstacles,
        *avoided_hosts(core, task, time),
        *missing_room(core, shape, mine, schedule.assignments, time),
        *occupants(core, task, schedule.assignments, mine, time, delayed=earlier > 0),
    ]
    if not waits_for and mine.start > 0:
        waits_for.append(f"its planned start in {format_duration(mine.start)}")
    return TaskExplanation(
        task.id,
        task.status.state,
        tuple(waits_for) or ("nothing: it leaves as soon as the search has looked at it",),
        begins,
        time + mine.end,
        low,
        high,
        mine.hosts,
        slack,
        tuple(changes),
        rescues(core, task.id, problem, schedule, time) if task.stage is None else (),
        shape.spec.cores if task.alternatives else 0,
    )
