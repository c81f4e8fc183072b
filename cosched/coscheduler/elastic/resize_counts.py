"""Counts of how elastic tasks grew and shrank, for monitoring. Start at `ResizeCounts`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.attempts.attempt import Attempt

__all__ = ["ResizeCounts"]


@dataclass(frozen=True, slots=True)
class ResizeCounts:
    """Counts since the daemon's start, of all elastic tasks.

    Attributes:
        grown: workers started on lent hosts, and starts of programs that checkpoint on more hosts than before.
        shrunk: workers that ended after they had been told to leave, and such starts on fewer hosts.
        forced: workers and programs ended by force, for they had not gone within their grace.
        lent: seconds of hosts on loans that are over; of a shared host the part that was lent counts.
    """

    grown: int = 0
    shrunk: int = 0
    forced: int = 0
    lent: float = 0.0

    def with_start(self, worker: Attempt) -> ResizeCounts:
        """Return the counts with a new worker."""
        return replace(self, grown=self.grown + worker.loan)

    def with_loan_over(self, worker: Attempt, time: float) -> ResizeCounts:
        """Return the counts with a worker that is not on a lent host any more."""
        return replace(self, lent=self.lent + _lent(worker, time))

    def with_end(self, worker: Attempt, time: float) -> ResizeCounts:
        """Return the counts with a worker that has ended."""
        end = time if worker.finished is None else worker.finished
        return replace(self.with_loan_over(worker, end), shrunk=self.shrunk + (worker.leave_by is not None))

    def with_restart(self, before: int, after: int) -> ResizeCounts:
        """Return the counts with a program that checkpointed on so many hosts and goes on on so many."""
        return replace(self, grown=self.grown + (after > before), shrunk=self.shrunk + (after < before))

    def with_force(self) -> ResizeCounts:
        """Return the counts with a job that is ended by force."""
        return replace(self, forced=self.forced + 1)

    def lent_seconds(self, live: Iterable[Attempt], time: float) -> float:
        """Return the seconds of hosts on loans, those of live workers until now among them."""
        return self.lent + sum(_lent(each, time) for each in live)


def _lent(worker: Attempt, until: float) -> float:
    if not worker.loan or worker.started is None:
        return 0.0
    return worker.part * max(until - worker.started, 0.0)
