"""What of the schedule is looked at: the time from and to, one host, what colours mean, and which tasks stand out."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Query

from cosched.portal.pages.chart.blocks import ChartBlock

__all__ = ["SPANS", "Colouring", "ScheduleView", "stands_out", "steps"]

SPANS = {"10min": 600.0, "1h": 3600.0, "6h": 6 * 3600.0, "1d": 86400.0}
_PAST = 0.12  # of the time shown
_SHORTEST = 60.0  # seconds that are shown where nothing runs
_CLOSEST = 1.0  # seconds that can be looked at
_WIDEST = 366 * 86400.0
_STEP = 2.0  # times as much is seen from one step further away
_FARTHEST = 4e9  # epoch seconds, in the year 2096


class Colouring(StrEnum):
    """What the colours of tasks mean."""

    APPLICATION = "application"
    OWNER = "owner"
    SLACK = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """The view, as the page's address has it.

    Attributes:
        span: a word of `SPANS`; empty for the whole plan.
        begin: left edge, seconds since the epoch; with `end` in place of `span`, and standing still.
        end: right edge, likewise.
        colour: what colours mean.
        show: the tasks that stand out: `mine`, `late`, `owner:ann`, `application:fft`; empty for none.
        host: the one whose row is opened, as high as all others together; empty for all hosts.
    """

    span: str = ""
    begin: Annotated[float | None, Query(alias="from", ge=0, le=_FARTHEST)] = None
    end: Annotated[float | None, Query(alias="to", ge=0, le=_FARTHEST)] = None
    colour: Colouring = Colouring.APPLICATION
    show: Annotated[str, Query(max_length=300)] = ""
    host: Annotated[str, Query(max_length=300)] = ""

    @property
    def stands_still(self) -> bool:
        """Return whether the view has edges of its own and does not go on with the time."""
        return self.begin is not None and self.end is not None

    def window(self, now: float, makespan: float) -> tuple[float, float]:
        """Return the first and the last moment that are shown, in seconds since the epoch."""
        if self.begin is not None and self.end is not None:
            middle = (self.begin + self.end) / 2
            half = min(max(abs(self.end - self.begin), _CLOSEST), _WIDEST) / 2
            return middle - half, middle + half
        length = SPANS.get(self.span) or max(makespan * 1.05 / (1 - _PAST), _SHORTEST)
        return now - _PAST * length, now + (1 - _PAST) * length


def steps(window: tuple[float, float]) -> dict[str, dict[str, int]]:
    """Return the edges of the views beside a view: earlier, later, closer, wider."""
    left, right = window
    span, middle = right - left, (left + right) / 2
    near, far = max(span / _STEP, _CLOSEST) / 2, min(span * _STEP, _WIDEST) / 2
    views = {
        "earlier": (left - span / 2, right - span / 2),
        "later": (left + span / 2, right + span / 2),
        "closer": (middle - near, middle + near),
        "wider": (middle - far, middle + far),
    }
    return {name: {"from": round(max(begin, 0.0)), "to": round(end)} for name, (begin, end) in views.items()}


def stands_out(block: ChartBlock, show: str, me: str) -> bool:
    """Return whether a task is one of those that are to stand out; all are where none is asked for.

    Args:
        block: the task on its hosts.
        show: as the address has it.
        me: whoever looks.
    """
    kind, _, name = show.partition(":")
    match kind:
        case "mine":
            return block.owner == me
        case "late":
            return block.late or block.at_risk
        case "owner":
            return block.owner == name
        case "application":
            return block.application == name
        case _:
            return True
