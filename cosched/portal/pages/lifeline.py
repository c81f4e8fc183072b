"""A task's life as a picture: waiting, hand-over and run, where its end was predicted, its deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.portal.documents import Explanation, TaskDetail

__all__ = ["Lifeline", "Phase", "lifeline"]

WIDTH = 1000.0  # of the picture, in SVG units
_ROOM = 0.04  # of the span, to the right of the last moment


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a life; `x` and `width` in SVG units, times in seconds since the epoch."""

    kind: str
    start: float
    end: float
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Lifeline:
    """Phases from left to right, and the moments to mark; positions are None where there is no such moment in view."""

    phases: tuple[Phase, ...]
    now: float | None
    deadline: float | None
    first: float
    last: float


def lifeline(task: TaskDetail, explained: Explanation, now: float) -> Lifeline:
    """Lay out a task's life; what is planned continues what has been."""
    spans = _spans(task, explained, now)
    first = task.submitted
    ends = [end for _, _, end in spans]
    reach = max([*ends, first + 1.0])
    if task.deadline is not None and task.deadline <= first + 3 * (reach - first):
        reach = max(reach, task.deadline)
    last = reach + _ROOM * (reach - first)

    def at(time: float) -> float:
        return (min(max(time, first), last) - first) / (last - first) * WIDTH

    phases = tuple(Phase(kind, start, end, at(start), max(at(end) - at(start), 0.0)) for kind, start, end in spans)
    shown = task.deadline is not None and task.deadline <= last
    return Lifeline(
        phases,
        at(now) if task.finished is None and now <= last else None,
        at(task.deadline) if shown and task.deadline is not None else None,
        first,
        last,
    )


def _spans(task: TaskDetail, explained: Explanation, now: float) -> list[tuple[str, float, float]]:
    over = task.finished
    left = task.dispatched if task.dispatched is not None else (over if over is not None else now)
    spans = [("waited", task.submitted, left)]
    if task.dispatched is not None:
        began = task.started if task.started is not None else (over if over is not None else now)
        spans.append(("handed over", task.dispatched, began))
    if task.started is not None:
        spans.append(("ran", task.started, over if over is not None else now))
    if over is None and explained.planned_start is not None and explained.planned_end is not None:
        if task.dispatched is None and explained.planned_start > now:
            spans.append(("will wait", now, explained.planned_start))
        if explained.planned_end > now:
            spans.append(("will run", max(explained.planned_start, now), explained.planned_end))
    return [span for span in spans if span[2] > span[1]]
