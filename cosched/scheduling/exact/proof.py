"""Raise the bound of the makespan step by step, and find shorter plans on the way.

The bound is destructive (Klein and Scholl: European Journal of Operational Research 112, 1999): a time within which no
schedule ends is a lower bound, less one unit. Times between the bound and the shortest makespan known are tried, the
low ones first, for which proofs are quick. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from ortools.sat.python import cp_model

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.exact.model import add_hint, chosen_plan, model_within
from cosched.scheduling.exact.whole_problem import whole_problem

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from cosched.scheduling.exact.model import TaskVariables
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["Finding", "Proof"]

_STEP = 0.25  # of the way from the bound to the shortest makespan known: where a first time is tried
# For one time, in the solver's own seconds, which are work and alike on busy machines; then twice as many whenever
# none of them was decided.
_FIRST_TRY = 2.0
_MEMORY = 2_000  # MiB of the solver


class Finding(NamedTuple):
    """A better bound or a shorter plan.

    Attributes:
        bound: no schedule has a shorter makespan, in seconds.
        plan: a shorter plan than the ones before; None where only the bound is better.
    """

    bound: float
    plan: Plan | None


class Proof:
    """Works on one problem; another thread may stop it."""

    def __init__(self, problem: Problem, plan: Plan, bound: float) -> None:
        """Set up.

        Args:
            problem: one that is not `uncovered`.
            plan: the shortest known.
            bound: the lower bound of the makespan known, in seconds.
        """
        self._problem = problem
        self._best = plan
        makespan = _makespan(problem, plan)
        self._whole = whole_problem(problem, makespan)
        self._bound = bound
        self._lower = self._whole.least_units(bound)
        self._upper = self._whole.most_units(makespan)  # of the best plan
        self._possible = self._upper  # the shortest that has a schedule in whole units
        self._stopped = threading.Event()
        self._solver: cp_model.CpSolver | None = None

    def stop(self) -> None:
        """End `findings` soon."""
        self._stopped.set()
        solver = self._solver
        if solver is not None:
            solver.stop_search()

    def findings(self, seconds: float) -> Iterator[Finding]:
        """Yield better bounds and plans until they meet or the time is over."""
        until = time.monotonic() + seconds
        if self._whole.seconds(self._lower) > self._bound:  # whole numbers are above it
            yield self._no_schedule(self._lower - 1)
        step, a_try = _STEP, _FIRST_TRY
        high = False  # whether to look for a plan that is just a little shorter
        while self._lower < self._possible and not self._stopped.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return
            last = self._possible - 1
            latest = last if high else self._lower + int((last - self._lower) * step)
            decided = yield from self._try(latest, _solver(a_try, left))
            if decided:
                step, high = _STEP, False
            elif high or latest == self._lower:
                a_try *= 2
                high = not high and latest < last
            else:
                step /= 2

    def _try(self, latest: int, solver: cp_model.CpSolver) -> Generator[Finding, None, bool]:
        """Look for a schedule that ends by `latest`; return whether that was decided."""
        built = model_within(self._whole, latest)
        if built is None:
            yield self._no_schedule(latest)
            return True
        model, tasks = built
        self._hint(model, tasks, latest)
        self._solver = solver
        if self._stopped.is_set():
            return False
        status = solver.solve(model)
        self._solver = None
        if status == cp_model.INFEASIBLE:
            yield self._no_schedule(latest)
            return True
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return False
        plan = chosen_plan(solver, tasks)
        makespan = _makespan(self._problem, plan)  # what is rounded, or not in the model, makes it longer
        shorter = self._whole.most_units(makespan) < self._upper
        if shorter:
            self._upper, self._best = self._whole.most_units(makespan), plan
        self._possible = min(latest, self._upper)
        if shorter:
            yield Finding(self._bound, plan)
        return True

    def _no_schedule(self, latest: int) -> Finding:
        self._lower = latest + 1
        self._bound = max(self._bound, self._whole.seconds(self._lower))
        return Finding(self._bound, None)

    def _hint(self, model: cp_model.CpModel, tasks: list[TaskVariables], latest: int) -> None:
        """Propose the best plan, with tasks that are alike in the order that the model prescribes."""
        starts, _ = spans(self._problem, self._best)
        places = [
            (min(int(start * self._whole.units_a_second), latest), int(count))
            for start, count in zip(starts, self._best.counts.tolist(), strict=True)
        ]
        for group in self._whole.alike():
            for task, place in zip(group, sorted(places[task] for task in group), strict=True):
                add_hint(model, tasks[task], place)


def _solver(a_try: float, left: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = a_try
    solver.parameters.max_time_in_seconds = left
    solver.parameters.max_memory_in_mb = _MEMORY
    # Compared on queues of 30 tasks: without a linear relaxation proofs took a half to a quarter of the time.
    solver.parameters.linearization_level = 0
    solver.parameters.use_overload_checker_in_cumulative = True
    solver.parameters.use_timetable_edge_finding_in_cumulative = True
    return solver


def _makespan(problem: Problem, plan: Plan) -> float:
    return max(spans(problem, plan)[1])
