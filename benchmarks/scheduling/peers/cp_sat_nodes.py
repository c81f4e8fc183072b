"""The peer for shared nodes: OR-Tools' CP-SAT, a cumulative constraint for each node and resource.

Loading this module loads OR-Tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat import solved
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.packed_tasks import packed_plans

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["cp_sat_nodes"]


def cp_sat_nodes(problem: Problem, seconds: float) -> float:
    """Return the makespan of the best schedule after so many seconds of two cores; infinite if none was found.

    They are processor time, whoever else uses the cores. Of our heuristics' plans it is told a horizon alone, twice the
    shortest one's makespan.

    Args:
        problem: whole run times on identical hosts, all there at the origin; no releases, no dependencies.
        seconds: budget.
    """
    packing = problem.packing
    assert packing is not None, "nodes are shared"
    horizon = int(2 * min(max(spans(problem, each)[1]) for each in packed_plans(problem, packing)))
    model, nodes = cp_model.CpModel(), len(problem.hosts)
    makespan = model.new_int_var(0, horizon, "makespan")
    runs: list[list[tuple[cp_model.IntervalVar, int]]] = [[] for _ in range(nodes)]
    for task, first in enumerate(packing.first[:-1].tolist()):
        start, chosen = model.new_int_var(0, horizon, f"start {task}"), []
        for shape in range(first, int(packing.first[task + 1])):
            size, taken = int(packing.seconds[shape, 0]), model.new_bool_var(f"{task} in {shape}")
            model.add(start + size <= makespan).only_enforce_if(taken)
            on = [model.new_bool_var(f"{task} in {shape} on {node}") for node in range(nodes)]
            model.add(sum(on) == int(packing.hosts[shape])).only_enforce_if(taken)
            model.add(sum(on) == 0).only_enforce_if(taken.negated())
            for node in range(nodes):
                run = model.new_optional_fixed_size_interval_var(start, size, on[node], f"run {task} {shape} {node}")
                runs[node].append((run, shape))
            chosen.append(taken)
        model.add_exactly_one(chosen)
    for node in range(nodes):
        intervals = [run for run, _ in runs[node]]
        for resource in np.flatnonzero(packing.demand.any(axis=0)).tolist():
            demands = [int(packing.demand[shape, resource]) for _, shape in runs[node]]
            model.add_cumulative(intervals, demands, int(packing.capacity[node, resource]))
    model.minimize(makespan)
    solver, status, _ = solved(model, seconds, edge_finding=False)
    return solver.objective_value if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else float("inf")
