"""The problem builder turns the waiting tasks into a problem of scheduling.

Start at `ProblemBuilder.build`. Thousands may wait, and this work keeps the core from everything else: arrays
(`ProfileMatrix`) hold the time-independent part, once for a queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.coscheduler.places.contention import ExpectedContention
from cosched.coscheduler.places.hosts import needs_of_alternative, needs_on_host, share_of
from cosched.prediction.calibration import AS_EXPECTED, Correction
from cosched.prediction.contention import left_beside, times_longer
from cosched.prediction.loads.host_load import Interruption
from cosched.prediction.loads.loaded_profile import loaded_profile
from cosched.scheduling.host_counts import best_times
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.connector.hosts import Host
    from cosched.coscheduler.task import Task
    from cosched.prediction.loads.host_load import HostLoad
    from cosched.prediction.profile import Profile

    _Reckoned = tuple[
        Mapping[str, Correction],
        float,
        Mapping[str, Host],
        int | None,
        Mapping[str, Sequence[tuple[HostLoad, int]]],
        ExpectedContention,
        Mapping[str, frozenset[str]],
    ]

__all__ = ["PlanningAssumptions", "ProblemBuilder", "ProfileMatrix", "alternative_times", "run_times", "widened"]

_NO_CORRECTION = Correction()
_NO_CONTENTION = ExpectedContention()
_NONE: frozenset[str] = frozenset()
_ROWS_PER_TASK = 4  # rows for each task that waits, at most: those of tasks that have left are given up together


@dataclass(slots=True)
class ProfileMatrix:
    """Cache of the time-independent part of a problem, one row per waiting task.

    Attributes:
        hosts: class of each host.
        assumptions: corrections, quantile, kinds, memory of a core, loads, contention and avoided kinds that `times`
            reckons with.
        classes: names of the hosts' classes, each once.
        host_class: (hosts,) indices of classes.
        row: row of each waiting task, and perhaps of others.
        times: (classes, rows, widest) seconds as `run_times` has them, without a hand-over, up to the last host count
            that any task can use; with hundreds of hosts that is few columns.
        able: (rows,) whether these hosts can run it.
        deadline: (rows,) epoch seconds, infinite for none.
    """

    hosts: tuple[str, ...]
    assumptions: _Reckoned
    classes: tuple[str, ...]
    host_class: NDArray[np.int64]
    row: dict[str, int]
    times: NDArray[np.float64]
    able: NDArray[np.bool_]
    deadline: NDArray[np.float64]

    @classmethod
    def none(cls, hosts: tuple[str, ...], assumptions: _Reckoned) -> ProfileMatrix:
        """Return those of no task."""
        classes = tuple(sorted(set(hosts)))
        host_class = np.array([classes.index(each) for each in hosts], dtype=np.int64)
        times = np.empty((len(classes), 0, 1))
        return cls(hosts, assumptions, classes, host_class, {}, times, np.empty(0, dtype=np.bool_), np.empty(0))

    def add(self, tasks: Sequence[Task], times: Sequence[NDArray[np.float64]]) -> None:
        """Add tasks with their (classes, hosts) run times."""
        self.row |= {task.id: row for row, task in enumerate(tasks, len(self.able))}
        new = _without_empty_columns(np.array(times).swapaxes(0, 1))
        widest = max(self.times.shape[2], new.shape[2])
        self.times = np.concatenate((widened(self.times, widest), widened(new, widest)), axis=1)
        self.able = np.concatenate((self.able, np.isfinite(best_times(new, self.host_class)).any(axis=1)))
        deadline = [math.inf if task.due is None else task.due for task in tasks]
        self.deadline = np.concatenate((self.deadline, deadline))


def widened(times: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """Return times widened to `columns`, infinite in the new ones."""
    if times.shape[2] == columns:
        return times
    wide = np.empty((*times.shape[:2], columns))
    wide[:, :, : times.shape[2]] = times
    wide[:, :, times.shape[2] :] = math.inf
    return wide


def _without_empty_columns(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times without the last columns if there is nothing in them."""
    used = np.flatnonzero(np.isfinite(times).any(axis=(0, 1)))
    return times[:, :, : int(used[-1]) + 1 if len(used) else 1]


@dataclass(frozen=True, slots=True)
class PlanningAssumptions:
    """Everything beside the tasks' profiles that a plan must reckon with.

    Attributes:
        corrections: learnt corrections of run times, by `Task.correction`.
        quantile: share of runs that stays below the times to plan with.
        handover: seconds from a decision to the start of its job.
        margin: share of the time left to a deadline by which to be early.
        held_back: tasks that may not start before an epoch time.
        kinds: a host of each kind, by the names that problems have for classes; empty where only classes matter.
        memory_per_core: MiB that come with each core of a shared host; None where hosts are not shared.
        loads: what the owners of hosts take of these, by kind; empty where all hosts are dedicated. A task that has
            hosts of a kind may have others that are less loaded: these follow, each load with its number of hosts.
        interruption: what owners do to tasks when they come back.
        contention: what others beside a task on shared hosts cost it.
        avoided: kinds of hosts that waiting tasks are not planned on for now.
    """

    corrections: Mapping[str, Correction] = field(default_factory=dict)
    quantile: float = 0.5
    handover: float = 0.0
    margin: float = 0.0
    held_back: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, Host] = field(default_factory=dict)
    memory_per_core: int | None = None
    loads: Mapping[str, Sequence[tuple[HostLoad, int]]] = field(default_factory=dict)
    interruption: Interruption = Interruption.SUSPEND
    contention: ExpectedContention = _NO_CONTENTION
    avoided: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def planned(self, correction: Correction, there: Profile, kind: str) -> list[float]:
        """Return seconds to plan with on 1, 2, … hosts of a kind, without a hand-over.

        Args:
            correction: what the task's runs on the kind's class teach.
            there: the task's profile on hosts of that class.
            kind: name of the kind.
        """
        loads = self.loads.get(kind)
        if loads is None:
            return correction.planned(there, self.quantile)
        loaded = loaded_profile(correction.corrected(there), loads, self.interruption)
        return list(loaded.seconds if self.quantile == AS_EXPECTED else loaded.at_quantile(self.quantile).seconds)

    def times_longer(self, task: Task, hardware: str, kind: Host | None, needs: tuple[int, int, int]) -> float:
        """Return how many times longer than alone a task is to run that shares hosts of a kind with others.

        Args:
            task: with a profile.
            hardware: of the profile on hosts of the kind.
            kind: a host of it; None where kinds do not matter.
            needs: memory, cores and GPUs that the task takes of each host.
        """
        part = _left_beside(needs, kind)
        return 1.0 if kind is None else self.contention.times_longer(task, hardware, kind.host_class, part)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Common part of all problems of one queue, whenever they are made.

    Attributes:
        waiting: the queue, in planned order.
        tasks: the tasks of the queue that can run on these hosts.
        seconds: (classes, m, widest), their times.
        deadline: (m,) epoch seconds, infinite for none.
    """

    waiting: tuple[str, ...]
    tasks: tuple[str, ...]
    seconds: NDArray[np.float64]
    deadline: NDArray[np.float64]


class _Uncorrected(NamedTuple):
    """Profiles and keys of a task's alternatives, to which corrections apply.

    Attributes:
        depends: what it was made of.
        classes: classes of the hosts, as the manager names them.
        hardware: of the task's profile on hosts of each.
        keys: of the corrections there.
        times: (alternatives, classes, hosts) seconds, neither corrected nor beside others.
        beside: (alternatives, classes) part of a host that others can have beside it.
    """

    depends: tuple[object, ...]
    classes: tuple[str, ...]
    hardware: tuple[str, ...]
    keys: tuple[str, ...]
    times: NDArray[np.float64]
    beside: tuple[tuple[float, ...], ...]


def _offered(
    name: str, task: Task, needs: tuple[int, int, int], assumptions: PlanningAssumptions, *, whole: bool
) -> bool:
    """Return whether a task can run on hosts of a kind; one that has hosts for itself takes none that are parts."""
    kind = assumptions.kinds.get(name)
    if kind is None:
        return True
    if name in assumptions.avoided.get(task.id, _NONE) or not kind.takes_jobs_of(task.spec.partition):
        return False
    is_part = kind.unparted and whole and not all(each.unparted for each in assumptions.kinds.values())
    return kind.offers(*needs) and not is_part


def _most_hosts(task: Task, kind: Host | None, hosts: int) -> int:
    """Return how many hosts of a kind a task may have; a program that is launched once reaches one slot alone."""
    return 1 if kind is not None and kind.unparted and task.spec.launch.once else hosts


def _left_beside(needs: tuple[int, int, int], kind: Host | None) -> float:
    """Return which part of a host others can have beside a task; nothing of one that is a part itself."""
    return 0.0 if kind is None or kind.unparted else left_beside(needs[1], needs[0], kind.cores, kind.memory)


@lru_cache(maxsize=1024)  # thousands of tasks have few different ones
def _times_longer(exponents: tuple[float, ...], beside: tuple[tuple[float, ...], ...]) -> NDArray[np.float64]:
    """Return (alternatives, classes, 1): how many times longer than alone a task runs, to be read."""
    longer = [[times_longer(*each) for each in zip(exponents, parts, strict=True)] for parts in beside]
    return np.array(longer)[:, :, np.newaxis]


def run_times(task: Task, assumptions: PlanningAssumptions, classes: Sequence[str], hosts: int) -> NDArray[np.float64]:
    """Return how long a task occupies its hosts, by class and count, hand-over included.

    Args:
        task: a task with a profile.
        assumptions: corrections, quantile and hand-over.
        classes: names of the present hosts' classes.
        hosts: how many there are.

    Returns:
        (classes, hosts) seconds, infinite where impossible; of a task with alternatives those of the quickest.
    """
    if task.alternatives:
        quickest: NDArray[np.float64] = alternative_times(task, assumptions, classes, hosts).min(axis=0)
        return quickest
    assert task.profile is not None
    times = np.full((len(classes), hosts), math.inf)
    shared = assumptions.memory_per_core
    needs = needs_on_host(task.spec, shared)
    whole = shared is not None and share_of(task.spec, shared) is None
    contends = bool(assumptions.contention) and not whole
    for row, name in zip(times, classes, strict=True):
        kind = assumptions.kinds.get(name)
        if not _offered(name, task, needs, assumptions, whole=whole):
            continue
        there = task.profile.among((name if kind is None else kind.host_class,))
        correction = assumptions.corrections.get(task.correction_on(there.hardware), _NO_CORRECTION)
        values = np.asarray(assumptions.planned(correction, there, name)[: _most_hosts(task, kind, hosts)])
        if contends:
            values = values * assumptions.times_longer(task, there.hardware, kind, needs)
        if task.status.restarts is not None:
            values = np.array([task.ahead(each) for each in values])
        row[: len(values)] = values + assumptions.handover
    return times


def alternative_times(
    task: Task, assumptions: PlanningAssumptions, classes: Sequence[str], hosts: int
) -> NDArray[np.float64]:
    """Return (alternatives, classes, hosts) run times of a task, of one with a single shape (1, …); see `run_times`."""
    if not task.alternatives:
        return run_times(task, assumptions, classes, hosts)[np.newaxis]
    times = np.full((len(task.alternatives), len(classes), hosts), math.inf)
    kinds = [assumptions.kinds.get(name) for name in classes]
    corrections: dict[str, Correction] = {}  # by hardware: a dozen alternatives have few
    contends = bool(assumptions.contention) and not task.spec.exclusive
    for row, each in enumerate(task.alternatives):
        needs = needs_of_alternative(task.spec, each, assumptions.memory_per_core)
        for column, (name, kind) in enumerate(zip(classes, kinds, strict=True)):
            if not _offered(name, task, needs, assumptions, whole=task.spec.exclusive):
                continue
            there = each.profile.among((name if kind is None else kind.host_class,))
            correction = corrections.get(there.hardware)
            if correction is None:
                key = task.correction_on(there.hardware)
                correction = corrections[there.hardware] = assumptions.corrections.get(key, _NO_CORRECTION)
            values = np.asarray(assumptions.planned(correction, there, name)[: _most_hosts(task, kind, hosts)])
            if contends:
                values = values * assumptions.times_longer(task, there.hardware, kind, needs)
            times[row, column, : len(values)] = values
    return times + assumptions.handover


class ProblemBuilder:
    """Makes problems of waiting tasks, and keeps the parts that stay the same between two."""

    def __init__(self) -> None:
        self._times: dict[str, tuple[tuple[object, ...], NDArray[np.float64]]] = {}
        self._alternatives: dict[str, NDArray[np.float64]] = {}
        self._uncorrected: dict[str, _Uncorrected] = {}
        self._rows: ProfileMatrix | None = None
        self._frame: _Frame | None = None

    def forget(self, task: str) -> None:
        """Drop the cached rows of a task that no longer waits.

        It may come back with another profile.
        """
        self._times.pop(task, None)
        self._alternatives.pop(task, None)
        self._uncorrected.pop(task, None)
        if self._rows is not None and self._rows.row.pop(task, None) is not None:
            self._frame = None

    def alternatives(self, task: str) -> NDArray[np.float64]:
        """Return the `alternative_times` of a task in the last problem, without a hand-over."""
        return self._alternatives[task]

    def build(
        self,
        waiting: tuple[str, ...],
        tasks: Mapping[str, Task],
        hosts: Sequence[str],
        free: Mapping[str, float],
        now: float,
        assumptions: PlanningAssumptions | None = None,
        classes: Mapping[str, str] | None = None,
    ) -> Problem | None:
        """Make the scheduling problem of the waiting tasks, with the origin `now`.

        Tasks that no number of the present hosts can run are left out.

        Args:
            waiting: identifiers in planned order.
            tasks: all live tasks by identifier.
            hosts: names of the usable hosts.
            free: when each taken host is expected to be free, epoch seconds.
            now: epoch seconds.
            assumptions: everything else that a plan must reckon with.
            classes: class of each host, empty where not known; None: all hosts are alike.

        Returns:
            The problem, tasks in planned order; None where nothing can be planned.
        """
        assumptions = assumptions or PlanningAssumptions()
        if not hosts or not waiting:
            return None
        rows = self._known(tuple([(classes or {}).get(host, "") for host in hosts]), assumptions, len(waiting))
        frame = self._framed(waiting, tasks, rows, assumptions)
        if not frame.tasks:
            return None
        return Problem(
            tasks=frame.tasks,
            hosts=tuple(hosts),
            classes=rows.classes,
            host_class=rows.host_class,
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts], dtype=np.float64),
            seconds=widened(frame.seconds + assumptions.handover, len(hosts)),
            release=_releases(frame.tasks, assumptions.held_back, now),
            deadline=_slacks(frame.deadline, now, assumptions.margin),
            depends_on=((),) * len(frame.tasks),
        )

    def _known(self, hosts: tuple[str, ...], assumptions: PlanningAssumptions, waiting: int) -> ProfileMatrix:
        """Return the profile matrix for these hosts and assumptions, an empty one if they changed.

        It is emptied, too, when it holds many more rows than the `waiting` tasks need.
        """
        reckoned = (
            assumptions.corrections,
            assumptions.quantile,
            assumptions.kinds,
            assumptions.memory_per_core,
            assumptions.loads,
            assumptions.contention,
            assumptions.avoided,
        )
        rows = self._rows
        if (
            rows is None
            or (rows.hosts, rows.assumptions) != (hosts, reckoned)
            or len(rows.able) > _ROWS_PER_TASK * waiting
        ):
            rows = self._rows = ProfileMatrix.none(hosts, reckoned)
            self._frame = None
        return rows

    def _framed(
        self, waiting: tuple[str, ...], tasks: Mapping[str, Task], rows: ProfileMatrix, assumptions: PlanningAssumptions
    ) -> _Frame:
        """Return the queue's frame, the earlier one where nothing has changed."""
        if self._frame is not None and self._frame.waiting == waiting:
            return self._frame
        new = [tasks[name] for name in waiting if name not in rows.row]
        if new:
            rows.add(new, [self._known_times(task, assumptions, rows.classes, len(rows.hosts)) for task in new])
        places = np.fromiter(map(rows.row.__getitem__, waiting), np.int64, len(waiting))
        able = rows.able[places]
        names = waiting if able.all() else tuple(compress(waiting, able.tolist()))
        places = places[able]
        self._frame = _Frame(waiting, names, rows.times[:, places], rows.deadline[places])
        return self._frame

    def _known_times(
        self, task: Task, assumptions: PlanningAssumptions, classes: tuple[str, ...], hosts: int
    ) -> NDArray[np.float64]:
        """Return `run_times` without a hand-over, the earlier ones where nothing has changed."""
        assert task.profile is not None
        parts = task.profile.classes or (task.profile,)
        corrections = [assumptions.corrections.get(task.correction_on(each.hardware)) for each in parts]
        depends = (
            corrections,
            assumptions.quantile,
            classes,
            hosts,
            assumptions.kinds,
            assumptions.memory_per_core,
            assumptions.loads,
            assumptions.contention,
            assumptions.avoided.get(task.id),
        )
        known = self._times.get(task.id)
        if known is None or known[0] != depends:
            if task.alternatives:
                every = self._times_of_alternatives(task, assumptions, classes, hosts)
                self._alternatives[task.id], times = every, every.min(axis=0)
            else:
                times = run_times(task, replace(assumptions, handover=0.0), classes, hosts)
            known = self._times[task.id] = (depends, times)
        return known[1]

    def _times_of_alternatives(
        self, task: Task, assumptions: PlanningAssumptions, classes: tuple[str, ...], hosts: int
    ) -> NDArray[np.float64]:
        """Return `alternative_times` without a hand-over.

        Corrections change with each run, for thousands of tasks with a dozen alternatives: what they are applied to is
        kept.
        """
        if assumptions.quantile != AS_EXPECTED or assumptions.loads:
            return alternative_times(task, replace(assumptions, handover=0.0), classes, hosts)
        assert task.profile is not None
        avoided = assumptions.avoided
        depends = (
            task.alternatives,
            classes,
            hosts,
            assumptions.kinds,
            assumptions.memory_per_core,
            avoided.get(task.id),
        )
        known = self._uncorrected.get(task.id)
        if known is None or known.depends != depends:
            plain = PlanningAssumptions(
                kinds=assumptions.kinds, memory_per_core=assumptions.memory_per_core, avoided=avoided
            )
            kinds = [assumptions.kinds.get(name) for name in classes]
            there = tuple(
                [name if kind is None else kind.host_class for name, kind in zip(classes, kinds, strict=True)]
            )
            hardware = tuple([task.profile.among((name,)).hardware for name in there])
            needs = [needs_of_alternative(task.spec, each, assumptions.memory_per_core) for each in task.alternatives]
            beside = tuple([tuple([_left_beside(each, kind) for kind in kinds]) for each in needs])
            keys = tuple([task.correction_on(name) for name in hardware])
            known = _Uncorrected(depends, there, hardware, keys, alternative_times(task, plain, classes, hosts), beside)
            self._uncorrected[task.id] = known
        factors = [assumptions.corrections.get(key, _NO_CORRECTION).factor for key in known.keys]
        corrected: NDArray[np.float64] = known.times * np.array(factors)[:, np.newaxis]
        if not assumptions.contention or task.spec.exclusive:
            return corrected
        classes_there = zip(known.hardware, known.classes, strict=True)
        exponents = tuple([assumptions.contention.exponent(task, *each) for each in classes_there])
        corrected *= _times_longer(exponents, known.beside)
        return corrected


def _releases(tasks: Sequence[str], held_back: Mapping[str, float], now: float) -> NDArray[np.float64]:
    if not held_back:
        return np.zeros(len(tasks))
    return np.array([max(held_back.get(name, now) - now, 0.0) for name in tasks])


def _slacks(deadline: NDArray[np.float64], now: float, margin: float) -> NDArray[np.float64]:
    left = deadline - now
    return np.where(left > 0, left * (1 - margin), left)
