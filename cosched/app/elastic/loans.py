"""Changes of an elastic task's hosts while it ran, in a few words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task

__all__ = ["hosts_sentences", "loans_text"]


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
