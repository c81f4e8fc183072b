"""Deadlines by the plan as it stands: who is on time, at risk and late, and how many of each owner's are.

Pages that lead with them sort the plan by `deadlines`; the head of every page has `OutlookCounts`.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NoAnswerError
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from cosched.access.principals import Principal, Role
from cosched.app.views.plan_views import forwarded_placements, plan_view
from cosched.errors import CoschedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.api.documents import PlanView
    from cosched.app.core_access import CoreClient
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.coscheduler.core import Coscheduler

__all__ = ["DeadlineCounts", "Deadlines", "OutlookCounts", "deadlines"]

_log = structlog.get_logger("cosched.portal")

_OLD = 3.0  # seconds after which counts are asked for anew, at the earliest
_SHARE = 0.01  # of a processor: thousands that share hosts take half a second, in which the core does nothing else
_PATIENCE, _SHORT = 0.3, 0.05  # seconds to wait for the first ones, and for those that are asked for anew
_EVERYBODY = Principal("", Role.OPERATOR)  # who sees all tasks


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Live tasks with deadlines, here or in another domain: on time, at risk or late.

    Attributes:
        on_time: identifiers of those that end in time, in nine runs of ten.
        at_risk: that are expected in time, and of which one run in twenty at least would be late.
        late: that are expected after their deadlines.
    """

    on_time: tuple[str, ...]
    at_risk: tuple[str, ...]
    late: tuple[str, ...]

    @property
    def total(self) -> int:
        """Return how many there are."""
        return len(self.on_time) + len(self.at_risk) + len(self.late)


def deadlines(plan: PlanView) -> Deadlines:
    """Sort the tasks of a plan into on time, at risk and late; others' tasks have none that one may see.

    A task whose job should have begun and has not is at risk, whatever was predicted. Of a run without a prediction
    nothing is expected before it is late.
    """
    found = dict.fromkeys(plan.overdue, "late")  # by task: one that is lent hosts has several places
    for spot in plan.forwarded:
        if spot.deadline is not None:
            found[spot.task] = "late" if spot.end > spot.deadline else "on time"
    for place in plan.placements:
        if place.deadline is None:
            continue
        if (plan.time if place.end is None else place.end) > place.deadline:
            found[place.task] = "late"
        elif not place.certain or (place.end_high is not None and place.end_high > place.deadline):
            found[place.task] = "at risk"
        elif place.end is not None:
            found[place.task] = "on time"
    on_time, at_risk, late = (
        tuple(task for task, outlook in found.items() if outlook == wanted) for wanted in ("on time", "at risk", "late")
    )
    return Deadlines(on_time, at_risk, late)


@dataclass(frozen=True, slots=True)
class DeadlineCounts:
    """Numbers of tasks with deadlines that are on time, at risk and late; see `Deadlines`."""

    on_time: int = 0
    at_risk: int = 0
    late: int = 0

    def __add__(self, other: DeadlineCounts) -> DeadlineCounts:
        """Return both together."""
        return DeadlineCounts(self.on_time + other.on_time, self.at_risk + other.at_risk, self.late + other.late)


class OutlookCounts:
    """Counts the deadlines of each owner for those who look often.

    The core is asked now and then, the more seldom the longer it takes, and hardly waited for, so that a page's head is
    there though the core is busy. Any thread may call it.
    """

    def __init__(
        self,
        core: CoreClient,
        neighbours: NeighbourAccess,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        """Set up.

        Args:
            core: of the domain.
            neighbours: where its tasks may be.
            processor_time: returns seconds of the calling thread.
        """
        self._core = core
        self._neighbours = neighbours
        self._processor_time = processor_time
        self._guard = threading.Lock()
        self._known: Mapping[str, DeadlineCounts] | None = None
        self._asked = -math.inf
        self._rest = _OLD  # seconds from one question to the next
        self._answer: Future[tuple[Mapping[str, DeadlineCounts], float]] | None = None

    def counted(self, owner: str | None) -> DeadlineCounts | None:
        """Return the counts of an owner (None: of all); None where they are not known yet."""
        with self._guard:
            known = self._known = self._latest()
        if known is None:
            return None
        return sum(known.values(), DeadlineCounts()) if owner is None else known.get(owner, DeadlineCounts())

    def _latest(self) -> Mapping[str, DeadlineCounts] | None:
        now, wait = self._core.now(), 0.0
        try:
            if self._answer is None and now - self._asked >= self._rest:
                self._asked, self._answer = now, self._core.begin(self._count)
                wait = _PATIENCE if self._known is None else _SHORT
            if self._answer is None:
                return self._known
            found, took = self._answer.result(wait)
        except NoAnswerError:
            return self._known
        except (CoschedError, CancelledError):  # it ends
            self._answer = None
            return self._known
        except Exception:  # every page asks: none must end in a mistake that was made with a task once
            _log.exception("cosched made a mistake with the counts of deadlines and goes on")
            self._answer = None
            return self._known
        self._answer, self._rest = None, max(_OLD, took / _SHARE)
        return found

    def _count(self, core: Coscheduler, now: float) -> tuple[Mapping[str, DeadlineCounts], float]:
        """Return the counts of each owner, and the processor time that it took; on the core's thread."""
        begun = self._processor_time()
        forwarded = forwarded_placements(_EVERYBODY, core, self._neighbours.forwarded_ends(core))
        found = deadlines(replace(plan_view(_EVERYBODY, core, now), forwarded=forwarded))
        on_time, at_risk, late = (
            Counter(core.tasks[name].owner for name in names) for names in (found.on_time, found.at_risk, found.late)
        )
        counts = {
            name: DeadlineCounts(on_time[name], at_risk[name], late[name]) for name in {*on_time, *at_risk, *late}
        }
        return counts, self._processor_time() - begun
