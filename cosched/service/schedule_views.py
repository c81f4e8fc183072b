"""The documents that are made of the core's state at one moment: hosts, plan, explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.domain import expected_end
from cosched.coscheduler.experience import corrected
from cosched.coscheduler.task import AttemptState
from cosched.portal.documents import Explanation, HostView, Placement, PlanView
from cosched.service.views import profile_view

if TYPE_CHECKING:
    from cosched.access.principal import Principal
    from cosched.coscheduler import explanation
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["ended", "explanation_view", "host_views", "plan_view"]


def _shown(asker: Principal, core: Coscheduler, task: str) -> tuple[str, float | None]:
    """Return a task's identifier and deadline as the asker may see them: nothing of other users' tasks."""
    known = core.tasks.get(task)
    if known is None:
        return (task if asker.oversees else "", None)
    return (task, known.deadline) if asker.may_see(known.owner) else ("", None)


def _occupied(core: Coscheduler) -> dict[str, Attempt]:
    live = (attempt for attempt in core.attempts.values() if attempt.state is not AttemptState.HELD)
    return {host: attempt for attempt in live for host in attempt.hosts}


def host_views(asker: Principal, core: Coscheduler, time: float) -> list[HostView]:
    """Return all hosts, by name, and what occupies each; of other users' tasks only that they do."""
    occupied = _occupied(core)
    claims = core.domain.claims(time)
    reserved = {host: each.title for each in core.reservations.live(time) if each.begin <= time for host in each.hosts}
    views = []
    for host in sorted(core.domain.hosts.values(), key=lambda host: host.name):
        attempt = occupied.get(host.name)
        views.append(
            HostView(
                name=host.name,
                host_class=host.host_class,
                up=host.up,
                reason=host.reason,
                task="" if attempt is None else _shown(asker, core, attempt.task)[0],
                free_at=claims.get(host.name) if attempt is None else expected_end(attempt, time),
                reserved=reserved.get(host.name, ""),
            )
        )
    return views


def plan_view(asker: Principal, core: Coscheduler, time: float) -> PlanView:
    """Return the schedule in force: what runs, then what is planned; other users' tasks without their names."""
    places = [
        _placement(
            asker,
            core,
            attempt.task,
            attempt.hosts,
            attempt.started or attempt.created,
            expected_end(attempt, time),
            running=True,
        )
        for attempt in core.attempts.values()
        if attempt.hosts
    ]
    forecast = core.prospect.forecast(time)
    planned = () if forecast is None else forecast[1].assignments
    places += [
        _placement(asker, core, spot.task, spot.hosts, time + spot.start, time + spot.end, running=False)
        for spot in planned
    ]
    improved = core.improved if planned else None
    changed, why = core.changed if planned and core.changed else (None, "")
    return PlanView(
        time=time,
        placements=tuple(places),
        makespan=max((spot.end - time for spot in places), default=0.0),
        bound=None if improved is None else max(improved.since + improved.bound - time, 0.0),
        gap=None if improved is None or improved.bound <= 0 else improved.makespan / improved.bound - 1,
        evaluations=0 if improved is None else improved.evaluations,
        rate=None if improved is None or not improved.searched else improved.generations / improved.searched,
        changed=changed,
        why=why,
    )


def _placement(
    asker: Principal, core: Coscheduler, task: str, hosts: tuple[str, ...], start: float, end: float, *, running: bool
) -> Placement:
    shown, deadline = _shown(asker, core, task)
    known = core.tasks.get(shown)
    return Placement(
        task=shown,
        name="" if known is None else known.name,
        application="" if known is None else known.application,
        hosts=hosts,
        start=start,
        end=end,
        deadline=deadline,
        running=running,
    )


def explanation_view(found: explanation.Explanation, core: Coscheduler) -> Explanation:
    """Return the core's explanation of a live task; on the core's thread."""
    task = core.tasks[found.task]
    profile = corrected(task, core.corrections())
    return Explanation(
        task=found.task,
        state=str(found.state),
        waits_for=found.waits_for,
        planned_start=found.planned_start,
        planned_end=found.planned_end,
        end_low=found.end_low,
        end_high=found.end_high,
        planned_hosts=found.planned_hosts,
        slack=found.slack,
        would_change=found.would_change,
        profile=None if profile is None else profile_view(profile),
    )


def ended(task: Task) -> Explanation:
    """Return the explanation of a task that has ended."""
    sentence = f"nothing: the task is {task.state}"
    if task.reason:
        sentence += f" ({task.reason})"
    slack = None if task.deadline is None or task.finished is None else task.deadline - task.finished
    return Explanation(
        task=task.id,
        state=str(task.state),
        waits_for=(sentence,),
        planned_start=task.started,
        planned_end=task.finished,
        planned_hosts=task.hosts,
        slack=slack,
        would_change=(),
    )
