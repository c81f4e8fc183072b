"""The search, in a process of its own: `python -m cosched.daemon.processes.planner`.

Snapshots come in on standard input, better plans go out on standard output, both as pickles between one user's own
processes. A good neighbour: niced once it has its machine code, a bounded share of one processor, asleep once it has
converged until something changes. Where OR-Tools is installed, an exact partner works beside it on short queues that
stay the same for a while, in a process that is niced as far as can be. It ends when its input does, so it never
outlives the daemon.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.scheduling import kernel_cache
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.exact.accompanied import AccompaniedSearch
from cosched.scheduling.exact.partner import ExactPartner, solver_installed
from cosched.scheduling.heuristics.licensed_tasks import licensed_plans
from cosched.scheduling.heuristics.moldable_tasks import earliest_deadline_first, earliest_finish, two_phase
from cosched.scheduling.heuristics.packed_tasks import packed_plans
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.ways import plan_along_ways

if TYPE_CHECKING:
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.genetic_search import GeneticSearch

__all__ = ["PlanningSnapshot", "SearchAllowance", "main"]

_SLICE = 0.05  # seconds of search between looks for a newer snapshot
_GENERATIONS = 20  # generations between looks at the clock
# A plan is settled after so much search; Titan stages 100 generations before the first dispatch (paper, section 3).
_SETTLED_SECONDS, _SETTLED_GENERATIONS = 0.2, 100
# Seconds between two better plans at least, and for each waiting task: the daemon decodes every one of them.
_QUIET, _QUIET_A_TASK = 0.2, 0.0004
_PACKED_PLANS = 4  # plain plans of tasks that share hosts, each decoded in plain Python
_REMIND = 1.0  # seconds after which the plan is sent again with the evaluations so far
_HEAD_START = 1.0  # seconds for which a queue must stay the same before the exact partner looks at it
_IDLEST = 19  # nice value of the partner


@dataclass(frozen=True, slots=True)
class PlanningSnapshot:
    """A problem as it stood at `time` (epoch seconds), and the plan in force."""

    time: float
    problem: Problem
    plan: Plan
    weights: Weights
    seed: int


@dataclass(frozen=True, slots=True)
class SearchAllowance:
    """The search's share of the machine.

    Attributes:
        nice: added to the process's nice value.
        share: share of one processor, above 0 to 1.
        converged: seconds of search without an improvement after which it sleeps until something changes.
        exact: seconds for which the exact partner works on a queue at most; 0 for no partner.
    """

    nice: int = 10
    share: float = 0.5
    converged: float = 3.0
    exact: float = 0.0


class _SnapshotReader(threading.Thread):
    """Keeps the newest snapshot; older ones are not worth planning any more."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__(daemon=True, name="snapshots")
        self._source = source
        self._arrived = threading.Condition()
        self._newest: PlanningSnapshot | None = None

    def run(self) -> None:
        while True:
            try:
                snapshot = pickle.load(self._source)  # noqa: S301  from the daemon that started this process
            except (EOFError, pickle.UnpicklingError):
                os._exit(0)  # the daemon has gone, maybe in mid-word; nothing here is worth saving
            except Exception:  # a new version was installed under a daemon that runs: it must hear of it
                traceback.print_exc()
                os._exit(1)
            with self._arrived:
                self._newest = snapshot
                self._arrived.notify()

    def take(self, *, wait: bool = True) -> PlanningSnapshot | None:
        """Return the newest snapshot and forget it.

        Without one, it waits, or returns None if `wait` is false.
        """
        with self._arrived:
            while wait and self._newest is None:
                self._arrived.wait()
            snapshot, self._newest = self._newest, None
            return snapshot


class _MachineCode(threading.Thread):
    """Reads the search's machine code, or compiles it on a new machine; heuristics answer meanwhile.

    Attributes:
        there: set when that is done.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True, name="compile")
        self.there = threading.Event()

    def run(self) -> None:
        from cosched.scheduling.search.genetic_search import warm_up  # takes its time

        warm_up()
        self.there.set()


class _Planner:
    def __init__(
        self, snapshots: _SnapshotReader, out: BinaryIO, courtesy: SearchAllowance, compiled: threading.Event
    ) -> None:
        self._snapshots = snapshots
        self._out = out
        self._courtesy = courtesy
        self._partner = ExactPartner(_IDLEST) if courtesy.exact > 0 and solver_installed() else None
        self._compiled = compiled

    def run(self) -> None:
        snapshot = self._snapshots.take()
        while True:
            assert snapshot is not None
            snapshot = self._plan(snapshot) or self._snapshots.take()

    def _plan(self, snapshot: PlanningSnapshot) -> PlanningSnapshot | None:
        """Improve a snapshot's plan until a newer one arrives (returned) or the search converges (None)."""
        if not self._compiled.is_set():
            self._heuristic(snapshot)
            while not self._compiled.wait(_SLICE):
                newer = self._snapshots.take(wait=False)
                if newer is not None:
                    return newer
        from cosched.scheduling.search.genetic_search import GeneticSearch

        problem = snapshot.problem
        search = GeneticSearch(problem, snapshot.weights, snapshot.seed, snapshot.plan)
        if self._partner is None:
            return self._improve(snapshot, search, _Progress(search, len(problem.tasks)))
        beside = AccompaniedSearch(problem, search, self._partner, _HEAD_START, self._courtesy.exact)
        pace = _Progress(beside, len(problem.tasks))
        return self._improve(snapshot, beside, pace) or self._hear(snapshot, beside, pace.work)

    def _heuristic(self, snapshot: PlanningSnapshot) -> None:
        problem, bound = snapshot.problem, lower_bound(snapshot.problem)
        plans = [snapshot.plan, *_heuristic_plans(problem)]
        plan = min(plans, key=lambda plan: objective(measure(problem, decode(problem, plan)), snapshot.weights, bound))
        self._send(snapshot, plan, bound, _SearchEffort(len(plans)), settled=False)

    def _improve(
        self, snapshot: PlanningSnapshot, search: GeneticSearch | AccompaniedSearch, pace: _Progress
    ) -> PlanningSnapshot | None:
        """Search until a newer snapshot arrives (returned) or nothing better was found for long (None)."""
        while True:
            pace.step()
            if not pace.settled:
                continue
            if pace.take_turn():
                self._send(snapshot, search.best, search.bound, pace.work, settled=True)
            newer = self._snapshots.take(wait=False)
            if newer is not None:
                return newer
            if pace.stalled >= self._courtesy.converged or search.finished:
                self._send(snapshot, search.best, search.bound, pace.work, settled=True)
                return None
            time.sleep(_SLICE * (1 / self._courtesy.share - 1))

    def _hear(
        self, snapshot: PlanningSnapshot, search: AccompaniedSearch, work: _SearchEffort
    ) -> PlanningSnapshot | None:
        """Send what the exact partner still finds, until a newer snapshot arrives (returned) or it ends (None)."""
        search.hear()  # where the search has finished, its partner rests
        while search.expects:
            known = search.bound
            if search.hear(_SLICE) or search.bound > known:
                self._send(snapshot, search.best, search.bound, work, settled=True)
            newer = self._snapshots.take(wait=False)
            if newer is not None:
                return newer
        return None

    def _send(
        self, snapshot: PlanningSnapshot, plan: Plan, bound: float, work: _SearchEffort, *, settled: bool
    ) -> None:
        ends = spans(snapshot.problem, plan)[1]
        improved = ScheduleImproved(
            time=snapshot.time,
            plan=TaskPlan.of(snapshot.problem, plan),
            since=snapshot.time,
            bound=bound,
            makespan=max(ends),
            evaluations=work.evaluations,
            generations=work.generations,
            searched=work.seconds,
            settled=settled,
        )
        pickle.dump(improved, self._out)
        self._out.flush()


def _heuristic_plans(problem: Problem) -> list[Plan]:
    if problem.packing is not None:
        return licensed_plans(problem, list(islice(packed_plans(problem, problem.packing), _PACKED_PLANS)))
    plans = [
        plan_along_ways(problem.ways, rule(problem)) for rule in (two_phase, earliest_deadline_first, earliest_finish)
    ]
    return licensed_plans(problem, plans)


@dataclass(frozen=True, slots=True)
class _SearchEffort:
    """Work that a plan has cost."""

    evaluations: int
    generations: int = 0
    seconds: float = 0.0


class _Progress:
    """Progress of one search, and the plan that was sent last."""

    def __init__(self, search: GeneticSearch | AccompaniedSearch, tasks: int) -> None:
        self._search = search
        self._quiet = max(_QUIET, _QUIET_A_TASK * tasks)
        self._seconds = 0.0
        self._improved_at = 0.0
        self._sent = float("inf")
        self._sent_at = float("-inf")

    def step(self) -> None:
        """Search for one slice of time."""
        began = time.monotonic()
        before = self._search.objective
        while time.monotonic() < began + _SLICE and not self._search.finished:
            self._search.step(_GENERATIONS)
        self._seconds += time.monotonic() - began
        if self._search.objective < before:
            self._improved_at = self._seconds

    @property
    def settled(self) -> bool:
        """Return whether the plan is good enough to act on."""
        enough = self._seconds >= _SETTLED_SECONDS and self._search.generations >= _SETTLED_GENERATIONS
        return enough or self._search.finished

    @property
    def work(self) -> _SearchEffort:
        """Return the work of the search so far."""
        return _SearchEffort(self._search.evaluations, self._search.generations, self._seconds)

    @property
    def stalled(self) -> float:
        """Seconds of search without a better plan."""
        return self._seconds - self._improved_at

    def take_turn(self) -> bool:
        """Return whether to send a plan now, and note that it is sent.

        The first is sent at once, a better one soon, progress without a better plan now and then.
        """
        since = time.monotonic() - self._sent_at
        better = self._search.objective < self._sent
        if since < (self._quiet if better else max(_REMIND, self._quiet)):
            return False
        self._sent, self._sent_at = self._search.objective, time.monotonic()
        return True


def main() -> None:
    """Run until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # to a whole group they are for the daemon, which closes our input
        signal.signal(number, signal.SIG_IGN)
    nice, *seconds = sys.argv[1:]
    courtesy = SearchAllowance(int(nice), *map(float, seconds))
    code = _MachineCode()
    if kernel_cache.ready():
        code.start()  # not niced: it takes a second or two once, and tasks wait meanwhile. A thread keeps its priority
        os.nice(courtesy.nice)
    else:  # a minute of compiling
        os.nice(courtesy.nice)
        code.start()
    # Output of a library must not end up between the pickles.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    snapshots = _SnapshotReader(sys.stdin.buffer)
    snapshots.start()
    try:
        _Planner(snapshots, out, courtesy, code.there).run()
    except BrokenPipeError:
        os._exit(0)  # the daemon has gone


if __name__ == "__main__":
    main()
