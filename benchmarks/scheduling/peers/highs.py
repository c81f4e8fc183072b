"""The peer: HiGHS' solver of mixed integer programs on independent tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.mapping.etc_mapping import single_host_seconds

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["highs"]


def highs(problem: Problem, seconds: float) -> float:
    """Return the best makespan after so many seconds on two cores; infinite if none was found.

    The assignment program: x[task, machine] in {0, 1}, one machine a task, no machine's load above the makespan.
    """
    times = single_host_seconds(problem)
    machines = times.shape[1]
    scale = float(np.sort(times.min(axis=1)).sum()) / machines
    import highspy  # only where it is asked for

    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("time_limit", seconds)
    model.setOptionValue("threads", 2)
    chosen = [{machine: model.addBinary() for machine in np.flatnonzero(np.isfinite(row)).tolist()} for row in times]
    makespan = model.addVariable(lb=0.0)
    for machine_of in chosen:
        model.addConstr(model.qsum(machine_of.values()) == 1)
    for machine in range(machines):
        able = [(task, of[machine]) for task, of in enumerate(chosen) if machine in of]
        model.addConstr(model.qsum(times[task, machine] / scale * x for task, x in able) <= makespan)
    model.minimize(makespan)
    found = model.getInfo().primal_solution_status == 2  # a feasible solution
    return float(model.getObjectiveValue()) * scale if found else float("inf")
