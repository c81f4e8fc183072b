"""The peer: OR-Tools' CP-SAT, with an optional interval for each useful host count of each task.

Its times are whole numbers, and so are the kernels' run times. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from ortools.sat.python import cp_model

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["cp_sat"]

_WORKERS = 2  # the cores of the machine that the figures are for


def cp_sat(problem: Problem, seconds: float, *, on_time: bool = False, processor_time: bool = False) -> Plan | None:
    """Return the best plan after so many seconds on two cores, None if none was found.

    Args:
        problem: whole run times on identical hosts, all there at the origin; no releases, no dependencies.
        seconds: budget.
        on_time: maximise the number of deadlines met, instead of minimising the makespan.
        processor_time: stop after 2 · seconds of processor time instead, whoever else uses the cores.
    """
    model, starts, chosen = _model(problem, on_time=on_time)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = _WORKERS
    done = threading.Event()
    if processor_time:
        threading.Thread(target=_stop_after, args=(solver, _WORKERS * seconds, done), daemon=True).start()
    else:
        solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    done.set()
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    counts = [
        next(count for count, literal in by_count.items() if solver.boolean_value(literal)) for by_count in chosen
    ]
    order = np.argsort([solver.value(start) for start in starts], kind="stable")
    return Plan(order.astype(np.int64), np.array(counts, dtype=np.int64))


def _model(
    problem: Problem, *, on_time: bool
) -> tuple[cp_model.CpModel, list[cp_model.IntVar], list[dict[int, cp_model.IntVar]]]:
    """Return the model, each task's start and for each task the literal of each host count."""
    model = cp_model.CpModel()
    run_times = problem.seconds[problem.host_class[0]]
    horizon = int(np.where(np.isfinite(run_times), run_times, 0).max(axis=1).sum()) if on_time else _horizon(problem)
    makespan = model.new_int_var(0, horizon, "makespan")
    starts, chosen, intervals, demands, met = [], [], [], [], []
    for task, columns in enumerate(np.flatnonzero(row) for row in useful_counts(problem)):
        start = model.new_int_var(0, horizon, f"start {task}")
        literals = {int(column) + 1: model.new_bool_var(f"{task} on {column + 1}") for column in columns}
        model.add_exactly_one(literals.values())
        in_time = model.new_bool_var(f"{task} in time")
        for count, literal in literals.items():
            size = int(run_times[task, count - 1])
            intervals.append(model.new_optional_fixed_size_interval_var(start, size, literal, f"run {task} {count}"))
            demands.append(count)
            model.add(start + size <= makespan).only_enforce_if(literal)
            if math.isfinite(problem.deadline[task]):
                model.add(start + size <= math.floor(problem.deadline[task])).only_enforce_if(literal, in_time)
        starts.append(start)
        chosen.append(literals)
        met.append(in_time)
    model.add_cumulative(intervals, demands, len(problem.hosts))
    if on_time:
        model.maximize(sum(met))
    else:
        model.minimize(makespan)
    return model, starts, chosen


def _horizon(problem: Problem) -> int:
    """Return twice the makespan of a simple plan: with less room the peer takes longer to find a first plan."""
    return 2 * int(max(spans(problem, two_phase(problem))[1]))


def _stop_after(solver: cp_model.CpSolver, processor_seconds: float, done: threading.Event) -> None:
    began = time.process_time()
    while not done.wait(0.1):
        if time.process_time() - began >= processor_seconds:
            solver.stop_search()
            return
