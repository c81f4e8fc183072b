"""Documents of the schedule: running and planned tasks, those in other domains, licences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cosched.api.documents import (
    ForwardedPlacement,
    LicenceView,
    PlacementView,
    PlanView,
)
from cosched.app.views.task_views import visible_task
from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.places.hosts import expected_end, overrun, predicted_end
from cosched.coscheduler.progress import doubtful_hosts
from cosched.scheduling.bounds import proved_optimal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cosched.access.principals import Principal
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.scheduling.schedule import Assignment

__all__ = ["forwarded_placements", "plan_view"]


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
        lent=attempt.loan,
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
    shown, known = visible_task(principal, core, task)
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
