"""Tasks that share nodes of 64 cores: `python -m benchmarks.nodes`, a minute; beside CP-SAT with `--peer` ten.

Made-up queues: cores 1 to 64 of a node, run times 1 to 60 minutes evenly drawn; "wide": two in five on 2 or 4 nodes;
"vectors": also 0.5 to 4 GiB for each core (the node has 4) and one in seven with 1 to 4 of 4 GPUs; "moldable": 4, 8, 16
or 32 cores by Amdahl's law with a serial part of 1 to 20 %. All tasks wait at the origin. Processor time of one core.
"decodes": complete plans judged each second. "first": the best of the heuristics' plans. Makespans are divided by the
lower bound, and nothing else is looked for; every schedule is checked. CP-SAT (60 s of two cores, processor time) has a
cumulative constraint for each node and resource; beside it stands what the search has after 10 s. `--real condor|slurm`
is another benchmark, on a real pool: see `benchmarks.nodes_real`.
"""

from __future__ import annotations

import argparse
import time
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.kernels.objective import packing_kernel
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.packing import Packing
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.problem import Problem
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.genetic_search import GeneticSearch, warm_up
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from collections.abc import Callable

_CORES, _MEMORY, _GPUS = 64, 256 * 1024, 4
_WIDTHS = np.array([1, 2, 4, 8, 16, 32, 64])
_PLANS = 40
_MAKESPAN = ObjectiveName.MAKESPAN.weights


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nodes", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peer", action="store_true", help="CP-SAT, 60 s for each queue of 50 tasks")
    parser.add_argument(
        "--real", choices=("condor", "slurm"), help="compare three books of a real pool's nodes instead"
    )
    parser.add_argument("--tasks", type=int, default=100, help="with --real")
    parser.add_argument("--nodes", type=int, default=16, help="with --real")
    options = parser.parse_args()
    if options.real:
        from benchmarks.nodes_real import compare_books  # pools need the test bed

        compare_books(options.real, options.tasks, options.nodes)
        return
    warm_up()
    print("| queue | tasks × nodes | decodes/s | first ÷ bound | after 1 s | after 10 s | CP-SAT, 60 s |")
    print("|---|---|---|---|---|---|---|")
    for name, draw in _QUEUES.items():
        for tasks, nodes in ((1000, 64), (50, 4)):
            problems = [draw(np.random.default_rng(seed), tasks, nodes) for seed in range(options.seeds)]
            rows = [_measured(problem) for problem in problems]
            later = peer = "not run"
            if options.peer and tasks == 50:
                later = f"{fmean(_found(problem, 10.0) for problem in problems):.3f}"
                peer = f"{fmean(_peer(problem) for problem in problems):.3f}"
            rate, first, found = (fmean(column) for column in zip(*rows, strict=True))
            ratios = f"{first:.3f} | {found:.3f} | {later} | {peer}"
            print(f"| {name} | {tasks} × {nodes} | {rate:,.0f} | {ratios} |", flush=True)


def _measured(problem: Problem) -> tuple[float, float, float]:
    """Return decodes a second, and makespan ÷ bound at first and after a second."""
    search = GeneticSearch(problem, _MAKESPAN)
    assert problem.packing is not None, "nodes are shared"
    draw, tables = np.random.default_rng(1), packing_kernel.tabulate(problem, Weights(), 1.0)
    orders = np.array([draw.permutation(len(problem.tasks)) for _ in range(_PLANS)])
    shapes = np.tile(problem.packing.first[:-1], (_PLANS, 1))
    took = []
    for _ in range(7):
        began = time.thread_time()
        packing_kernel.evaluate_population(tables, orders, shapes)
        took.append(time.thread_time() - began)
    return _PLANS / min(took), search.figures().makespan / lower_bound(problem), _found(problem, 1.0)


def _found(problem: Problem, seconds: float) -> float:
    """Return makespan ÷ bound after so many seconds of processor time."""
    done = plan(problem, PolicyName.GENETIC, Limit(seconds, clock=time.thread_time), weights=_MAKESPAN)
    faults = check_schedule(problem, done.schedule)
    if faults:
        raise SystemExit(f"a schedule that cannot be: {faults[0]}")
    return measure(problem, done.schedule).makespan / lower_bound(problem)


def _queue(nodes: int, hosts: np.ndarray, demand: np.ndarray, seconds: np.ndarray, first: np.ndarray) -> Problem:
    """Return the problem of shapes: (S,) hosts, (S, R) demand, (S,) seconds, (m+1,) first of each task."""
    capacity = np.tile(np.array([_CORES, _MEMORY, _GPUS])[: demand.shape[1]], (nodes, 1))
    packing = Packing(
        ("cores", "memory", "gpus")[: demand.shape[1]],
        capacity.astype(np.int64),
        first.astype(np.int64),
        hosts.astype(np.int64),
        demand.astype(np.int64),
        np.ceil(seconds)[:, np.newaxis],
    )
    tasks = len(first) - 1
    return Problem(
        tuple(f"task-{number}" for number in range(tasks)),
        tuple(f"node{number:02}" for number in range(nodes)),
        ("node",),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes),
        packing.seconds_by_count(1),
        np.zeros(tasks),
        np.full(tasks, np.inf),
        packing=packing,
    )


def _cores(draw: np.random.Generator, tasks: int, nodes: int) -> Problem:
    demand = draw.choice(_WIDTHS, tasks)[:, np.newaxis]
    return _queue(nodes, np.ones(tasks), demand, draw.uniform(60, 3600, tasks), np.arange(tasks + 1))


def _wide(draw: np.random.Generator, tasks: int, nodes: int) -> Problem:
    demand, hosts = draw.choice(_WIDTHS, tasks)[:, np.newaxis], draw.choice([1, 1, 1, 2, 4], tasks)
    return _queue(nodes, hosts, demand, draw.uniform(60, 3600, tasks), np.arange(tasks + 1))


def _vectors(draw: np.random.Generator, tasks: int, nodes: int) -> Problem:
    cores = draw.choice(_WIDTHS[:6], tasks)
    memory = (cores * draw.uniform(512, 4096, tasks)).astype(np.int64)
    gpus = np.where(draw.random(tasks) < 1 / 7, draw.integers(1, _GPUS + 1, tasks), 0)
    demand = np.column_stack((cores, memory, gpus))
    return _queue(nodes, np.ones(tasks), demand, draw.uniform(60, 3600, tasks), np.arange(tasks + 1))


def _moldable(draw: np.random.Generator, tasks: int, nodes: int) -> Problem:
    cores = np.tile([4, 8, 16, 32], tasks)
    serial = np.repeat(draw.uniform(0.01, 0.2, tasks), 4)
    work = np.repeat(draw.uniform(600, 14400, tasks), 4)
    first = 4 * np.arange(tasks + 1)
    return _queue(nodes, np.ones(4 * tasks), cores[:, np.newaxis], work * (serial + (1 - serial) / cores), first)


_QUEUES: dict[str, Callable[[np.random.Generator, int, int], Problem]] = {
    "cores": _cores,
    "wide": _wide,
    "vectors": _vectors,
    "moldable": _moldable,
}


def _peer(problem: Problem) -> float:
    """Return CP-SAT's makespan ÷ bound after 60 s."""
    from benchmarks.scheduling.peers.cp_sat_nodes import cp_sat_nodes  # loads OR-Tools

    return cp_sat_nodes(problem, 60.0) / lower_bound(problem)


if __name__ == "__main__":
    main()
