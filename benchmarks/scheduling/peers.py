"""The search beside other people's solvers on the same problems; one that is not installed is left out and named."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kernels import queue
from benchmarks.scheduling.etc_matrices import matrix
from benchmarks.scheduling.highs import highs
from benchmarks.scheduling.stock_deap import stock_deap
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.policies import POLICIES, PolicyName, plan
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.problem import Problem

__all__ = ["against_references", "compute_references", "deadlines", "mixed_integer_program"]

_REFERENCES = Path(__file__).with_name("references.json")
_TASKS, _HOSTS = 30, 16
_MAKESPAN = Weights(1.0, 0.0, 0.0)
_SHORT = 10.0  # seconds that a solver gets in the run itself
_STRETCHES = {"tight": 0.5, "medium": 1.0, "loose": 2.0}
_SEEDS = range(1, 6)
_QUEUES = tuple(name for name, policy in POLICIES.items() if not (policy.searched or policy.one_host))


def compute_references(seeds: list[int]) -> None:
    """Run CP-SAT for 60 s of two cores on each queue and keep its best makespans beside this file."""
    from benchmarks.scheduling.cp_sat import cp_sat  # loads OR-Tools

    kept = json.loads(_REFERENCES.read_text())
    for seed in seeds:
        problem = queue(_TASKS, _HOSTS, seed)
        found = cp_sat(problem, 60.0, processor_time=True)
        if found is None:
            print(f"seed {seed}: nothing found")
            continue
        makespan = decode(problem, found).makespan
        print(f"seed {seed}: {makespan:.0f} s", flush=True)
        kept["makespan"][str(seed)] = min(makespan, kept["makespan"].get(str(seed), makespan))
        _REFERENCES.write_text(json.dumps(kept, indent=1) + "\n")


def against_references(clock: Callable[[], float]) -> None:
    """Print makespan ÷ CP-SAT's best after 60 s for every policy and peer."""
    best = {int(seed): value for seed, value in json.loads(_REFERENCES.read_text())["makespan"].items()}
    problems = {seed: queue(_TASKS, _HOSTS, seed) for seed in best}
    print(f"{_TASKS} tasks on {_HOSTS} hosts, {len(best)} queues".ljust(44) + "÷ CP-SAT's best in 60 s: mean, worst")

    def row(name: str, makespan: Callable[[int, Problem], float]) -> list[float]:
        ratios = [makespan(seed, problem) / best[seed] for seed, problem in problems.items()]
        print(f"{name:44} {np.mean(ratios):9.4f} {max(ratios):9.4f}", flush=True)
        return ratios

    def planned(policy: PolicyName, budget: float) -> Callable[[int, Problem], float]:
        return lambda _, problem: plan(problem, policy, Limit(budget, clock=clock), 1, _MAKESPAN)[0].makespan

    heuristics = np.min([row(str(policy), planned(policy, 1.0)) for policy in _QUEUES], axis=0)
    searched = [
        row(f"genetic {budget * 1000:.0f} ms", planned(PolicyName.GENETIC, budget)) for budget in (0.01, 0.1, 1.0)
    ]
    print(
        f"{'genetic 10 ms ÷ the best of those above it':44} {np.mean(searched[0] / heuristics):9.4f} "
        f"{max(searched[0] / heuristics):9.4f}",
        flush=True,
    )
    row("stock DEAP 1 s", lambda seed, problem: stock_deap(problem, 1.0, seed)[0])
    if _installed("pymoo"):
        from benchmarks.scheduling.pymoo_peer import pymoo_peer

        row("pymoo 1 s", lambda seed, problem: pymoo_peer(problem, 1.0, seed))
    if _installed("ortools"):
        row("CP-SAT 1 s", lambda _, problem: _cp_sat_makespan(problem, 1.0))
        row("CP-SAT 10 s", lambda _, problem: _cp_sat_makespan(problem, _SHORT))
    print()


def deadlines(clock: Callable[[], float]) -> None:
    """Print the share of tasks on time for every policy, under tight, medium and loose deadlines."""
    print(
        f"{_TASKS} tasks on {_HOSTS} hosts, seeds {list(_SEEDS)}: on time".ljust(52)
        + "".join(f"{name:>9}" for name in _STRETCHES)
    )

    def row(name: str, on_time: Callable[[Problem], int]) -> None:
        shares = []
        for stretch in _STRETCHES.values():
            problems = [queue(_TASKS, _HOSTS, seed, deadlines=True, stretch=stretch) for seed in _SEEDS]
            shares.append(np.mean([on_time(problem) for problem in problems]) / _TASKS)
        print(f"{name:52}" + "".join(f"{share:9.1%}" for share in shares), flush=True)

    def planned(policy: PolicyName, budget: float, weights: Weights) -> Callable[[Problem], int]:
        limit = Limit(budget, clock=clock)
        return lambda problem: measure(problem, plan(problem, policy, limit, 1, weights)[0]).on_time

    for policy in _QUEUES:
        row(str(policy), planned(policy, 1.0, Weights()))
    row("genetic 100 ms", planned(PolicyName.GENETIC, 0.1, Weights()))
    for budget in (0.01, 0.1, 1.0):
        name = f"genetic {budget * 1000:.0f} ms, deadlines first"
        row(name, planned(PolicyName.GENETIC, budget, ObjectiveName.DEADLINES_FIRST.weights))
    if _installed("ortools"):
        row("CP-SAT 10 s", _cp_sat_on_time)
    print()


def mixed_integer_program() -> None:
    """Print makespan ÷ the bound of the linear program after 10 s of HiGHS on independent tasks."""
    if not _installed("highspy"):
        return
    problems = [matrix(512, 16, seed) for seed in _SEEDS]
    # A process of its own: OR-Tools brings another HiGHS, and one process cannot load both.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        makespans = list(process.map(highs, problems, [_SHORT] * len(problems)))
    ratios = [makespan / tight_bound(problem) for makespan, problem in zip(makespans, problems, strict=True)]
    print(
        f"HiGHS 10 s, 512 independent tasks on 16 machines, {len(problems)} drawn matrices ÷ LP bound "
        f"{np.exp(np.mean(np.log(ratios))):.4f}\n"
    )


def _cp_sat_makespan(problem: Problem, seconds: float) -> float:
    from benchmarks.scheduling.cp_sat import cp_sat

    found = cp_sat(problem, seconds, processor_time=True)
    return decode(problem, found).makespan if found else float("inf")


def _cp_sat_on_time(problem: Problem) -> int:
    from benchmarks.scheduling.cp_sat import cp_sat

    found = cp_sat(problem, _SHORT, on_time=True, processor_time=True)
    return measure(problem, decode(problem, found)).on_time if found else 0


def _installed(package: str) -> bool:
    if find_spec(package) is not None:
        return True
    print(f"({package} is not installed: `make peers`)")
    return False
