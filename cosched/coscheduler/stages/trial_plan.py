"""A trial plan is the plan in force with chains that are not in it; nothing is changed by it.

Start at `TrialPlan.now` and `place`: the stages of a way go one after another into the earliest holes of the plan, and
what comes of it is decoded like any plan, so that what was found is what will be planned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.places.licences import with_one_more
from cosched.coscheduler.places.packing import Choice, place_requests, planned_hosts, with_shapes
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import without_distant_reservations
from cosched.coscheduler.stages.guarantees import EQUAL, guaranteed_ends
from cosched.coscheduler.stages.stage import NO_WORK
from cosched.coscheduler.stages.ways import in_way
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

__all__ = ["PlacedWay", "TrialPlan", "best_first"]

_ALIKE = 0.05  # part by which ways differ in hosts' seconds, or in their ends, that nobody can foretell


@dataclass(frozen=True, slots=True)
class PlacedWay:
    """A way of a chain with its place. Times are epoch seconds.

    Attributes:
        way: its index.
        quality: of the way.
        names: of its stages that have not left.
        hosts: how many each takes.
        starts: when each begins.
        ends: when each ends.
        late: seconds by which it misses its user's deadline, or a stage what its model says; 0 where all are in time.
        late_stages: stages that end later than their model says, each with the seconds.
    """

    way: int
    quality: float
    names: tuple[str, ...]
    hosts: tuple[int, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    late: float = 0.0
    late_stages: tuple[tuple[str, float], ...] = ()

    @property
    def end(self) -> float:
        """Return when its last stage ends."""
        return self.ends[-1]

    @property
    def prefixes(self) -> list[float]:
        """Return the host-seconds of the first stage, of the first two, and so on."""
        work = [count * (end - start) for count, start, end in zip(self.hosts, self.starts, self.ends, strict=True)]
        return list(accumulate(work))

    @property
    def rank(self) -> tuple[float, ...]:
        """Order ways strictly: by quality, host-seconds, end, and what their first stages need."""
        prefixes = self.prefixes
        return (-self.quality, round(prefixes[-1], 6), self.end, *prefixes)


def best_first(found: Sequence[PlacedWay], time: float) -> list[PlacedWay]:
    """Return ways in order: those that are in time first, by quality, then the others, the least late first.

    Of equals the one goes first that needs the fewest host-seconds (`AdmissionRule.THRIFTY`), then the one that ends
    first, then the one that needs less for its first stages. Host-seconds and ends that are nearly the least are as
    good as that: what runs have taught differs by milliseconds, and would choose where nothing is to choose.

    Args:
        found: ways with their places.
        time: now, epoch seconds.
    """
    least_work, least_time = dict[tuple[bool, float], float](), dict[tuple[bool, float], float]()
    for each in found:
        peers = (each.late > 0, each.quality)
        least_work[peers] = min(each.prefixes[-1], least_work.get(peers, math.inf))

    def work(each: PlacedWay) -> float:
        return max(each.prefixes[-1], least_work[each.late > 0, each.quality] * (1 + _ALIKE))

    for each in found:
        peers = (each.late > 0, each.quality)
        if work(each) <= least_work[peers] * (1 + _ALIKE):
            least_time[peers] = min(each.end - time, least_time.get(peers, math.inf))

    def key(each: PlacedWay) -> tuple[float, ...]:
        if each.late > 0:
            return (True, each.late, *each.rank)
        lasts = max(each.end - time, least_time[each.late > 0, each.quality] * (1 + _ALIKE))
        return (False, -each.quality, work(each), lasts, *each.prefixes, each.end)

    return sorted(found, key=key)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """A plan of what waits, with or without some chains.

    Attributes:
        problem: in seconds from `time`.
        plan: of the problem.
        time: epoch seconds.
        promised: rows of stages whose ends are guaranteed, with the seconds until then.
    """

    problem: Problem
    plan: Plan
    time: float
    promised: Mapping[int, float]
    _state: CoreState
    _view: PlanningView

    @classmethod
    def now(
        cls,
        view: PlanningView,
        state: CoreState,
        time: float,
        chain: Sequence[Task] = (),
        without: Collection[str] = (),
    ) -> TrialPlan | None:
        """Return the plan in force; None where no host is up.

        Args:
            view: of the plan in force.
            state: its tasks and hosts.
            time: now, epoch seconds.
            chain: tasks that are to be placed.
            without: waiting tasks that are left out of it.
        """
        if not state.hosts.up():
            return None
        by_kind = any(task.spec.constrained for task in chain)
        problem = view.problem(time, by_kind=by_kind, without=without)
        if problem is None:
            problem = view.nothing_waiting(time, by_kind=by_kind)
        if state.hosts.shared:
            problem = view.packed(problem, time, chain)
        if any(task.spec.licences for task in chain):
            problem = view.licensed(problem, time, chain)
        if problem.tasks:
            plan = view.plan(problem, time)
        else:
            plan = Plan(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        return cls(problem, plan, time, guaranteed_ends(problem, state, time), state, view)

    def place(self, chain: Sequence[Task], ways: Collection[int]) -> list[PlacedWay]:
        """Return where each way of a chain would run, the best first; those that hosts cannot run are left out.

        Args:
            chain: its tasks that have not left, in order.
            ways: indices of the ways to look at.
        """
        ready, holes = self._ready(chain[0]), self._holes()
        if ready is None:
            return []
        found = [placed for way in ways if (placed := self._placed(chain, way, ready, holes)) is not None]
        if self._waits_beside_hosts:
            found = [self.having(chain, placed).decoded(chain, placed) for placed in found]
        return best_first(found, self.time)

    def best(self, chain: Sequence[Task], ways: Collection[int]) -> tuple[PlacedWay, TrialPlan] | None:
        """Return the best way that is in time and makes no guaranteed stage late, and the plan with it."""
        broken = self.broken()
        for placed in self.place(chain, ways):
            if placed.late > 0:
                break
            trial = self.having(chain, placed)
            decoded = trial.decoded(chain, placed)
            if decoded.late <= 0 and trial.broken() <= broken:
                return decoded, trial
        return None

    def having(self, chain: Sequence[Task], placed: PlacedWay) -> TrialPlan:
        """Return the plan with a chain in one of its ways, where it was placed."""
        stages = [in_way(task, placed.way) for task in _used(chain, placed.way)]
        before = spans(self.problem, self.plan)[0] if len(self.problem.tasks) else []
        problem, counts = self._extended(stages)
        first = len(self.problem.tasks)
        # Ordered by their starts, tasks are decoded to start no later.
        begin = {task: before[task] for task in self.plan.order.tolist()}
        begin |= {first + row: start - self.time for row, start in enumerate(placed.starts)}
        places = {task: place for place, task in enumerate((*self.plan.order.tolist(), *range(first, len(counts))))}
        order = sorted(places, key=lambda task: (begin[task], places[task]))
        classes = None if self.plan.classes is None else np.append(self.plan.classes, np.full(len(stages), -1))
        ends = problem.deadline[first:].tolist() if placed.late <= 0 else []
        promised = {**self.promised, **{first + row: end for row, end in enumerate(ends) if end < math.inf}}
        plan = Plan(np.array(order, dtype=np.int64), counts, classes)
        return replace(self, problem=problem, plan=plan, promised=promised)

    def decoded(self, chain: Sequence[Task], placed: PlacedWay) -> PlacedWay:
        """Return the place that a chain has in this plan, which ends with it."""
        starts, ends = spans(without_distant_reservations(self.problem, self.plan), self.plan)
        first = len(self.problem.tasks) - len(placed.names)
        return self._judged(
            chain,
            replace(
                placed,
                starts=tuple(self.time + start for start in starts[first:]),
                ends=tuple(self.time + end for end in ends[first:]),
            ),
        )

    def broken(self) -> set[int]:
        """Return the rows of promised stages that are planned to end too late."""
        if not self.promised:
            return set()
        ends = spans(without_distant_reservations(self.problem, self.plan), self.plan)[1]
        return {row for row, latest in self.promised.items() if ends[row] > latest + EQUAL}

    def keeping(self, name: str, due: float) -> TrialPlan | None:
        """Return the plan with one more promise, that a task ends by a time; None where it does not.

        Args:
            name: a task of the plan.
            due: epoch seconds.
        """
        if name not in self.problem.tasks:
            return None
        row = self.problem.tasks.index(name)
        kept = replace(self, promised={**self.promised, row: due - self.time})
        return None if row in kept.broken() else kept

    def task_plan(self) -> TaskPlan:
        """Return the plan by the tasks' names."""
        return TaskPlan.of(self.problem, self.plan)

    @property
    def _waits_beside_hosts(self) -> bool:
        """Return whether stages may start later than hosts are idle, as only a decoder knows.

        They wait for licences, or for shared hosts that go.
        """
        problem = self.problem
        return problem.licences is not None or (problem.packing is not None and bool(problem.unavailability))

    def _ready(self, first: Task) -> float | None:
        """Return the seconds until a chain's first stage may begin; None where nobody knows."""
        ready = 0.0 if first.spec.begin is None else max(first.spec.begin - self.time, 0.0)
        rows = {name: row for row, name in enumerate(self.problem.tasks)}
        before = [name for name in first.spec.after if name in self._state.tasks]
        ends = spans(self.problem, self.plan)[1] if any(name in rows for name in before) else []
        for name in before:
            end = self.time + ends[rows[name]] if name in rows else self._view.expected_end(name, self.time)
            if end is None:
                return None
            ready = max(ready, end - self.time)
        return ready

    def _holes(self) -> Holes | None:
        """Return when how many hosts are idle; None where tasks share hosts, of which holes know nothing."""
        problem = self.problem
        if problem.packing is not None:
            return None
        holes = Holes(problem.free.tolist())
        for _, begin, end in problem.unavailability:
            if end < math.inf:
                holes.take(1, begin, end)
        starts, ends = spans(problem, self.plan) if len(problem.tasks) else ([], [])
        counts = planned_hosts(problem, self.plan).tolist()
        for task in self.plan.order.tolist():
            if ends[task] > starts[task]:
                holes.take(counts[task], starts[task], ends[task])
        return holes

    def _placed(self, chain: Sequence[Task], way: int, ready: float, holes: Holes | None) -> PlacedWay | None:
        """Return where the stages of a way run, each as early as it can; None where hosts cannot run one."""
        used, works, lasting = _used(chain, way), [], list[float]()
        for task in used:
            assert task.stage is not None
            works.append(task.stage.works[task.stage.ways[way].work])
            lasting.append(self._seconds(in_way(task, way), works[-1].hosts))
        if not used or math.inf in lasting:
            return None
        starts = self._starts([work.hosts for work in works], lasting, ready, holes)
        if _keeps_a_host(used):
            while math.isfinite(starts[-1]) and (gap := _first_gap(starts, lasting)) > EQUAL:
                starts = self._starts([work.hosts for work in works], lasting, starts[0] + gap, holes)
        if starts[-1] == math.inf:
            return None
        ends = [start + seconds for start, seconds in zip(starts, lasting, strict=True)]
        stage = used[-1].stage
        assert stage is not None
        names, hosts = tuple(work.name for work in works), tuple(work.hosts for work in works)
        begins, finishes = (tuple([self.time + each for each in times]) for times in (starts, ends))
        return self._judged(chain, PlacedWay(way, stage.ways[way].quality, names, hosts, begins, finishes))

    def _starts(
        self, counts: Sequence[int], lasting: Sequence[float], ready: float, holes: Holes | None
    ) -> list[float]:
        """Return when stages start, each as early as it can after the one before; infinite from one on that cannot."""
        starts, begin = list[float](), ready
        for count, seconds in zip(counts, lasting, strict=True):
            begin = max(begin, self._end()) if holes is None else holes.earliest(count, seconds, begin)
            starts.append(begin)
            begin += seconds
        return starts

    def _end(self) -> float:
        """Return the seconds until all that is planned has ended."""
        return max(spans(self.problem, self.plan)[1], default=0.0) if len(self.problem.tasks) else 0.0

    def _seconds(self, task: Task, hosts: int) -> float:
        """Return how long a stage takes on the slowest hosts that can run it; infinite where too few can."""
        times = self._times(task)
        if hosts > times.shape[1]:
            return math.inf
        able = times[:, hosts - 1][np.isfinite(times[:, hosts - 1])]
        return float(able.max()) if len(able) else math.inf

    def _times(self, task: Task) -> NDArray[np.float64]:
        by_kind = task.spec.constrained
        assumptions = self._view.assumptions(self.time, by_kind=by_kind)
        return run_times(task, assumptions, self.problem.classes, len(self.problem.hosts))

    def _judged(self, chain: Sequence[Task], placed: PlacedWay) -> PlacedWay:
        """Return a placed way with how late it is."""
        first = chain[0].stage
        assert first is not None
        ready = (self._turn_begins(chain[0], placed), *placed.ends)
        late = list[tuple[str, float]]()
        for place, task in enumerate(_used(chain, placed.way)):
            assert task.stage is not None
            there, end = task.stage.ways[placed.way], placed.ends[place]
            due = there.due
            if there.since is not None and there.since >= first.index:  # else its turn has begun already
                due = min(due, ready[there.since - first.index] + there.within)
            if end > due + EQUAL:
                late.append((placed.names[place], end - due))
        beyond = 0.0 if first.deadline is None else placed.end - first.deadline
        most = max([beyond, *[seconds for _, seconds in late]])
        return replace(placed, late=most if most > EQUAL else 0.0, late_stages=tuple(late))

    def _turn_begins(self, first: Task, placed: PlacedWay) -> float:
        """Return the begin of the loop's turn that this stage opens, epoch seconds.

        The application's first turn begins with its submission, later ones with the end of the stage before.
        """
        assert first.stage is not None
        ready = self._ready(first)
        begins = placed.starts[0] if ready is None else self.time + ready
        waits = first.stage.index or any(name in self._state.tasks for name in first.spec.after)
        return begins if waits else max(first.submitted, first.spec.begin or 0.0)

    def _extended(self, stages: Sequence[Task]) -> tuple[Problem, NDArray[np.int64]]:
        """Return the problem and the plan's counts with stages at the end, each after the one before it."""
        problem, first = self.problem, len(self.problem.tasks)
        rows, release, due, depends, counts = [], [], [], list[tuple[int, ...]](), self.plan.counts.tolist()
        packing, licences = problem.packing, problem.licences
        for row, task in enumerate(stages):
            times = self._times(task)
            rows.append(times)
            ready = self._ready(task) if row == 0 else 0.0
            release.append(0.0 if ready is None else ready)
            due.append(math.inf if task.spec.deadline is None else task.spec.deadline - self.time)
            depends.append((first + row - 1,) if row else ())
            licences = licences and with_one_more(licences, task.spec)
            if packing is None:
                counts.append(task.spec.count)
                continue
            shapes = len(packing.hosts)
            packing = with_shapes(packing, Choice.of(place_requests(task, self._state.hosts), times[np.newaxis]))
            counts.append(shapes + int(np.flatnonzero(packing.hosts[shapes:] == task.spec.count)[0]))
        known = problem.depends_on or ((),) * first
        extended = replace(
            problem,
            tasks=(*problem.tasks, *[task.id for task in stages]),
            seconds=np.concatenate((problem.seconds, np.array(rows).swapaxes(0, 1)), axis=1),
            release=np.append(problem.release, release),
            deadline=np.append(problem.deadline, due),
            depends_on=(*known, *depends),
            weight=None,  # nothing here is judged by its objective
            waited=None,
            turns=None,
            packing=packing,
            licences=licences,
        )
        return extended, np.array(counts, dtype=np.int64)


def _used(chain: Sequence[Task], way: int) -> list[Task]:
    """Return the tasks of a chain that a way has work for."""
    return [task for task in chain if task.stage is not None and task.stage.ways[way].work != NO_WORK]


def _keeps_a_host(stages: Sequence[Task]) -> bool:
    """Return whether the lead of one stage stays for the next: between two of them no host would be idle."""
    return any(task.spec.elastic is not None and task.spec.elastic.whole_chain for task in stages)


def _first_gap(starts: Sequence[float], lasting: Sequence[float]) -> float:
    """Return the seconds for which the first stage waits that does not follow on the one before; 0 where all do."""
    pairs = zip(starts[1:], starts, lasting, strict=False)
    return next((after - start - seconds for after, start, seconds in pairs if after - start - seconds > EQUAL), 0.0)
