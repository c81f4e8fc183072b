"""An explanation says why a task waits, until when, and what would change it.

Start at `explain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.connector.hosts import HostShare
from cosched.coscheduler.elastic.explaining import lent_sentences, worker_sentences
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.places.contention_text import contention_change, contention_sentences
from cosched.coscheduler.places.hosts import expected_end, needs_on_host
from cosched.coscheduler.places.owner_loads import owner_sentences
from cosched.coscheduler.places.shortage import needs_text, shape_text, share_text, shortage
from cosched.coscheduler.places.spare_room import SpareRoom, kept_for, planned_shares
from cosched.coscheduler.progress import doubtful_hosts, overrun_of
from cosched.coscheduler.rescue import rescues
from cosched.coscheduler.sharing.standing import share_obstacle
from cosched.coscheduler.task import AttemptState, TaskState
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.licence_requests import format_licences
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan
from cosched.scheduling.shapes import best_shape_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.progress import Overrun
    from cosched.coscheduler.rescue import Rescue
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Attempt, Task, TaskStatus
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["TaskExplanation", "explain", "planned_shape"]

_WORTH_A_CHANGE = 1.0  # seconds; news of ends come late by that


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """The answer for one task. Times are epoch seconds, durations seconds.

    Attributes:
        waits_for: obstacles to a waiting task's start, the nearest first; what one does that has left; a sentence each.
        planned_start: when it is planned to run, its job handed over; None where nothing is planned (not possible now,
            no profile).
        planned_end: when it is predicted to end.
        end_low: before when a run in twenty ends that starts as planned; None where no uncertainty is known.
        end_high: after when one ends, likewise.
        planned_hosts: its hosts in the plan.
        planned_cores: of a task with alternatives: cores of each host in the one that is planned; 0 for others.
        slack: deadline minus planned end, or what has passed since; negative when late; None where neither is known.
        would_change: changes that would make it end earlier, one sentence each.
        rescues: what would save one that is planned to be late, the best first.
    """

    task: str
    state: TaskState
    waits_for: tuple[str, ...] = ()
    planned_start: float | None = None
    planned_end: float | None = None
    end_low: float | None = None
    end_high: float | None = None
    planned_hosts: tuple[str, ...] = ()
    slack: float | None = None
    would_change: tuple[str, ...] = ()
    rescues: tuple[Rescue, ...] = ()
    planned_cores: int = 0


def planned_shape(core: Coscheduler, task: Task, place: Assignment) -> Task:
    """Return a waiting task as it is planned to run."""
    hosts = [core.domain.hosts[host] for host in place.hosts if host in core.domain.hosts]
    return task.shaped(place.taken[0] if place.taken else 0, hosts)


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
        return _explain_attempt(core, task, attempt, time)
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
        beyond = _beyond_licences(core, task)
        return TaskExplanation(name, status.state, (*_obstacles(core, task, time), beyond or why))
    found = _explain_waiting(core, task, time)
    if status.restarts is None or not status.reason:
        return found
    return replace(found, waits_for=(status.reason, *found.waits_for))  # why it was stopped


def _explain_forwarded(status: TaskStatus) -> str:
    if status.state is TaskState.CANCELLING:
        return f"domain {status.peer} has it and is asked to end it: {status.reason}"
    does = "it runs there" if status.started is not None else "it waits there"
    return f"domain {status.peer} has it, {does}: {status.reason}"


def _explain_attempt(core: Coscheduler, task: Task, attempt: Attempt, time: float) -> TaskExplanation:
    job = f"job {attempt.job}" if attempt.job else "its job"
    sentences = [
        {
            AttemptState.SUBMITTING: "the resource manager is being given its job",
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
    sentences += owner_sentences(core, task, attempt.hosts)
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
        found.append(f"on its hosts, too: {_first_tasks(core, beside, task)}")
    if anywhere := [each.task for each in others if each.state is AttemptState.SUBMITTED and not each.hosts]:
        waits, its = ("waits", "its") if len(anywhere) == 1 else ("wait", "their")
        found.append(
            f"{_first_tasks(core, anywhere, task)} {waits} in the resource manager, which chooses {its} hosts and may "
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
        found.append(f"its hosts are planned next for {_task_text(core, name, task)}{late}")
    return found


def _explain_waiting(core: Coscheduler, task: Task, time: float) -> TaskExplanation:
    obstacles = _obstacles(core, task, time)
    forecast = core.planning_view.forecast(time)
    problem, schedule = forecast if forecast is not None else (None, None)
    if problem is None or schedule is None or task.id not in problem.tasks:
        why = () if core.predecessors(task.id) else (_impossible(core, task),)
        return TaskExplanation(task.id, task.status.state, (*obstacles, *why))
    mine = next(a for a in schedule.assignments if a.task == task.id)
    shape = planned_shape(core, task, mine)
    # Neither a task that did not begin when it was tried nor one behind such a job can be said to be in time.
    doubtful = core.unstarted.tries(task.id) > 0 or not doubtful_hosts(core, time).isdisjoint(mine.hosts)
    slack = None if task.spec.deadline is None or doubtful else task.spec.deadline - time - mine.end
    handover = core.planning_view.assumptions(time).handover
    begins = time + mine.start + handover
    low, high = EndRanges(core).of(shape, mine.hosts, begins) or (None, None)
    earlier = _earlier_unreserved(core, mine, time)
    changes = [*_changes(core, problem, mine, handover), *owner_sentences(core, shape, mine.hosts)]
    changes += contention_change(core, shape, mine.hosts)
    if earlier:
        changes.append(f"without reservations it would end {format_duration(earlier)} earlier")
    waits_for = [
        *obstacles,
        *_avoided(core, task, time),
        *_missing(core, shape, mine, schedule.assignments, time),
        *_ahead(core, task, schedule.assignments, mine, time, delayed=earlier > 0),
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


def _missing(
    core: Coscheduler, task: Task, mine: Assignment, assignments: Iterable[Assignment], time: float
) -> list[str]:
    """Name what is not free for the task on shared hosts and the hosts that will have it, or whom that is kept for."""
    if not core.domain.shared or mine.start <= 0:
        return []
    left = core.domain.left(core.attempts.values())
    what = shortage(core.domain, task.spec, len(mine.hosts), left)
    if not what:
        return _kept(core, task, mine, assignments, left, time)
    have = "has that" if len(mine.hosts) == 1 else "have that"
    return [f"{what}: {_first_names(list(mine.hosts))} {have} in {format_duration(mine.start)}"]


def _kept(
    core: Coscheduler,
    task: Task,
    mine: Assignment,
    assignments: Iterable[Assignment],
    left: Mapping[str, HostShare],
    time: float,
) -> list[str]:
    """Name the task for which one host's room is kept that this one would fit into now."""
    share, domain = core.domain.share_of(task.spec), core.domain
    if share is None or len(mine.hosts) != 1:
        return []
    sizes = {name: domain.size(name) for name in domain.mine() if name in left}
    held = [
        (each.host, each.until - time, each.share)
        for each in domain.held(core.attempts.values(), time)
        if each.host in sizes
    ]
    others = planned_shares([each for each in assignments if each.task != task.id], core.tasks, domain)
    room = SpareRoom(sizes, held, others)
    first = kept_for(share, mine.end - mine.start, {name: left[name] for name in sizes}, room)
    if first is None:
        return []
    what = f"{share_text(share)} that {first.host} has now, but not for long enough"
    return [f"{what}: {_task_text(core, first.task, task)} is to start there in {format_duration(first.start)}"]


def _avoided(core: Coscheduler, task: Task, time: float) -> list[str]:
    """Name the hosts on which a task did not begin, while it is planned on others."""
    hosts = sorted(core.unstarted.avoided().get(task.id, ()))
    if not hosts:
        return []
    left = format_duration(max(core.unstarted.avoided_until(task.id) - time, 0.0))
    return [f"hosts other than {_first_names(hosts)}: it did not begin there, and others do as well for another {left}"]


def _earlier_unreserved(core: Coscheduler, mine: Assignment, time: float) -> float:
    """Return how many seconds earlier a task would end without reservations, or 0.0."""
    forecast = core.planning_view.unreserved(time) if core.reservations.live(time) else None
    if forecast is None:
        return 0.0
    earlier = mine.end - next(each.end for each in forecast[1].assignments if each.task == mine.task)
    return earlier if earlier > 1e-6 else 0.0


def _obstacles(core: Coscheduler, task: Task, time: float) -> list[str]:
    found = [f"task {_task_text(core, name, task)}, which it comes after" for name in core.predecessors(task.id)]
    if task.spec.begin is not None and task.spec.begin > time:
        found.append(f"the time from which it may start, in {format_duration(task.spec.begin - time)}")
    if time < core.paused_until:
        found.append(
            f"the resource manager does not answer; asked again in {format_duration(core.paused_until - time)}"
        )
    limit = core.owner_limit(task.id)
    if limit is not None and core.owner_is_limited(task.id, time):
        pause = max(limit.until - time, 0.0)
        found.append(f"{limit.why}; tried again when a task of its owner ends, or in {format_duration(pause)}")
    found += _missing_licences(core, task, time)
    found += filter(None, (core.lead_obstacle(task.id), core.array_obstacle(task.id), share_obstacle(core, task)))
    held_back, failed = core.held_back_until(task.id), bool(task.status.failures and task.status.reason)
    if task.status.held:
        found.append(f"the word of domain {task.origin}, which it comes from, that it may start")
    elif held_back is not None and held_back > time and not task.status.reason:
        found.append("the answers of other domains: it would miss its deadline here")
    elif held_back is not None and held_back > time:
        failed = False
        found.append(
            f"an attempt came to nothing ({task.status.reason}); tried again in {format_duration(held_back - time)}"
        )
    if failed:
        found.append(f"its turn to be tried again: {task.status.reason}")
    return found


def _missing_licences(core: Coscheduler, task: Task, time: float) -> list[str]:
    """Say which licences a task cannot have now, who has them, and until when."""
    found = []
    for name, amount in core.licences.lacking(task).items():
        total, used = core.licences.total.get(name, 0), core.licences.in_use[name]
        if amount > total:
            continue
        having = core.planning_view.licence_holders(name)
        text = f"{format_licences({name: amount})}: {used} of {total} are in use"
        if having:
            text += f" by {_first_tasks(core, [other for other, _ in having], task)}"
        first, kept = core.licences.kept_for(name)
        if first not in {"", task.id}:
            text += f", and {kept} are kept for {_task_text(core, first, task)}, which no plan has"
        elif (when := core.planning_view.licence_back(name, amount, time)) is not None:
            text += f"; {'it is' if amount == 1 else 'as many are'} free in {format_duration(when - time)}"
        found.append(text)
    return found


def _beyond_licences(core: Coscheduler, task: Task) -> str:
    beyond = core.licences.beyond(task.spec)
    return beyond and f"it asks for {beyond}: change it, or ask an administrator for more ([licences])"


def _impossible(core: Coscheduler, task: Task) -> str:
    if beyond := _beyond_licences(core, task):
        return beyond
    task = task.shapes()[0]  # that with the fewest cores is the last to become impossible
    assert task.profile is not None
    least = next(count for count, value in enumerate(task.profile.seconds, start=1) if math.isfinite(value))
    up, which = core.domain.up(), "up"
    needs = needs_on_host(task.spec, core.domain.memory_per_core)
    if any(needs):
        up, which = core.domain.offering(needs), "up that have what it asks for"
    return f"it needs at least {plural(least, 'host')} and {len(up)} are {which}: it starts when more come back"


def _ahead(
    core: Coscheduler, task: Task, assignments: tuple[Assignment, ...], mine: Assignment, time: float, *, delayed: bool
) -> list[str]:
    """Name what occupies the planned hosts before the task: running tasks, tasks planned earlier, reservations.

    Where reservations delay the task, those of other hosts are named, too: it may be for them that it takes these.
    """
    hosts = set(mine.hosts)
    planned = [a.task for a in assignments if a.start < mine.start and hosts.intersection(a.hosts)]
    first = [
        a.task
        for a in assignments
        if a.start < mine.start and not task.spec.licences.keys().isdisjoint(core.tasks[a.task].spec.licences)
    ]
    taken = [a.task for a in core.attempts.values() if not a.loan and hosts.intersection(a.reckoned_hosts)]
    found = lent_sentences(core, hosts)
    if taken := list(dict.fromkeys(taken)):
        found.append(f"on hosts it will use: {_first_tasks(core, taken, task)}")
    found += _open_ends(core, task, hosts, time)
    aside = sorted(hosts.intersection(core.unstarted.set_aside(time)))
    if aside:
        found.append(f"hosts on which several tasks did not begin, and which are tried again later: {', '.join(aside)}")
    held = {name: core.domain.hosts[name].others for name in sorted(hosts) if core.domain.shared}
    if shared := [f"{name} ({share_text(share)})" for name, share in held.items() if share != HostShare()]:
        found.append(f"held by others: {_first_names(shared)}")
    others = sorted(hosts.intersection(core.domain.claims(0.0)))
    if others:
        found.append(
            f"taken by others: {', '.join(f'{name} ({core.domain.hosts[name].reason})' for name in others[:3])}"
        )
    reserved = core.reservations.on(core.domain.hosts if delayed else hosts, time, time + mine.start, time)
    if reserved:
        found.append(f"reserved: {'; '.join(_reserved(each, time) for each in reserved[:3])}")
    if first:
        found.append(f"planned before it with licences that it needs, too: {_first_tasks(core, first, task)}")
    if planned:
        found.append(f"planned before it on those hosts: {_first_tasks(core, planned, task)}")
    return found


def _open_ends(core: Coscheduler, task: Task, hosts: set[str], time: float) -> list[str]:
    """Name the jobs on hosts of which nobody can say when they end: they have not begun, or nobody predicted it."""
    found = []
    here = [each for each in core.attempts.values() if hosts.intersection(each.hosts)]
    if late := {each.task: age for each in here if (age := core.unstarted.waited(each.uuid, time))}:
        longest = format_duration(max(late.values()))
        has, until = ("has", f"{longest}: until it does")
        if len(late) > 1:
            has, until = "have", f"up to {longest}: until they do"
        found.append(f"{_first_tasks(core, list(late), task)} {has} not begun for {until}, no end is promised")
    begun = [each for each in here if each.started is not None and not each.worker]  # workers end with their leads
    if open_ends := [each.task for each in begun if each.predicted is None]:
        found.append(
            f"nobody has predicted when {_first_tasks(core, open_ends, task)} will end: plans reckon with half as "
            "long again as it has run"
        )
    return found


def _reserved(reservation: Reservation, time: float) -> str:
    hosts = _first_names(sorted(reservation.hosts))
    if reservation.begin <= time:
        return f"{hosts} for {reservation.title}, another {format_duration(reservation.end - time)}"
    begins, lasts = reservation.begin - time, reservation.end - reservation.begin
    return f"{hosts} for {reservation.title}, in {format_duration(begins)} for {format_duration(lasts)}"


def _changes(core: Coscheduler, problem: Problem, mine: Assignment, handover: float) -> list[str]:
    place = problem.tasks.index(mine.task)
    plan = core.plan.for_problem(problem)
    order = np.concatenate(([place], plan.order[plan.order != place]))
    schedule = decode(problem, Plan(order, plan.counts, plan.classes))
    first = next(
        a for a in schedule.assignments if a.task == mine.task
    )  # whom it comes after goes before it all the same
    found = []
    if first.end <= mine.end - _WORTH_A_CHANGE:
        found.append(f"first in the queue it would end {format_duration(mine.end - first.end)} earlier")
    found += _quicker(problem, place, mine, handover)
    down = len(core.domain.hosts) - len(problem.hosts)
    if down:
        found.append(
            "1 host is down: with it back the plan is made anew"
            if down == 1
            else f"{down} hosts are down: with them back the plan is made anew"
        )
    return found


def _quicker(problem: Problem, place: int, mine: Assignment, handover: float) -> list[str]:
    """Say on how many hosts a task would run quicker than it is planned to, and with how many cores of each.

    Problems reckon each task with the seconds of its hand-over, in which it does not run yet.
    """
    now = mine.end - mine.start - handover
    packing = problem.packing
    if packing is None or not packing.varied[place]:
        row = best_seconds(problem)[place]
        best = int(np.argmin(row)) + 1
        what, quickest = f"on {plural(best, 'host')}", float(row[best - 1])
        instead = f"on {len(mine.hosts)}"
    else:
        shapes = slice(int(packing.first[place]), int(packing.first[place + 1]))
        row = best_shape_seconds(problem, packing)[shapes]
        best = int(np.argmin(row))
        cores, hosts = int(packing.demand[shapes][best, 0]), int(packing.hosts[shapes][best])
        what, quickest = f"on {_cores_text(cores, hosts)}", float(row[best])
        instead = f"on {_cores_text(mine.taken[0], len(mine.hosts))}"
    quickest -= handover
    if quickest >= now - 1e-6:
        return []
    return [f"{what} it would run {format_duration(quickest)} instead of {format_duration(now)} {instead}"]


def _cores_text(cores: int, hosts: int) -> str:
    each = f"{cores} core{'s' * (cores > 1)}"
    return f"{each} of one host" if hosts == 1 else f"{each} of each of {hosts} hosts"


def _first_tasks(core: Coscheduler, tasks: list[str], asked: Task) -> str:
    return _first_names([_task_text(core, name, asked) for name in dict.fromkeys(tasks)])


def _task_text(core: Coscheduler, name: str, asked: Task) -> str:
    """Return a task's number and state, and its name where both are of one user."""
    task = core.tasks[name]
    called = f"{task.spec.name}, " if task.owner == asked.owner and task.spec.name else ""
    return f"{name} ({called}{task.status.state})"


def _first_names(names: list[str], most: int = 5) -> str:
    named = ", ".join(names[:most])
    return named if len(names) <= most else f"{named} and {len(names) - most} more"
