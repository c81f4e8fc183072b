"""Changes of an elastic task's hosts while it ran, in a few words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import HostMoveView
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.counts import plural
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task

__all__ = ["host_moves", "hosts_sentences", "loans_text"]

_MOST_MOVES = 20


def loans_text(loans: Iterable[tuple[float | None, float | None]]) -> str:
    """Say the most hosts that a task was lent at once, and for how long it had lent ones; empty where it had none.

    Args:
        loans: when each worker on a lent host began and ended, epoch seconds; None where it did not.
    """
    changes = []
    for began, ended in loans:
        if began is not None and ended is not None and ended > began:
            changes += [(began, 1), (ended, -1)]
    most = held = 0
    seconds, since = 0.0, 0.0
    for time, change in sorted(changes):  # hosts leave before others come at the same time
        if held:
            seconds += time - since
        held, since = held + change, time
        most = max(most, held)
    return f"with up to {plural(most, 'lent host')}, for {format_duration(seconds)}" if most else ""


def host_moves(attempts: Iterable[Attempt]) -> tuple[HostMoveView, ...]:
    """Return the last times that elastic tasks gave hosts back for other tasks, in order.

    Args:
        attempts: in any order; those that gave up nothing for anybody do not count.
    """
    together: dict[tuple[str, str, float], list[Attempt]] = {}
    for each in attempts:
        gave = each.state.live or each.lead is None or each.state is AttemptState.CHECKPOINTED
        if each.needed_by and each.leave_by is not None and gave:
            together.setdefault((each.task, each.needed_by, each.leave_by), []).append(each)
    found = []
    for (giver, taker, by), gone in sorted(together.items(), key=lambda each: each[0][2])[-_MOST_MOVES:]:
        hosts = sorted({host for each in gone for host in each.hosts})
        ends = [by if each.finished is None else each.finished for each in gone]
        time = None if any(each.state.live for each in gone) else max(ends)
        found.append(HostMoveView(hosts=tuple(hosts), giver=giver, taker=taker, time=time))
    return tuple(found)


def hosts_sentences(task: Task, attempts: Iterable[Attempt]) -> list[str]:
    """Say how the hosts of an elastic task changed while it ran."""
    found, restarts = [], task.status.restarts
    if loans := loans_text([(each.started, each.finished) for each in attempts if each.loan]):
        found.append(f"it ran {loans}")
    if restarts is not None and restarts.count:
        why = f": {restarts.why}" if restarts.why else " without being asked"
        found.append(f"it was started again {plural(restarts.count, 'time')}, the last one{why}")
    if restarts is not None and restarts.unheeded:
        found.append(f"it was asked to stop {plural(restarts.unheeded, 'time')} in vain, and let go on")
    if restarts is not None and restarts.forced:
        found.append(
            f"it was ended by force {plural(restarts.forced, 'time')}, for it had not stopped when it was asked"
        )
    return found
