"""Plan quality and speed against peers: `python -m benchmarks.scheduling [--braun FOLDER]`, about ten minutes.

Queues of the seven kernels, the same for every policy. Quality is makespan ÷ lower bound, the mean over the seeds;
with deadlines also the share of tasks on time. The search's time includes its heuristics but no compiling.
Independent tasks on heterogeneous machines are drawn as by Braun et al.; their own files are read from FOLDER.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kernels import kept, mixed, queue
from benchmarks.scheduling import peers
from benchmarks.scheduling.etc_matrices import BEST_KNOWN, matrix
from benchmarks.scheduling.largest_queue import limit
from benchmarks.scheduling.stock_deap import stock_deap
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.formats.etc_file import parse_etc
from cosched.scheduling.formats.input_file import read_file
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.kernels import objective_kernel
from cosched.scheduling.mapping.dual_price import warm_up as warm_up_prices
from cosched.scheduling.objective.objective import Metrics, measure
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies import POLICIES, PolicyName, plan
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.genetic_search import GeneticSearch, warm_up
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

SIZES = ((30, 16), (200, 16))
SEEDS = range(1, 6)
MIXES = ((1.0, 1.6), (1.0, 1.6, 2.2, 3.0))  # how many times as long each class takes
BUDGETS = (0.01, 0.1, 1.0)
SEARCHES = (PolicyName.GENETIC, PolicyName.TITAN_CLASSIC)
MAKESPAN = Weights(1.0, 0.0, 0.0)
_clock = time.perf_counter


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling", description=__doc__)
    parser.add_argument("--braun", type=Path, metavar="FOLDER", help="with u_c_hihi.0 and the like")
    parser.add_argument("--processor-time", action="store_true", help="budgets in processor time: on a busy machine")
    parser.add_argument("--references", type=int, nargs="+", metavar="SEED", help="run CP-SAT for 60 s each, and end")
    options = parser.parse_args()
    if options.references:
        peers.compute_references(options.references)
        return
    global _clock
    _clock = time.thread_time if options.processor_time else time.perf_counter
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "deap"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {versions}; seeds {list(SEEDS)}")
    print(f"budgets in {'processor' if options.processor_time else 'wall-clock'} time\n")
    warm_up()
    warm_up_prices()
    for tasks, hosts in SIZES:
        _quality(tasks, hosts)
    _long_queue(1000, 64)
    _long_queue(5000, 256)
    _several_classes()
    _independent({f"drawn {seed}": matrix(512, 16, seed) for seed in SEEDS}, {})
    if options.braun:
        files = {path.name: read_file(path, parse_etc) for path in sorted(options.braun.glob("u_*"))}
        _independent(files, BEST_KNOWN)
    peers.against_references(_clock)
    peers.deadlines(_clock)
    peers.mixed_integer_program()
    limit(processor_time=options.processor_time)
    _generations()
    _decodes()


def _quality(tasks: int, hosts: int) -> None:
    print(f"{tasks} tasks on {hosts} hosts".ljust(28) + "÷ bound   with deadlines: ÷ bound  on time  mean lateness (s)")
    rows = [
        (str(policy), policy, 1.0) for policy in PolicyName if not (policy in SEARCHES or POLICIES[policy].one_host)
    ]
    rows += [("titan-classic 1000 ms", PolicyName.TITAN_CLASSIC, 1.0)]
    rows += [(f"genetic {budget * 1000:.0f} ms", PolicyName.GENETIC, budget) for budget in BUDGETS]
    for name, policy, budget in rows:
        plain = [_planned(queue(tasks, hosts, seed), policy, budget, MAKESPAN) for seed in SEEDS]
        print(f"{name:26} {_ratio(plain):9.4f} {_with_deadlines(tasks, hosts, policy, budget, Weights())}")
    for budget in BUDGETS:
        name = f"  deadlines first {budget * 1000:.0f} ms"
        print(
            f"{name:36} "
            f"{_with_deadlines(tasks, hosts, PolicyName.GENETIC, budget, ObjectiveName.DEADLINES_FIRST.weights)}"
        )
    ratios = []
    for seed in SEEDS:
        problem = queue(tasks, hosts, seed)
        ratios.append(stock_deap(problem, BUDGETS[-1], seed)[0] / lower_bound(problem))
    print(f"{'stock DEAP 1000 ms':26} {np.mean(ratios):9.4f}\n")


def _long_queue(tasks: int, hosts: int) -> None:
    print(f"{tasks} tasks on {hosts} hosts".ljust(28) + "÷ bound")
    rows = [("two-phase", PolicyName.TWO_PHASE, 0.0)]
    rows += [(f"genetic {budget * 1000:.0f} ms", PolicyName.GENETIC, budget) for budget in BUDGETS]
    for name, policy, budget in rows:
        planned = [_planned(queue(tasks, hosts, seed), policy, budget, MAKESPAN) for seed in SEEDS]
        print(f"{name:26} {_ratio(planned):9.4f}")
    took = []
    for seed in SEEDS:
        problem, began = queue(tasks, hosts, seed), _clock()
        GeneticSearch(problem, MAKESPAN)
        took.append(_clock() - began)
    print(f"all heuristics for the search to start from: {1e3 * float(np.median(took)):.0f} ms\n")


def _several_classes() -> None:
    print(
        "hosts of several classes".ljust(34) + "best heuristic  genetic 100 ms  ÷ bound without prices  generations/s"
    )
    for tasks, hosts in (*SIZES, (1000, 64)):
        for slowdowns in MIXES:
            problems = [mixed(tasks, hosts, seed, slowdowns) for seed in SEEDS]
            heuristic = _ratio([_planned(problem, PolicyName.HEURISTIC, 1.0, MAKESPAN) for problem in problems])
            planned = [_planned(problem, PolicyName.GENETIC, 0.1, MAKESPAN) for problem in problems]
            plain = np.mean(
                [
                    metrics.makespan / lower_bound(problem)
                    for (metrics, _), problem in zip(planned, problems, strict=True)
                ]
            )
            name = f"{tasks:5} tasks on {hosts} hosts, {len(slowdowns)} classes"
            rate = _rate(problems[0])
            print(f"{name:34} {heuristic:13.4f} {_ratio(planned):15.4f} {plain:23.4f} {rate:14.0f}")
    print()


def _with_deadlines(tasks: int, hosts: int, policy: PolicyName, budget: float, weights: Weights) -> str:
    due = [_planned(queue(tasks, hosts, seed, deadlines=True), policy, budget, weights) for seed in SEEDS]
    on_time = np.mean([metrics.on_time / metrics.with_deadline for metrics, _ in due])
    late = np.mean([metrics.lateness / metrics.with_deadline for metrics, _ in due])
    return f"{_ratio(due):25.4f} {on_time:8.1%} {late:18.2f}"


def _independent(problems: dict[str, Problem], best_known: dict[str, float]) -> None:
    """Print the geometric mean of makespan ÷ best known, else ÷ lower bound, over the problems."""
    sizes = {(len(problem.tasks), len(problem.hosts)) for problem in problems.values()}
    title = ", ".join(f"{tasks} independent tasks on {machines} machines" for tasks, machines in sizes)
    print(f"{title}, {len(problems)} matrices".ljust(60) + ("÷ best known" if best_known else "÷ LP bound"))
    rows = [
        (str(policy), policy, 0.0)
        for policy in sorted(POLICIES)
        if POLICIES[policy].one_host and not POLICIES[policy].compiled
    ]
    rows += [(f"dual-price {budget * 1000:.0f} ms", PolicyName.DUAL_PRICE, budget) for budget in (*BUDGETS, 10.0)]
    for name, policy, budget in rows:
        ratios = []
        for problem_name, problem in problems.items():
            metrics, bound = _planned(problem, policy, budget, MAKESPAN)
            ratios.append(metrics.makespan / best_known.get(problem_name, bound))
        print(f"{name:60} {np.exp(np.mean(np.log(ratios))):11.4f}")
    print()


def _planned(problem: Problem, policy: PolicyName, budget: float, weights: Weights) -> tuple[Metrics, float]:
    schedule, _ = plan(problem, policy, Limit(budget, clock=_clock), seed=1, weights=weights)
    faults = check_schedule(problem, schedule)
    if faults:
        sys.exit(f"{policy} made an impossible schedule: {faults[0]}")
    return measure(problem, schedule), tight_bound(problem)


def _ratio(planned: list[tuple[Metrics, float]]) -> float:
    return float(np.mean([metrics.makespan / bound for metrics, bound in planned]))


def _generations() -> None:
    print("generations/s, population 40      cosched   stock DEAP")
    for tasks, hosts in ((30, 16), (200, 16), (1000, 64)):
        problem = queue(tasks, hosts, 1)
        ours = _rate(problem)
        began = _clock()
        generations = stock_deap(problem, 1.0, 1)[1]
        stock = generations / (_clock() - began)
        print(f"{tasks:5} tasks on {hosts:3} hosts {ours:18.0f} {stock:12.0f}   {ours / stock:.0f} times")
    for apart in (False, True):
        for tasks, hosts in SIZES:
            ours, when = _rate(kept(tasks, hosts, 1, apart=apart)), "at times of their own" if apart else "together"
            print(f"{tasks:5} tasks on {hosts:3} hosts {ours:18.0f}   {hosts // 4} hosts kept for others, {when}")
    print()


def _rate(problem: Problem) -> float:
    """Return generations/s."""
    search = GeneticSearch(problem, MAKESPAN)
    began = _clock()
    while _clock() - began < 1.0:
        search.step(10)
    return search.generations / (_clock() - began)


def _decodes() -> None:
    print("decodes and objectives/s, fresh chromosomes, one core")
    for tasks, hosts in ((30, 16), (200, 64), (1000, 256)):
        problem = queue(tasks, hosts, 1)
        draw = np.random.default_rng(1)
        plans = [_random_plan(problem, draw) for _ in range(200)]
        orders, counts = np.array([plan.order for plan in plans]), np.array([plan.counts for plan in plans])
        tables = objective_kernel.tabulate(problem, MAKESPAN, lower_bound(problem))
        done, began = 0, _clock()
        while _clock() - began < 0.5:
            objective_kernel.evaluate_population(tables, orders, counts)
            done += len(plans)
        rate = done / (_clock() - began)
        print(f"{tasks:5} tasks on {hosts:3} hosts {rate:18.0f}   {1e9 / rate / tasks:.0f} ns a task")


def _random_plan(problem: Problem, draw: np.random.Generator) -> Plan:
    counts = [draw.choice(np.flatnonzero(row)) + 1 for row in useful_counts(problem)]
    return Plan(draw.permutation(len(problem.tasks)), np.array(counts, dtype=np.int64))


if __name__ == "__main__":
    main()
