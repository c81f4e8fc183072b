"""Forwarding status says why a task may not leave, and what offering it brought."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from cosched.durations import format_duration
from cosched.prediction.profile import PredictionSource

if TYPE_CHECKING:
    from cosched.agents.agent import Agent
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.explanation.task_explanation import TaskExplanation
    from cosched.coscheduler.task import Task

__all__ = ["explain_forwarding", "forwarded_ends", "forwarding_obstacle"]


def forwarding_obstacle(task: Task) -> str:
    """Return why a task is not offered to neighbours; empty where it is."""
    if task.spec.adopted:
        return "it was submitted to the resource manager itself, and its job stays there"
    if task.spec.elastic is not None:
        return "it changes its hosts while it runs, and only this domain lends it any"
    if task.spec.array_at_most:
        return "how many of its array run at once is watched here"
    if not task.spec.requeue:
        return "it must not be run again, which is watched here"
    if task.stage is not None:
        return "it is a stage of a tunable application, whose stages stay together"
    if task.spec.licences:
        return f"the licences that it asks for ({', '.join(task.spec.licences)}) are this domain's"
    if task.spec.deadline is None:
        return "it has no deadline: only what would be late here is offered to other domains"
    if task.profile is None:
        return "it has no prediction: whether it ends sooner in another domain is unknown"
    if task.profile.source is PredictionSource.HISTORY:
        return "its run time is known from runs here alone: whether it ends sooner in another domain is unknown"
    return ""


def explain_forwarding(core: Coscheduler, agent: Agent, name: str, time: float) -> TaskExplanation | None:
    """Explain a live task, why no other domain has a late one, and when one that has it expects it to end.

    Args:
        core: core of this domain.
        agent: agent of this domain.
        name: identifier of the task.
        time: now, epoch seconds.
    """
    found = explain(core, name, time)
    if found is not None and core.tasks[name].status.peer:
        return _with_forecast(found, core.tasks[name], agent)
    if found is None or found.state is not TaskState.QUEUED:
        return found
    stays = "" if found.slack is not None and found.slack >= 0 else _why_not_forwarded(core, name, agent, time)
    return replace(found, waits_for=(*found.waits_for, stays)) if stays else found


def forwarded_ends(core: Coscheduler, agent: Agent) -> dict[str, float]:
    """Return when the domains that have tasks of this one expect to end them (epoch seconds), where they have said."""
    there = (name for name, task in core.tasks.items() if task.status.peer)
    return {name: end for name in there if (end := agent.forecast(name)) is not None}


def _with_forecast(found: TaskExplanation, task: Task, agent: Agent) -> TaskExplanation:
    """Return the explanation of a task that another domain has, with the end that this expects."""
    end, deadline = agent.forecast(task.id), task.spec.deadline
    if end is None:
        return found
    return replace(found, planned_end=end, slack=None if deadline is None else deadline - end)


def _why_not_forwarded(core: Coscheduler, name: str, agent: Agent, time: float) -> str:
    task = core.tasks[name]
    if task.origin or task.spec.deadline is None or not agent.peers:
        return ""
    if core.predecessors(name):
        return "it is not offered to other domains before all that it comes after have completed"
    reason = forwarding_obstacle(task)
    if reason:
        return f"it is not offered to other domains: {reason}"
    if not agent.usable():
        return "it is not offered to other domains: forwarding is paused with each of them"
    if task.spec.begin is not None and task.spec.begin > time:
        wait = format_duration(task.spec.begin - time)
        return f"it is not offered to other domains before the time from which it may begin, in {wait}"
    manager = "" if task.spec.native is None else task.spec.native.manager
    if manager and not any(entry.service.takes("", manager) for entry in agent.entries(time)):
        return f"no other domain is known that runs files of others' users for {manager!r}"
    tried = agent.failed_negotiation(task.id)
    if tried is None:
        return ""
    again = f" again in {format_duration(tried.retry_at - time)}" if tried.retry_at > time else ""
    if tried.unasked:
        return f"it is not offered to other domains: {tried.unasked}{again and '; tried' + again}"
    answers = f" ({'; '.join(tried.answers)})" if tried.answers else ""
    return f"no other domain has offered to end it sooner{answers}{again and '; asked' + again}"
