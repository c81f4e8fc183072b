"""Where the time of a program went, from the passages of its course."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.critical import critical_path
from cosched.evaluation.results import Evaluation, ProcessorTime, TraceEvent
from cosched.evaluation.steps import COMPUTE, SEND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.evaluation.budget import Budget
    from cosched.evaluation.course import Course, Passage
    from cosched.evaluation.places import Place
    from cosched.evaluation.pricing import Prices

__all__ = ["account", "trace"]

_AN_EVENT = 10  # steps of the budget, which bounds memory as well


def account(course: Course, prices: Prices, places: Sequence[Place], events: Sequence[TraceEvent] = ()) -> Evaluation:
    """Return the results of a program on one number of hosts.

    Args:
        course: at its end, with its passages.
        prices: what the steps cost.
        places: of the application's steps.
        events: the trace, where it is wanted.
    """
    count = len(course.ahead)
    busy = np.zeros((2, count))  # compute, communication
    messages = unreceived = 0
    size = 0.0
    turns = Counter(id(passage.plan) for passage in course.passages)
    plans = {id(passage.plan): passage.plan for passage in course.passages}
    for key, times in turns.items():
        plan, steps = plans[key], plans[key].steps
        for talks, row in enumerate(busy):
            of_kind = (steps.kind != COMPUTE) == bool(talks)
            row += times * np.bincount(steps.processor[of_kind], plan.cost[of_kind], minlength=count)
        sends = steps.kind == SEND
        messages, size = messages + times * int(sends.sum()), size + times * float(steps.amount[sends].sum())
        unreceived += times * plan.unreceived
    end = float(course.latest[0])
    idle = np.maximum(end - busy.sum(axis=0), 0.0)
    return Evaluation(
        seconds=end / 1e6,
        processors=tuple(ProcessorTime(*row) for row in (np.vstack((busy, idle)) / 1e6).T.tolist()),
        bytes_sent=size,
        messages=messages,
        unreceived=unreceived,
        path=critical_path(course.passages, int(np.argmax(course.ahead)), prices, places),
        events=tuple(events),
    )


def trace(course: Course, places: Sequence[Place], budget: Budget) -> list[TraceEvent]:
    """Return every step of every processor, by the time that it began."""
    events: list[TraceEvent] = []
    messages = 0
    for passage in course.passages:
        place = places[passage.plan.steps.place[0]]
        budget.spend(_AN_EVENT * len(passage.plan.steps), place.source, place.at)
        events.extend(_events(passage, places, messages))
        messages += len(passage.plan.sends)
    return sorted(events, key=lambda event: event.ready)


def _events(passage: Passage, places: Sequence[Place], messages: int) -> Iterator[TraceEvent]:
    plan, steps = passage.plan, passage.plan.steps
    number = np.zeros(len(steps), np.int64)
    number[plan.sends] = number[plan.receives] = np.arange(len(plan.sends)) + messages + 1
    times = ((column + passage.lapse[0]).tolist() for column in plan.timeline(passage.ahead))
    rows = zip(
        steps.processor.tolist(),
        steps.kind.tolist(),
        *times,
        steps.peer.tolist(),
        number.tolist(),
        steps.amount.tolist(),
        steps.place.tolist(),
        strict=True,
    )
    for processor, kind, start, ready, end, peer, message, amount, at in rows:
        talks, place = kind != COMPUTE, places[at]
        yield TraceEvent(
            processor + 1,
            kind,
            start,
            ready,
            end,
            peer + 1 if talks else None,
            message or None,
            amount if talks else 0.0,
            place.source.file,
            place.at.line,
        )
