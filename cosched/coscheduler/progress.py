"""Progress says which attempts have not begun in time, and which run longer than predicted.

Start at `progress`. Nothing is promised for hosts on which an attempt has not begun.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.coscheduler.places.hosts import expected_end, overrun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler

__all__ = ["Overrun", "Progress", "doubtful_hosts", "overrun_of", "progress"]

_MOST_PRESSED = 5  # tasks behind an overrun that are named


@dataclass(frozen=True, slots=True)
class Overrun:
    """A run that lasts longer than predicted. Times are epoch seconds.

    Attributes:
        predicted: its predicted end.
        expected: when it is now expected to end.
        presses: tasks that are planned next on its hosts, with the seconds by which they would miss their deadlines;
            0 where they would not.
    """

    attempt: str
    task: str
    predicted: float
    expected: float
    presses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks, hosts and runs that do not go on as planned.

    Attributes:
        unstarted: tasks that the manager has or had, and does not start on free hosts.
        suspects: host → number of tasks that did not begin on it.
        overruns: runs that last longer than predicted.
    """

    unstarted: tuple[str, ...] = ()
    suspects: Mapping[str, int] = field(default_factory=dict)
    overruns: tuple[Overrun, ...] = ()


def doubtful_hosts(core: Coscheduler, time: float) -> set[str]:
    """Return the hosts on which an attempt should have begun, and has not."""
    return {host for uuid in core.unstarted.late(time) for host in core.attempts[uuid].hosts}


def progress(core: Coscheduler, time: float) -> Progress:
    """Return what does not go on as planned."""
    late = [each.task for uuid in core.unstarted.late(time) if not (each := core.attempts[uuid]).worker]
    over = [attempt for attempt in core.attempts.values() if overrun(attempt, time)]
    return Progress(
        tuple(dict.fromkeys((*late, *core.unstarted.refused()))),
        core.unstarted.suspects(),
        tuple(_overrun(core, one, time) for one in over),
    )


def overrun_of(core: Coscheduler, attempt: Attempt, time: float) -> Overrun | None:
    """Return how much longer than predicted an attempt runs; None within the usual."""
    return _overrun(core, attempt, time) if overrun(attempt, time) else None


def _overrun(core: Coscheduler, attempt: Attempt, time: float) -> Overrun:
    forecast = core.planning_view.forecast(time)
    behind = [] if forecast is None else [a for a in forecast[1].assignments if {*a.hosts} & {*attempt.hosts}]
    presses: dict[str, float] = {}
    for place in sorted(behind, key=lambda each: each.start)[:_MOST_PRESSED]:
        deadline = core.tasks[place.task].spec.deadline
        presses[place.task] = 0.0 if deadline is None else max(time + place.end - deadline, 0.0)
    assert attempt.started is not None
    end = attempt.started + (attempt.predicted or 0.0)
    return Overrun(attempt.uuid, attempt.task, end, expected_end(attempt, time), presses)
