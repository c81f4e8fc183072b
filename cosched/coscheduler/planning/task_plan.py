"""A plan of a domain is a value: waiting tasks in order, with host counts.

Start at `TaskPlan`. It names tasks and so outlives one problem; a `scheduling.plan.Plan` has indices into a problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import best_seconds, narrowed, runnable, single_class
from cosched.scheduling.plan import Plan
from cosched.scheduling.shapes import best_shape_seconds, by_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["TaskPlan", "initial_host_counts", "initial_shapes"]


def initial_host_counts(seconds: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose host counts by the fewest host-seconds among those that meet the deadline.

    It is the choice before any search.

    Args:
        seconds: (m, N) run times by task and host count, infinite where impossible.
        slack: (m,) seconds until the deadline; infinite for none.

    Returns:
        (m,) counts (1…N); the fastest where none meets the deadline.
    """
    area = seconds * np.arange(1, seconds.shape[1] + 1)
    fits = np.where(seconds <= slack[:, None], area, math.inf)
    meets = np.isfinite(fits).any(axis=1, keepdims=True)
    counts: NDArray[np.int64] = np.where(meets, fits, seconds).argmin(axis=1) + 1
    return counts


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """Waiting tasks in planned order, each with a host count and a class; a value.

    Attributes:
        tasks: identifiers, each once.
        counts: number of hosts of each task, shared or not; 0 leaves the choice to the first problem made of it.
        classes: class whose hosts alone each task takes, empty for hosts of any; none at all where all take any.
        cores: of a task that shares hosts and has alternatives its cores of each host, 0 for others; none at all where
            there is no such task.
    """

    tasks: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.tasks) or len(self.classes) not in (0, len(self.tasks)):
            raise ValueError("a plan has one host count and one class for each task")
        if len(self.cores) not in (0, len(self.tasks)):
            raise ValueError("a plan has a number of cores for each task, or none")
        # One way to say that nothing is chosen, so that equal plans are equal.
        if self.classes and not any(self.classes):
            object.__setattr__(self, "classes", ())
        if self.cores and not any(self.cores):
            object.__setattr__(self, "cores", ())

    @classmethod
    def of(cls, problem: Problem, plan: Plan) -> TaskPlan:
        """Return the plan of a problem with names in place of indices."""
        chosen = () if plan.classes is None else plan.classes[plan.order].tolist()
        counts = plan.counts if problem.packing is None else problem.packing.hosts[plan.counts]
        return cls(
            tuple(map(problem.tasks.__getitem__, plan.order.tolist())),
            tuple(counts[plan.order].tolist()),
            tuple("" if each < 0 else problem.classes[each] for each in chosen),
            () if problem.packing is None else _chosen_cores(problem.packing, plan),
        )

    def for_problem(self, problem: Problem) -> Plan:
        """Return this plan for a problem whose tasks it contains.

        A count that is not possible there (hosts went down, not chosen yet) is chosen anew; where a class cannot be
        had, hosts of any are taken.
        """
        if self.tasks == problem.tasks:
            order, chosen = np.arange(len(self.tasks)), np.array(self.counts, dtype=np.int64)
        else:
            index = {name: place for place, name in enumerate(problem.tasks)}
            order = np.array([index[name] for name in self.tasks if name in index], dtype=np.int64)
            counts = dict(zip(self.tasks, self.counts, strict=True))
            chosen = np.fromiter(map(counts.__getitem__, problem.tasks), np.int64, len(problem.tasks))
        anew = ~runnable(problem, chosen)
        if anew.any():
            seconds = best_seconds(narrowed(replace(problem, seconds=problem.seconds[:, anew])))
            chosen[anew] = initial_host_counts(seconds, problem.deadline[anew])
        if problem.packing is not None:
            return Plan(order, self._shapes(problem, problem.packing, chosen))
        if single_class(problem) is not None:
            return Plan(order, chosen)
        classes = dict(zip(self.tasks, self.classes, strict=True)) if self.classes else {}
        return Plan(order, chosen, _class_indices(problem, chosen, classes))

    def _shapes(self, problem: Problem, packing: Packing, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shape of each task on so many hosts; with alternatives as planned, or else a first choice."""
        varied = packing.varied
        shapes = packing.on_hosts(counts)
        if not varied.any():
            return shapes
        known = dict(zip(self.tasks, self.cores, strict=True)) if self.cores else {}
        cores = np.array([known.get(name, 0) for name in problem.tasks], dtype=np.int64)
        planned = np.where(varied, packing.of_cores(counts, cores), shapes)
        anew = varied & ((planned < 0) | ~_possible(problem, packing, np.maximum(planned, 0)))
        if anew.any():
            planned[anew] = initial_shapes(problem, packing)[anew]
        return planned

    def with_counts(self, counts: Mapping[str, int]) -> TaskPlan:
        """Return the plan with other host counts for some of its tasks."""
        known = zip(self.tasks, self.counts, strict=True)
        return replace(self, counts=tuple(counts.get(task, count) for task, count in known))

    def with_choice(self, task: str, chosen: TaskPlan) -> TaskPlan:
        """Return the plan with a task's number of hosts, and cores of each, as another plan has them."""
        row, there = self.tasks.index(task), chosen.tasks.index(task)
        cores = [*(self.cores or (0,) * len(self.tasks))]
        cores[row] = chosen.cores[there] if chosen.cores else 0
        return replace(self.with_counts({task: chosen.counts[there]}), cores=tuple(cores))

    def reordered(self, tasks: Iterable[str]) -> TaskPlan:
        """Return the plan with some tasks in another order, in the places of them all."""
        given = list(tasks)
        among, order, rows = set(given), iter(given), {task: row for row, task in enumerate(self.tasks)}
        places = [rows[next(order) if task in among else task] for task in self.tasks]
        return TaskPlan(
            tuple(self.tasks[row] for row in places),
            tuple(self.counts[row] for row in places),
            tuple(self.classes[row] for row in places) if self.classes else (),
            tuple(self.cores[row] for row in places) if self.cores else (),
        )

    def replanned(self, proposed: TaskPlan) -> TaskPlan:
        """Return the proposed plan for this plan's tasks; those it does not name follow behind."""
        mine = dict(zip(self.tasks, self.counts, strict=True))
        if len(mine) == len(proposed.tasks) and mine.keys() == set(proposed.tasks):
            return proposed
        wanted = dict(zip(proposed.tasks, proposed.counts, strict=True))
        counts = {task: count for task, count in wanted.items() if task in mine}
        counts |= {task: count for task, count in mine.items() if task not in wanted}
        classes = dict(zip(proposed.tasks, proposed.classes, strict=True)) if proposed.classes else {}
        cores = dict(zip(self.tasks, self.cores, strict=True)) if self.cores else {}
        cores |= dict(zip(proposed.tasks, proposed.cores or (0,) * len(proposed.tasks), strict=True))
        return TaskPlan(
            tuple(counts),
            tuple(counts.values()),
            tuple(classes.get(task, "") for task in counts),
            tuple(cores.get(task, 0) for task in counts),
        )


def initial_shapes(problem: Problem, packing: Packing) -> NDArray[np.int64]:
    """Return (m,): before any search, the shape that takes least of the hosts among those that meet the deadline.

    What it takes is its part of a host times hosts and seconds; the quickest where none meets the deadline.
    """
    seconds = best_shape_seconds(problem, packing)
    area = packing.part * packing.hosts * seconds
    in_time = seconds <= problem.deadline[packing.owner]
    area, quickest = by_task(packing, np.where(in_time, area, np.inf)), by_task(packing, seconds)
    meets = np.isfinite(area).any(axis=1, keepdims=True)
    shapes: NDArray[np.int64] = packing.first[:-1] + np.where(meets, area, quickest).argmin(axis=1)
    return shapes


def _possible(problem: Problem, packing: Packing, shapes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (m,): whether enough hosts have what a task takes in a shape."""
    chosen = replace(
        packing, hosts=packing.hosts[shapes], demand=packing.demand[shapes], seconds=packing.seconds[shapes]
    )
    return np.isfinite(best_shape_seconds(problem, chosen))


def _chosen_cores(packing: Packing, plan: Plan) -> tuple[int, ...]:
    if not packing.varied.any():
        return ()
    cores = np.where(packing.varied, packing.demand[plan.counts, 0], 0)
    return tuple(cores[plan.order].tolist())


def _class_indices(problem: Problem, counts: NDArray[np.int64], classes: Mapping[str, str]) -> NDArray[np.int64]:
    """Return the index of each task's class where that has enough hosts, else -1."""
    kinds = np.full(len(problem.tasks), -1, dtype=np.int64)
    if not classes:
        return kinds
    sizes = np.bincount(problem.host_class, minlength=len(problem.classes))
    for place, name in enumerate(problem.tasks):
        each = classes[name]
        if each and each in problem.classes:
            kind, count = problem.classes.index(each), int(counts[place])
            possible = sizes[kind] >= count and math.isfinite(problem.seconds[kind, place, count - 1])
            kinds[place] = kind if possible else -1
    return kinds
