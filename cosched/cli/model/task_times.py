"""What resource managers took beside watched programs, as the domain knows it.

A program's files tell when its launcher began and how long it ran. What the manager needed before that and after it is
in the task's time alone, which is what predictions are of. Start at `with_task_times`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.cli.connection import connect
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.api.documents import TaskDetail
    from cosched.measurement.programs.collecting import CollectedRun

__all__ = ["with_task_times"]

_LACKS = "`startup` lacks what the resource manager takes before and after a program: name its domain with --server"


def with_task_times(runs: Sequence[CollectedRun], server: str) -> tuple[list[CollectedRun], list[str]]:
    """Return runs whose start-up is all that their tasks took beside the program, with notes on those that it is not.

    Args:
        runs: as their hosts saw them.
        server: the daemon.
    """
    try:
        with connect(server) as client:
            found = [_with_task_time(run, client.task) for run in runs]
    except SystemFault as fault:
        return list(runs), [f"{_LACKS} ({fault})"]
    untold = sum(run.seen is not None and run is known for run, known in zip(found, runs, strict=True))
    return found, [f"{_LACKS} (it tells no times of {untold} of these runs)"] if untold else []


def _with_task_time(run: CollectedRun, task: Callable[[str], TaskDetail]) -> CollectedRun:
    """Return a run with what its task took beside; itself where the domain does not tell that."""
    if run.seen is None:
        return run
    try:
        tries = task(run.task).tries
    except UserError:  # of another domain, or removed
        return run
    record = run.seen.record
    for each in tries:
        if each.uuid == run.attempt and each.started is not None and each.finished is not None:
            beside = each.finished - each.started - record.wall
            # A manager's clock of whole seconds may say less than what was seen of it.
            return replace(run, seen=replace(run.seen, record=replace(record, startup=max(beside, record.startup))))
    return run
