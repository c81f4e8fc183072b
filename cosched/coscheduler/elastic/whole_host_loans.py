"""Which lent hosts the plan needs back, and which are idle, where each host is one task's.

Start at `WholeHostLoans`, made anew at each look at the plan; where hosts are shared, see `shared_host_loans.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.dispatching.immediate_starts import NOW
from cosched.coscheduler.elastic.bad_hosts import OtherHosts
from cosched.coscheduler.elastic.host_loans import NeededBack
from cosched.scheduling.elastic.idle_loans import WholeHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.scheduling.schedule import Assignment

__all__ = ["WholeHostLoans"]


class WholeHostLoans:
    """Whole hosts at one look at the plan."""

    def __init__(
        self, state: CoreState, queue: TaskQueue, view: PlanningView, planned: Sequence[Assignment], time: float
    ) -> None:
        """Look at the plan.

        Args:
            state: hosts, attempts and reservations.
            queue: what waits.
            view: when hosts are free.
            planned: the first tasks of the plan on each host, in seconds from now; those that have left do not count.
            time: now, epoch seconds.
        """
        self._waiting = [place for place in planned if place.task in queue.planned]
        self._reserved = state.reservations.needed(time)
        self._needed = dict(self._reserved)
        for place in self._waiting:
            for host in place.hosts:
                self._needed[host] = min(self._needed.get(host, math.inf), place.start)
        self._claimed = {
            host: lead.task
            for name in state.elastic
            if (lead := state.attempt_of(name)) is not None and lead.lead is not None
            for host in lead.lead.promised
        }
        taken, up = view.taken(time), state.hosts.up()
        idle = {host: self._needed.get(host, math.inf) for host in up if host not in taken}
        unbegun = [each.count for each in state.attempts.values() if not (each.hosts or each.started)]
        wanted = sum(unbegun) + len(queue.unmodelled(time, len(up)))  # of tasks whose hosts the manager chooses
        self._short = wanted - len(idle)
        self._idle = dict(list(idle.items())[wanted:])

    def needed_back(self, lent: Sequence[Attempt], ready: Callable[[str], bool]) -> list[NeededBack]:
        """Return the workers that leave lent hosts now, and why.

        Those leave whose hosts are needed within the seconds that leaving takes, and as many as tasks without a
        planned host want, the last ones first.

        Args:
            lent: the workers on lent hosts, in order; none that is being ended.
            ready: whether a waiting task may leave.
        """
        staying = {worker.hosts[0]: worker for worker in lent if worker.leave_by is None}
        leaving = len(lent) - len(staying)
        found: list[NeededBack] = []
        for place in self._waiting:
            mine = [host for host in place.hosts if host in staying]
            soonest = max((staying[host].predicted or 0.0 for host in mine), default=0.0)
            if mine and place.start <= soonest + NOW and ready(place.task):
                reasons = {host: f"task {place.task} starts on {host}" for host in mine}
                found += [NeededBack(staying.pop(host), why, place.task) for host, why in reasons.items()]
        for host in list(staying):
            if self._reserved.get(host, math.inf) <= (staying[host].predicted or 0.0):
                found.append(NeededBack(staying.pop(host), f"{host} is reserved for others"))
            elif (claims := self._claimed.get(host, "")) not in ("", staying[host].task):  # of a lead at its next stage
                found.append(NeededBack(staying.pop(host), f"task {claims} starts on {host}", claims))
        more = list(staying.values())[::-1][: max(self._short - leaving - len(found), 0)]
        return found + [NeededBack(worker, "its host is needed for a task that no plan places") for worker in more]

    @property
    def idle_hosts(self) -> list[str]:
        """The hosts that could be lent."""
        return list(self._idle)

    def others(self, _task: str) -> OtherHosts:
        """Return the hosts that workers of a task could go to."""
        return OtherHosts(self._idle, self._needed)

    def idle(self, allowed: Mapping[str, Sequence[str]]) -> WholeHosts:
        """Return the hosts that can be lent.

        Args:
            allowed: the hosts that may be lent to each task, by its name, the preferred ones first.
        """
        return WholeHosts(self._idle, allowed)
