"""Views make API documents of the core's and the store's values.

Tasks (`task_view`), the schedule (`plan_view`), neighbours (`peer_views`).
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cosched.api.documents import (
    AlternativeView,
    AttemptView,
    ElasticRequest,
    ExplanationView,
    ForwardedPlacement,
    FreeView,
    HandoverView,
    HostView,
    LicenceView,
    PeerView,
    PlacementView,
    PlanView,
    ProfileView,
    RecordView,
    RescueView,
    RestartsView,
    TaskDetail,
    TaskView,
)
from cosched.app.elastic.loans import hosts_sentences
from cosched.app.submission.chain_views import chain_view
from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.places.hosts import expected_end, overrun, predicted_end
from cosched.coscheduler.progress import doubtful_hosts
from cosched.coscheduler.task import TaskState
from cosched.scheduling.bounds import proved_optimal
from cosched.store import tables
from cosched.store.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.agents.agent import Agent
    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.values import Elastic
    from cosched.coscheduler.explanation.rescue import Rescue
    from cosched.coscheduler.explanation.task_explanation import TaskExplanation
    from cosched.coscheduler.handovers import Handover
    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile
    from cosched.scheduling.schedule import Assignment
    from cosched.store import LogEntry
    from cosched.store.rows import TableRow

__all__ = [
    "ended_explanation",
    "explanation_view",
    "forwarded_placements",
    "handover_views",
    "host_views",
    "listed_view",
    "peer_views",
    "plan_view",
    "profile_view",
    "task_detail",
    "task_view",
]


def peer_views(
    entries: Mapping[str, PeerEntry], faults: Mapping[str, str], agent: Agent, core: Coscheduler, time: float
) -> list[PeerView]:
    """Return all neighbours, by name."""
    known = {entry.service.domain: entry for entry in agent.entries(time)}
    views = []
    for name, entry in sorted(entries.items()):
        heard = known.get(name)
        service = None if heard is None else heard.now(time)
        classes = () if service is None else service.classes
        cores = [each.cores(service.age) for each in classes] if service else []
        views.append(
            PeerView(
                name=name,
                address=entry.address,
                role=str(entry.role),
                paused=entry.paused,
                heard=agent.last_heard.get(name),
                hosts=sum(host_class.hosts for host_class in classes),
                free=sum(free <= service.age for each in classes for free in each.times()) if service else 0,
                cores=sum(total for _, total in cores),
                free_cores=sum(free for free, _ in cores),
                hardware=tuple(host_class.hardware for host_class in classes),
                given=sum(task.status.peer == name for task in core.tasks.values()),
                taken=sum(task.origin == name for task in core.tasks.values()),
                fault=faults.get(name, ""),
            )
        )
    return views


def handover_views(handovers: Iterable[Handover]) -> tuple[HandoverView, ...]:
    """Return a task's log, oldest first."""
    return tuple(
        HandoverView(
            peer=one.peer,
            epoch=one.epoch,
            state=str(one.state),
            why=one.why,
            created=one.created,
            closed=one.closed,
            outcome=one.outcome,
        )
        for one in handovers
    )


_VIEW, _DETAIL = (
    tuple(item.name for item in fields(kind) if item.name in tables.tasks.columns) for kind in (TaskView, TaskDetail)
)
_ATTEMPT = tuple(item.name for item in fields(AttemptView))


def task_view(task: Task) -> TaskView:
    """Return a task as lists show it."""
    return listed_view(row_of(task))


def listed_view(row: TableRow) -> TaskView:
    """Return the view of a database row: of the table `tasks`, or of a list."""
    return TaskView(**_task_fields(_VIEW, row))


def task_detail(
    task: Task, attempts: Iterable[Attempt], log: Iterable[LogEntry], handovers: Iterable[Handover] = ()
) -> TaskDetail:
    """Return a task with all that is known of it."""
    elastic, restarts = task.spec.elastic, task.status.restarts
    shown: dict[str, Any] = {
        "profile": None if task.profile is None else profile_view(task.profile),
        "alternatives": tuple(map(_alternative_view, task.alternatives)),
        "chain": chain_view(None, task, 0.0),
        "elastic": None if elastic is None else elastic_view(elastic),
        "restarts": None
        if restarts is None
        else RestartsView(
            count=restarts.count,
            left=restarts.left,
            reason=restarts.why,
            unheeded=restarts.unheeded,
            forced=restarts.forced,
        ),
        "tries": tuple(
            AttemptView(**{name: getattr(attempt, name) for name in _ATTEMPT})
            for attempt in attempts
            if not attempt.worker
        ),
        "log": tuple(RecordView(time=line.time, kind=line.kind, task=line.task, detail=line.detail) for line in log),
        "handovers": handover_views(handovers),
    }
    return TaskDetail(**(_task_fields(_DETAIL, row_of(task)) | shown))


def elastic_view(elastic: Elastic) -> ElasticRequest:
    """Return the request of an elastic task, as a document."""
    return ElasticRequest(
        kind="restart" if elastic.restart else "workers",
        worker=elastic.worker,
        grace=elastic.grace,
        cost=elastic.cost,
        force=elastic.force,
    )


def profile_view(profile: Profile) -> ProfileView:
    """Return a profile for JSON, with null for a host count that cannot be used."""
    low, high = (None if times is None else _nulled(times) for times in (profile.low, profile.high))
    return ProfileView(
        seconds=_nulled(profile.seconds),
        low=low,
        high=high,
        source=str(profile.source),
        hardware=profile.hardware,
        runs=profile.runs,
        stated=_nulled(profile.stated) if profile.stated else None,
        explores=profile.explores,
        changed=profile.changed,
        classes=tuple(map(profile_view, profile.classes)),
    )


def _alternative_view(alternative: Alternative) -> AlternativeView:
    return AlternativeView(
        cores=alternative.cores,
        memory=alternative.memory,
        gpus=alternative.gpus,
        processes_per_host=alternative.processes_per_host,
        profile=profile_view(alternative.profile),
    )


def _nulled(times: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in times)


def _task_fields(names: Iterable[str], row: TableRow) -> dict[str, Any]:
    values = {name: row[name] for name in names}
    on_time = None
    if values["deadline"] is not None and values["finished"] is not None and values["state"] == TaskState.COMPLETED:
        on_time = values["finished"] <= values["deadline"]
    return {
        **values,
        "state": str(values["state"]),
        "count": len(values["hosts"]) or values["count"],
        "on_time": on_time,
    }


def _visible_task(principal: Principal, core: Coscheduler, task: str) -> tuple[str, Task | None]:
    """Return a task's identifier and the task, or neither of another user's task."""
    known = core.tasks.get(task)
    if known is None:
        return (task if principal.is_operator else "", None)
    return (task, known) if principal.may_see(known.owner) else ("", None)


def _attempts_by_host(core: Coscheduler) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in core.attempts.values():
        for host in attempt.reckoned_hosts if attempt.takes_hosts else ():
            found.setdefault(host, []).append(attempt)
    return found


def host_views(principal: Principal, core: Coscheduler, time: float) -> list[HostView]:
    """Return all hosts by name; occupied by other users' tasks, without their names."""
    occupied = _attempts_by_host(core)
    whole = core.domain.claims(time)
    parts = {held.host: held for held in core.domain.held((), time)}
    claims = whole | {name: held.until for name, held in parts.items()}
    handover = core.planning_view.assumptions(time).handover
    left = core.domain.left(core.attempts.values()) if core.domain.shared else {}
    reserved = {host: each.title for each in core.reservations.live(time) if each.begin <= time for host in each.hosts}
    views = []
    for host in sorted(core.domain.hosts.values(), key=lambda host: host.name):
        here = occupied.get(host.name, [])
        shown = [_visible_task(principal, core, name) for name in dict.fromkeys(attempt.task for attempt in here)]
        task, known = shown[-1] if shown and (len(shown) == 1 or not core.domain.shared) else ("", None)
        owners = {"" if each is None else each.owner for _, each in (shown if core.domain.shared else [(task, known)])}
        views.append(
            HostView(
                name=host.name,
                host_class=host.host_class,
                up=host.up,
                reason=host.reason,
                task=task,
                owner=", ".join(sorted(owners - {""})),
                free_at=_free_at(host, here, claims.get(host.name), time, handover),
                reserved=reserved.get(host.name, ""),
                memory=host.memory,
                cores=host.cores,
                gpus=host.gpus,
                tasks=tuple(sorted([name for name, _ in shown if name], key=_by_number)) if core.domain.shared else (),
                free=_free_view(host, left[host.name], whole=host.name in whole) if left else None,
                others_until=claims.get(host.name),
                others_cores=parts[host.name].share.cores if host.name in parts and host.name not in whole else 0,
                cluster=host.cluster,
                busy=bool(here) or host.name in claims,
            )
        )
    return views


def _free_at(
    host: Host, attempts: Sequence[Attempt], others_until: float | None, time: float, handover: float
) -> float | None:
    """Return when a host's last job ends, of jobs that are not ours where it has no others; None where nobody says."""
    if not attempts:
        return None if host.free_at is None else others_until
    # A worker on a promised host is there for as long as its lead, which counts on this host, too.
    lasting = [attempt for attempt in attempts if not attempt.worker or attempt.loan]
    known = [end for each in lasting if (end := predicted_end(each, time, handover)) is not None]
    return max(known) if known and len(known) == len(lasting) else None


def _by_number(task: str) -> tuple[int, str]:
    return len(task), task


def _free_view(host: Host, left: HostShare, *, whole: bool) -> FreeView:
    """Return the free share of a host; nothing where others have the whole."""
    if whole or not host.up:
        left = HostShare()
    return FreeView(
        memory=None if host.memory is None else max(left.memory, 0), cores=max(left.cores, 0), gpus=max(left.gpus, 0)
    )


def plan_view(principal: Principal, core: Coscheduler, time: float) -> PlanView:
    """Return the schedule in force: running, then planned tasks; other users' unnamed."""
    doubtful, ranges = doubtful_hosts(core, time), EndRanges(core)
    handover = core.planning_view.assumptions(time).handover
    places = [
        _running_place(principal, core, attempt, time, ranges, handover, doubtful)
        for attempt in sorted(core.attempts.values(), key=lambda each: not each.loan)  # the last one is the task's own
        if attempt.hosts and not (attempt.worker and not attempt.loan)
    ]
    forecast = core.planning_view.forecast(time)
    planned = () if forecast is None else forecast[1].assignments
    places += [_planned_place(principal, core, spot, time, ranges, handover, doubtful) for spot in planned]
    placed = {attempt.task for attempt in core.attempts.values()} | {spot.task for spot in planned}
    overdue = [
        task.id
        for task in core.tasks.values()
        if (task.spec.deadline or math.inf) < time
        and task.id not in placed
        and not task.status.peer
        and principal.may_see(task.owner)
    ]
    improved = core.last_search if planned else None
    changed, why = core.last_improvement if planned and core.last_improvement else (None, "")
    return PlanView(
        time=time,
        placements=tuple(places),
        makespan=max((spot.end - time for spot in places if spot.end is not None), default=0.0),
        bound=None if improved is None else max(improved.since + improved.bound - time, 0.0),
        gap=None if improved is None else improved.gap,
        optimal=improved is not None and proved_optimal(improved.makespan, improved.bound),
        evaluations=0 if improved is None else improved.evaluations,
        called_back=core.unstarted.calls,
        rate=None if improved is None or not improved.searched else improved.generations / improved.searched,
        changed=changed,
        why=why,
        licences=tuple(_licence_view(principal, core, name) for name in sorted(core.licences.total)),
        overdue=tuple(overdue),
    )


def _licence_view(principal: Principal, core: Coscheduler, name: str) -> LicenceView:
    """Return a licence with the tasks that hold some, those that the principal may see."""
    holding = [core.tasks[task] for task, _ in core.planning_view.licence_holders(name)]
    asking = sum(name in core.tasks[task].spec.licences for task in core.licensed)
    return LicenceView(
        name=name,
        total=core.licences.total[name],
        in_use=core.licences.in_use[name],
        tasks=tuple(task.id for task in holding if principal.may_see(task.owner)),
        waiting=asking - len(holding),
    )


def forwarded_placements(
    principal: Principal, core: Coscheduler, ends: Mapping[str, float]
) -> tuple[ForwardedPlacement, ...]:
    """Return the tasks in other domains that the principal may see; `ends` says when these domains end which."""
    known = ((core.tasks[name], end) for name, end in ends.items())
    return tuple(
        ForwardedPlacement(task=task.id, peer=task.status.peer, end=end, deadline=task.spec.deadline)
        for task, end in known
        if principal.may_see(task.owner)
    )


def _running_place(
    principal: Principal,
    core: Coscheduler,
    attempt: Attempt,
    time: float,
    ranges: EndRanges,
    handover: float,
    doubtful: Collection[str],
) -> PlacementView:
    """Return the place of a task that has a job, or of a host that it is lent."""
    ending = (core.attempt_of(attempt.task) or attempt) if attempt.loan else attempt
    held = attempt.state is AttemptState.HELD
    start, end = attempt.begins(time, handover), None if held else predicted_end(ending, time, handover)
    shown = _shown_place(principal, core, attempt.task, attempt.reckoned_hosts, start, end, ranges)
    return PlacementView(
        **(shown | {"state": "held"} if held else shown),
        running=True,
        reckoned=expected_end(ending, time, handover) if end is None and not held else None,
        unstarted=core.unstarted.waited(attempt.uuid, time),
        overrun=overrun(attempt, time),
        certain=not held and not any(host in doubtful for host in attempt.hosts),
        cores=attempt.cores,
        memory=attempt.memory,
        gpus=attempt.gpus,
    )


def _planned_place(
    principal: Principal,
    core: Coscheduler,
    spot: Assignment,
    time: float,
    ranges: EndRanges,
    handover: float,
    doubtful: Collection[str],
) -> PlacementView:
    """Return the place of a task that waits."""
    shape = core.domain.planned_shape(core.tasks[spot.task], spot)
    # Problems reckon each task with the seconds of its hand-over, in which it does not run yet.
    share, start, end = core.domain.share_of(shape.spec) or HostShare(), time + spot.start + handover, time + spot.end
    return PlacementView(
        **_shown_place(principal, core, spot.task, spot.hosts, start, end, ranges, shape),
        running=False,
        certain=not any(host in doubtful for host in spot.hosts) and not core.unstarted.tries(spot.task),
        cores=share.cores,
        memory=share.memory,
        gpus=share.gpus,
    )


def _shown_place(
    principal: Principal,
    core: Coscheduler,
    task: str,
    hosts: tuple[str, ...],
    start: float,
    end: float | None,
    ranges: EndRanges,
    planned: Task | None = None,
) -> dict[str, Any]:
    """Return what all places have, of other users' tasks without names."""
    shown, known = _visible_task(principal, core, task)
    dated = end is not None and known is not None and known.spec.deadline is not None
    ends = ranges.of(planned or known, hosts, start) if known is not None and dated else None
    return {
        "task": shown,
        "name": "" if known is None else known.spec.name,
        "application": "" if known is None else known.spec.application,
        "hosts": hosts,
        "start": start,
        "end": end,
        "deadline": None if known is None else known.spec.deadline,
        "owner": "" if known is None else known.owner,
        "end_high": None if ends is None or end is None else max(ends[1], end),
        "state": str(core.tasks[task].status.state),
    }


def explanation_view(found: TaskExplanation, core: Coscheduler) -> ExplanationView:
    """Return the core's explanation of a live task; on the core's thread."""
    task = core.tasks[found.task]
    shape = task.shaped(found.planned_cores, ()) if found.planned_cores else task
    profile = corrected_profile(shape, core.corrections())
    if profile is not None and found.planned_hosts:
        profile = profile.among(core.domain.classes_of(found.planned_hosts))
    return ExplanationView(
        task=found.task,
        state=str(found.state),
        waits_for=found.waits_for,
        planned_start=found.planned_start,
        planned_end=found.planned_end,
        end_low=found.end_low,
        end_high=found.end_high,
        planned_hosts=found.planned_hosts,
        planned_cores=found.planned_cores,
        slack=found.slack,
        would_change=found.would_change,
        profile=None if profile is None else profile_view(profile),
        rescues=tuple(rescue_view(each, task, core) for each in found.rescues),
    )


_HOW_ENDED = {
    TaskState.COMPLETED: "it has completed",
    TaskState.FAILED: "it failed",
    TaskState.CANCELLED: "it was cancelled",
}


def rescue_view(rescue: Rescue, asked: Task, core: Coscheduler) -> RescueView:
    """Return what would help a late task; on the core's thread."""
    other = core.tasks.get(rescue.task)
    return RescueView(
        kind=str(rescue.kind),
        task=rescue.task,
        name=other.spec.name if other is not None and other.owner == asked.owner else "",
        end=rescue.end,
        saves=rescue.saves,
        made_late=rescue.made_late,
        hosts=rescue.hosts,
    )


def ended_explanation(task: Task, attempts: Iterable[Attempt] = (), errors: Sequence[str] = ()) -> ExplanationView:
    """Return the explanation of a task that has ended.

    Args:
        task: with its end.
        attempts: of an elastic one all of them, for what it was lent.
        errors: of one that failed the last lines of its standard error.
    """
    sentence = _HOW_ENDED.get(task.status.state, f"it is {task.status.state}")
    if task.status.reason:
        sentence += f": {task.status.reason}"
    deadline, finished = task.spec.deadline, task.status.finished
    slack = None  # a task that failed has met no deadline
    if task.status.state is TaskState.COMPLETED and deadline is not None and finished is not None:
        slack = deadline - finished
    return ExplanationView(
        task=task.id,
        state=str(task.status.state),
        waits_for=(sentence, *hosts_sentences(task, attempts)),
        planned_start=task.status.started,
        planned_end=task.status.finished,
        planned_hosts=task.status.hosts,
        slack=slack,
        would_change=(),
        chain=chain_view(None, task, 0.0),
        errors=tuple(errors),
    )
