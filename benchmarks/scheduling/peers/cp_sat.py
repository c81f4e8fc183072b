"""The peer: OR-Tools' CP-SAT on the models of `cp_sat_models`. Loading this module loads OR-Tools."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat_models import makespan_model, on_time_model
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.host_counts import useful_count_seconds
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from benchmarks.scheduling.peers.cp_sat_models import Model
    from cosched.scheduling.problem import Problem

__all__ = ["Answer", "Watch", "cp_sat", "solved"]

_WORKERS = 2  # the cores of the machine that the figures are for


class Answer(NamedTuple):
    """What the solver found and proved.

    Attributes:
        value: the makespan, or the number of deadlines met; of the decoded plan, not as the solver says.
        bound: no plan has a shorter makespan, or meets more deadlines.
        seconds: of two cores, until it had proved its plan or was stopped: processor time ÷ 2.
        plans: after how many such seconds each better plan was found, and its value.
    """

    value: int
    bound: int
    seconds: float
    plans: tuple[tuple[float, int], ...]


class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # its types are not read
    """Notes when each better plan is found."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.process_time()
        self._ended: float | None = None
        self.plans: list[tuple[float, int]] = []

    def on_solution_callback(self) -> None:
        """Note it."""
        self.plans.append((round(self.seconds, 2), round(self.objective_value)))

    @property
    def seconds(self) -> float:
        """Of two cores, from the beginning until now or the end."""
        return ((self._ended or time.process_time()) - self._began) / _WORKERS

    def ended(self) -> None:
        """Take no more time."""
        self._ended = time.process_time()


def cp_sat(problem: Problem, seconds: float, *, on_time: bool = False) -> Answer | None:
    """Return what is found in so many seconds of two cores; None if no plan is.

    They are processor time, whoever else uses the cores, without that of making the model.

    Args:
        problem: whole run times on identical hosts, all there at the origin; no releases, no dependencies.
        seconds: budget.
        on_time: maximise the number of deadlines met, instead of minimising the makespan.
    """
    built = on_time_model(problem) if on_time else makespan_model(problem)
    solver, status, watch = solved(built.model, seconds)
    took = round(watch.seconds, 1)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    schedule, plans = decode(problem, _plan(problem, built, solver)), tuple(watch.plans)
    if on_time:
        return Answer(measure(problem, schedule).on_time, math.floor(solver.best_objective_bound + 1e-6), took, plans)
    return Answer(round(schedule.makespan), math.ceil(solver.best_objective_bound - 1e-6), took, plans)


def solved(
    model: cp_model.CpModel, seconds: float, *, edge_finding: bool = True
) -> tuple[cp_model.CpSolver, cp_model.CpSolverStatus, Watch]:
    """Return the solver as it has proved its solution or was stopped after so many seconds of two cores.

    Args:
        model: what to solve.
        seconds: budget.
        edge_finding: two more rules for cumulative constraints. Compared on the queues 1, 14, 19 and 20, a few times
            each, no proof came later with them; on shared nodes, where nothing is proved, plans are worse.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = _WORKERS
    solver.parameters.use_overload_checker_in_cumulative = edge_finding
    solver.parameters.use_timetable_edge_finding_in_cumulative = edge_finding
    watch, done = Watch(), threading.Event()
    threading.Thread(target=_stop_after, args=(solver, watch, seconds, done), daemon=True).start()
    status = solver.solve(model, watch)
    watch.ended()
    done.set()
    return solver, status, watch


def _plan(problem: Problem, built: Model, solver: cp_model.CpSolver) -> Plan:
    """Return the solver's plan; behind it the tasks that are left out, each as cheap as it can be."""
    seconds = useful_count_seconds(problem)
    counts = (seconds * np.arange(1, seconds.shape[1] + 1)).argmin(axis=1) + 1
    starts = np.full(len(counts), np.inf)
    for task, (start, by_count) in enumerate(zip(built.starts, built.counts, strict=True)):
        for count, taken in by_count.items():
            if solver.boolean_value(taken):
                starts[task], counts[task] = solver.value(start), count
    return Plan(np.argsort(starts, kind="stable").astype(np.int64), counts.astype(np.int64))


def _stop_after(solver: cp_model.CpSolver, watch: Watch, seconds: float, done: threading.Event) -> None:
    while not done.wait(0.1):
        if watch.seconds >= seconds:
            solver.stop_search()
            return
