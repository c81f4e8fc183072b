"""A problem in whole units of time, as a solver of whole numbers takes it; no time in it is longer than it is."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import narrowed, single_class, useful_counts
from cosched.scheduling.time_grid import units_a_second

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["MOST_TASKS", "WholeProblem", "uncovered", "whole_problem"]

MOST_TASKS = 60
_MOST_UNITS = 100_000  # of the makespan: a finer grid slows the solver down
_UNITS = 2_000  # of the makespan where times fall on no grid


@dataclass(frozen=True, slots=True)
class WholeProblem:
    """A problem on identical hosts whose times are whole numbers of units.

    Each time is rounded down. So a schedule of the problem itself is one of this, too, after its starts are rounded
    down, and what no schedule of this can be no schedule of the problem can.

    Attributes:
        hosts: how many.
        choices: for each task its useful host counts, ascending, and how long it then runs.
        release: when each task may start.
        depends_on: for each task the tasks that must end before it starts.
        away: when how many hosts are not there, (begin, end, hosts); an end may be infinite. With hosts that come back
            this is less than the problem says: it is not told which of the hosts are away.
        units_a_second: units of a second.
        on_grid: all times were whole numbers of units before: nothing was rounded.
    """

    hosts: int
    choices: tuple[tuple[tuple[int, int], ...], ...]
    release: tuple[int, ...]
    depends_on: tuple[tuple[int, ...], ...]
    away: tuple[tuple[int, float, int], ...]
    units_a_second: float
    on_grid: bool

    def seconds(self, units: int) -> float:
        """Return a time that is no longer than so many units."""
        return units / self.units_a_second * (1.0 if self.on_grid else 1 - 1e-9)

    def most_units(self, seconds: float) -> int:
        """Return so many seconds in units, rounded up; what rounding of sums has added is not counted."""
        return math.ceil(seconds * self.units_a_second * (1 - 1e-9))

    def least_units(self, bound: float) -> int:
        """Return a lower bound of the makespan in units, of one in seconds."""
        units = bound * self.units_a_second * (1 - 1e-9)
        return math.ceil(units) if self.on_grid else math.floor(units)

    def alike(self) -> list[list[int]]:
        """Return the tasks that could take each other's place, group by group."""
        awaited = {other for before in self.depends_on for other in before}
        groups: defaultdict[object, list[int]] = defaultdict(list)
        for task, choices in enumerate(self.choices):
            bound = task in awaited or bool(self.depends_on[task])
            groups[task if bound else (choices, self.release[task])].append(task)
        return list(groups.values())


def uncovered(problem: Problem) -> str | None:
    """Return why a problem has no whole problem, or None."""
    if problem.packing is not None:
        return "tasks share hosts"
    if problem.licences is not None:
        return "tasks take licences"
    if problem.elastic is not None:
        return "elastic tasks may have more hosts than they are promised"
    if len(problem.tasks) > MOST_TASKS:
        return f"there are more than {MOST_TASKS} tasks"
    if single_class(problem) is None:
        return "hosts are of several classes"
    return None


def whole_problem(problem: Problem, makespan: float) -> WholeProblem:
    """Return a problem that is not `uncovered` in whole units; turns of users are left out.

    Args:
        problem: at least one task.
        makespan: of a plan, in seconds; times are rounded to a part of it, unless they all fall on a grid.
    """
    narrow = narrowed(problem)
    seconds = narrow.seconds[single_class(problem) or 0]
    usable = useful_counts(narrow)
    changes: Counter[tuple[float, float]] = Counter((0.0, free) for free in problem.free.tolist() if free > 0)
    changes.update((begin, end) for _, begin, end in problem.unavailability)
    times = np.concatenate([seconds[usable], problem.release, np.array(list(changes)).ravel()])
    scale, on_grid = _grid(times[np.isfinite(times)], makespan)

    def whole(values: NDArray[np.float64]) -> list[int]:
        units = np.rint(values * scale) if on_grid else np.floor(values * scale)
        rounded: list[int] = units.astype(np.int64).tolist()
        return rounded

    choices = []
    for row, counts in zip(seconds, usable, strict=True):
        columns = np.flatnonzero(counts)
        choices.append(tuple(zip((columns + 1).tolist(), whole(row[columns]), strict=True)))
    away = []
    for (begin, end), hosts in changes.items():
        ends = math.inf if math.isinf(end) else whole(np.array([end]))[0]
        away.append((whole(np.array([begin]))[0], ends, hosts))
    return WholeProblem(
        hosts=len(problem.hosts),
        choices=tuple(choices),
        release=tuple(whole(np.maximum(problem.release, 0.0))),
        depends_on=problem.depends_on or ((),) * len(problem.tasks),
        away=tuple(away),
        units_a_second=scale,
        on_grid=on_grid,
    )


def _grid(times: NDArray[np.float64], makespan: float) -> tuple[float, bool]:
    """Return units of a second, and whether all times are whole numbers of them."""
    on_grid = units_a_second(times)
    if on_grid is not None and makespan * on_grid <= _MOST_UNITS:
        return on_grid, True
    return _UNITS / makespan, False
