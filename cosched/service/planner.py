"""The search, in a process of its own: `python -m cosched.service.planner`.

Snapshots come in on standard input, better plans go out on standard output, both as pickles between one user's own
processes. A good neighbour: niced, a bounded share of one processor, asleep once it has converged until something
changes. It ends when its input does, so it never outlives the daemon.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from cosched.coscheduler.events import ScheduleImproved
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoder import decode
from cosched.scheduling.heuristics import earliest_deadline_first, two_phase
from cosched.scheduling.metrics import measure, objective

if TYPE_CHECKING:
    from cosched.scheduling.problem import Plan, Problem, Weights
    from cosched.scheduling.search import Search

__all__ = ["Courtesy", "Snapshot", "main"]

_SLICE = 0.05  # seconds of search between looks at the inbox
_GENERATIONS = 20  # generations between looks at the clock
_QUIET = 0.2  # at most one plan in this time after the first, so that the daemon decodes few of them; seconds


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A problem as it stood at `time` (epoch seconds), and the plan in force."""

    time: float
    problem: Problem
    plan: Plan
    weights: Weights
    seed: int


@dataclass(frozen=True, slots=True)
class Courtesy:
    """How much of the machine the search may take.

    Attributes:
        nice: added to the process's nice value.
        share: of one processor, above 0 to 1.
        converged: seconds of search without an improvement after which it sleeps until something changes.
    """

    nice: int = 10
    share: float = 0.5
    converged: float = 3.0


class _Inbox(threading.Thread):
    """Keeps the newest snapshot; older ones are not worth planning any more."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__(daemon=True, name="snapshots")
        self._source = source
        self._arrived = threading.Condition()
        self._newest: Snapshot | None = None

    def run(self) -> None:
        while True:
            try:
                snapshot = pickle.load(self._source)  # noqa: S301  from the daemon that started this process
            except EOFError:
                os._exit(0)  # the daemon has gone; nothing here is worth saving
            with self._arrived:
                self._newest = snapshot
                self._arrived.notify()

    def take(self, *, wait: bool) -> Snapshot | None:
        """Return the newest snapshot and forget it; None if there is none and `wait` is false."""
        with self._arrived:
            while wait and self._newest is None:
                self._arrived.wait()
            snapshot, self._newest = self._newest, None
            return snapshot


class _Planner:
    def __init__(self, inbox: _Inbox, out: BinaryIO, courtesy: Courtesy) -> None:
        self._inbox = inbox
        self._out = out
        self._courtesy = courtesy

    def run(self) -> None:
        snapshot = self._inbox.take(wait=True)
        while True:
            assert snapshot is not None
            snapshot = self._plan(snapshot) or self._inbox.take(wait=True)

    def _plan(self, snapshot: Snapshot) -> Snapshot | None:
        """Improve one snapshot's plan until the next arrives (returned) or the search has converged (None)."""
        bound = lower_bound(snapshot.problem)
        plan = self._heuristic(snapshot, bound)
        newer = self._inbox.take(wait=False)
        if newer is not None:
            return newer
        # Imported late: compiling may take its time on a new machine, and a heuristic plan is out already.
        from cosched.scheduling.search import Search

        search = Search(snapshot.problem, snapshot.weights, snapshot.seed, plan)
        return self._improve(snapshot, search, bound)

    def _heuristic(self, snapshot: Snapshot, bound: float) -> Plan:
        problem = snapshot.problem
        plans = [snapshot.plan, two_phase(problem), earliest_deadline_first(problem)]
        plan = min(plans, key=lambda plan: objective(measure(problem, decode(problem, plan)), snapshot.weights, bound))
        self._send(snapshot, plan, bound, evaluations=len(plans))
        return plan

    def _improve(self, snapshot: Snapshot, search: Search, bound: float) -> Snapshot | None:
        sent = search.objective
        quiet_until = best_since = time.monotonic()
        searched = 0.0
        while searched - best_since < self._courtesy.converged or search.objective < sent:
            began = time.monotonic()
            while time.monotonic() < began + _SLICE:
                search.step(_GENERATIONS)
            searched += time.monotonic() - began
            if search.objective < sent and time.monotonic() >= quiet_until:
                self._send(snapshot, search.best, bound, search.evaluations)
                sent, best_since = search.objective, searched
                quiet_until = time.monotonic() + _QUIET
            newer = self._inbox.take(wait=False)
            if newer is not None:
                return newer
            time.sleep((time.monotonic() - began) * (1 / self._courtesy.share - 1))
        return None

    def _send(self, snapshot: Snapshot, plan: Plan, bound: float, evaluations: int) -> None:
        schedule = decode(snapshot.problem, plan)
        order = [int(place) for place in plan.order]
        improved = ScheduleImproved(
            time=snapshot.time,
            since=snapshot.time,
            order=tuple(snapshot.problem.tasks[place] for place in order),
            counts=tuple(int(plan.counts[place]) for place in order),
            bound=bound,
            makespan=max(assignment.end for assignment in schedule.assignments),
            evaluations=evaluations,
        )
        pickle.dump(improved, self._out)
        self._out.flush()


def main() -> None:
    """Run until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which closes our input
    nice, share, converged = sys.argv[1:]
    courtesy = Courtesy(int(nice), float(share), float(converged))
    os.nice(courtesy.nice)
    # Whatever a library prints must not end up between the pickles.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    inbox = _Inbox(sys.stdin.buffer)
    inbox.start()
    _Planner(inbox, out, courtesy).run()


if __name__ == "__main__":
    main()
