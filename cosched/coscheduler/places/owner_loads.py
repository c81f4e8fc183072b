"""Slowdown of tasks on hosts whose owners come back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.prediction.loads.loaded_profile import times_longer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.prediction.loads.host_load import HostLoad, Interruption

__all__ = ["reckon_with_loads", "slowdown_by_owners"]


def slowdown_by_owners(
    task: Task, hosts: Sequence[str], loads: Mapping[str, HostLoad], interruption: Interruption
) -> float:
    """Return how many times longer than on dedicated hosts a run on these is expected to last."""
    found = [loads[host] for host in hosts if host in loads] if loads else []
    return times_longer(task.profile, found, len(hosts), interruption)


def reckon_with_loads(
    state: CoreState, earlier: Mapping[str, HostLoad], interruption: Interruption, time: float
) -> None:
    """Expect running attempts to go on as their hosts' loads are now; what they have done stays done.

    How far leads have come is known to `elastic/work_done.py`.

    Args:
        state: with the loads of now.
        earlier: the loads that were reckoned with so far.
        interruption: what owners do to tasks when they come back.
        time: now, epoch seconds.
    """
    for attempt in list(state.attempts.values()):
        task = state.tasks[attempt.task]
        fixed = attempt.state is AttemptState.RUNNING and attempt.lead is None and not attempt.worker
        if not fixed or attempt.started is None or attempt.predicted is None or not attempt.hosts:
            continue
        before = slowdown_by_owners(task, attempt.hosts, earlier, interruption)
        now = slowdown_by_owners(task, attempt.hosts, state.hosts.loads, interruption)
        ran = min(max(time - attempt.started, 0.0), attempt.predicted)
        if now == before or ran >= attempt.predicted:
            continue
        seconds = ran + (attempt.predicted - ran) * now / before
        state.put_attempt(replace(attempt, predicted=seconds))
        state.put(task.with_status(load_factor=task.status.load_factor * seconds / attempt.predicted))
