"""Promised hosts that a running elastic task gives up, as its user wishes. Start at `Promises.keep_to_wishes`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.elastic.wishes import fewest_hosts, staying
from cosched.coscheduler.elastic.work_done import running_elastic
from cosched.counts import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.elastic.work_done import RunningElastic, WorkDone
    from cosched.coscheduler.state import CoreState

__all__ = ["Promises"]

_WISHED = "its user wishes for fewer hosts"


class Promises:
    """Lowers the promises of running elastic tasks, never below the fewest hosts that they can use."""

    def __init__(self, state: CoreState, work: WorkDone) -> None:
        self._state = state
        self._work = work

    def keep_to_wishes(
        self,
        running: RunningElastic,
        badness: Mapping[int, float],
        order: Callable[[Attempt, str, float], None],
        time: float,
    ) -> None:
        """Have a task give up the promised hosts beyond those that its user wishes for.

        Args:
            running: the task.
            badness: how badly its workers are placed, by number; those that are not known are placed well.
            order: has a worker leave, for a reason.
            time: epoch seconds.
        """
        most, lead = running.status.ceiling, running.lead
        if most is None or lead.state is not AttemptState.RUNNING or running.task.id not in self._work.records:
            return
        kept = max(most, fewest_hosts(running.task))
        if kept >= len(lead.reckoned_hosts) or running.elastic.restart or running.status.whole_chain:
            return
        self._lower(running, kept, badness, order, time)

    def _lower(
        self,
        running: RunningElastic,
        kept: int,
        badness: Mapping[int, float],
        order: Callable[[Attempt, str, float], None],
        time: float,
    ) -> None:
        """Promise a task so many hosts, its lead's among them, from now on; the workers on the others leave."""
        workers = {each.hosts[0]: each for each in staying(running.workers) if not each.loan}

        def leaves_last(host: str) -> tuple[bool, float, int]:
            number = workers[host].worker if host in workers else 0
            return host in workers, -badness.get(number, 0.0), -number

        promised, before = running.status.promised, len(running.lead.reckoned_hosts)
        given_up = set(sorted(promised, key=leaves_last)[: before - kept])
        status = replace(running.status, promised=tuple([host for host in promised if host not in given_up]))
        self._state.put_attempt(replace(running.lead, lead=status))
        for host in promised:
            if host in given_up and host in workers:
                order(replace(workers[host], loan=True), _WISHED, time)  # the lead is not charged for it any more
        lowered = running_elastic(self._state, running.task.id)
        assert lowered is not None
        self._work.promise_anew(running, lowered, time)
        line = f"{plural(kept, 'host')} in place of {before}: {_WISHED}"
        self._state.note(LogEntry(time, "promise lowered", running.task.id, line))
        self._state.replan()
