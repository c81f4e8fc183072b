"""The search beside other people's solvers on the same queues; one that is not installed is left out and named.

Makespans are divided by those of the best plans known, which CP-SAT has proved to be optimal for most queues
(`references.json`), and by the best bounds that it has proved: the truth lies between. What CP-SAT had found after 1
and 10 s is read there, too: it has worked on each queue once.
"""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.kernels import mixed
from benchmarks.scheduling import references
from benchmarks.scheduling.peers.stock_deap import stock_deap
from benchmarks.scheduling.queues import BUDGETS, MAKESPAN, MIXES, SEEDS, planned
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.policies import POLICIES, PolicyName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.figures import Figures
    from cosched.scheduling.problem import Problem

__all__ = ["against_references", "classes", "deadlines", "judged_anew"]

_SOLVER_BUDGETS = (1, 10)  # seconds
_LONG = 60.0  # seconds of two cores, where a solver has several classes
_QUEUES = tuple(
    name for name, policy in POLICIES.items() if not (policy.searched or policy.one_host or policy.reshapes)
)
_SEEDS = {"tuned on": references.TUNED_ON, "held out": references.HELD_OUT}
_DEADLINE_SEEDS = {"tuned on": references.DEADLINES_TUNED_ON, "held out": references.HELD_OUT}
_SIZE = f"{references.TASKS} tasks on {references.HOSTS} hosts"


def against_references(figures: Figures) -> None:
    """Print makespan ÷ best known for every policy and peer, on queues of before and on ones held out."""
    for name, seeds in _SEEDS.items():
        _against_references(figures, name, seeds)


def _against_references(figures: Figures, name: str, seeds: range) -> None:
    known = {seed: each for seed, each in references.known("makespan").items() if seed in seeds}
    if not known:
        print(f"(nothing is known of the seeds {seeds[0]} to {seeds[-1]}: --references)")
        return
    problems = {seed: references.makespan_queue(seed) for seed in known}
    figures.section(f"makespan, {name}", _heading(known))

    def row(name: str, makespan: Callable[[int, Problem], float]) -> NDArray[np.float64]:
        makespans = [makespan(seed, problem) for seed, problem in problems.items()]
        line, values = _judged(name, makespans, known)
        figures.row(name, line, **values)
        return np.array(makespans)

    def searched(policy: PolicyName, budget: float) -> Callable[[int, Problem], float]:
        return lambda _, problem: planned(figures, problem, policy, budget, MAKESPAN)[0].makespan

    heuristics = np.min([row(str(policy), searched(policy, 1.0)) for policy in _QUEUES], axis=0)
    found = [row(f"genetic {budget * 1000:.0f} ms", searched(PolicyName.GENETIC, budget)) for budget in BUDGETS]
    beside = found[0] / heuristics
    line = "genetic 10 ms ÷ the best of those above it"
    figures.row(line, f"{line:70} {np.mean(beside):17.4f} {max(beside):7.4f}", mean=float(np.mean(beside)))

    def solved(seconds: float) -> Callable[[int, Problem], float]:
        return lambda seed, _: known[seed].found_within(seconds) or inf

    for seconds in _SOLVER_BUDGETS:
        row(f"CP-SAT {seconds} s of two cores", solved(seconds))
    for title, makespan in _peers(figures):
        row(title, makespan)


def judged_anew(sections: dict[str, Any], known: Mapping[int, references.Reference]) -> dict[str, Any]:
    """Return kept sections with the makespans that they hold judged by references that have become better since.

    Args:
        sections: of the part that `against_references` measures.
        known: of the queues of all of them.
    """
    changed = {}
    for name, section in sections.items():
        seeds = next(each for kept, each in _SEEDS.items() if name == f"makespan, {kept}")
        of_section = {seed: each for seed, each in known.items() if seed in seeds}
        rows = {}
        for row, kept in section["rows"].items():
            rows[row] = kept
            if "makespans" in kept:
                line, values = _judged(row, kept["makespans"], of_section)
                rows[row] = {"line": line, **values}
        changed[name] = {**section, "heading": _heading(of_section), "rows": rows}
    return changed


def _heading(known: Mapping[int, references.Reference]) -> str:
    proved = sum(each.proved for each in known.values())
    about = f"{_SIZE}, {len(known)} queues of seeds {min(known)} to {max(known)}, {proved} optima proved"
    return about.ljust(70) + "÷ best known: mean, worst  ÷ bound  optimal"


def _judged(
    name: str, makespans: Sequence[float], known: Mapping[int, references.Reference]
) -> tuple[str, dict[str, float | list[float] | None]]:
    """Return the line and the values of a row, of a makespan for each queue."""
    pairs = list(zip(makespans, known.values(), strict=True))
    ratios = [makespan / each.best for makespan, each in pairs]
    over_optimum = [makespan / each.best for makespan, each in pairs if each.proved]
    over_bound = float(np.mean([makespan / each.bound for makespan, each in pairs]))
    optimal = sum(each.proved and makespan == each.best for makespan, each in pairs)
    line = f"{name:70} {np.mean(ratios):17.4f} {max(ratios):7.4f} {over_bound:8.4f} {optimal:8}"
    return line, {
        "mean": float(np.mean(ratios)),
        "worst": max(ratios),
        "over_bound": over_bound,
        "over_optimum": float(np.mean(over_optimum)) if over_optimum else None,
        "worst_over_optimum": max(over_optimum, default=None),
        "optimal": optimal,
        "proved": len(over_optimum),
        "queues": len(known),
        "makespans": list(makespans),
    }


def _peers(figures: Figures) -> Iterator[tuple[str, Callable[[int, Problem], float]]]:
    yield "DEAP 1 s, as its examples", lambda seed, problem: stock_deap(problem, 1.0, seed, figures.clock)[0]
    yield (
        "DEAP 1 s, from two-phase",
        lambda seed, problem: stock_deap(problem, 1.0, seed, figures.clock, from_heuristic=True)[0],
    )
    if _installed("pymoo"):
        from benchmarks.scheduling.peers.pymoo_genetic import pymoo_genetic

        yield "pymoo 1 s", lambda seed, problem: pymoo_genetic(problem, 1.0, seed, figures.clock)
        yield (
            "pymoo 1 s, from two-phase",
            lambda seed, problem: pymoo_genetic(problem, 1.0, seed, figures.clock, from_heuristic=True),
        )


def deadlines(figures: Figures) -> None:
    """Print the share of tasks on time for every policy, under tight, medium and loose deadlines."""
    for name, within in _DEADLINE_SEEDS.items():
        _deadlines(figures, name, within)


def _deadlines(figures: Figures, name: str, within: range) -> None:
    known = {stretch: references.known(stretch) for stretch in references.STRETCHES}
    seeds = [seed for seed in within if all(seed in each for each in known.values())]
    if not seeds:
        print(f"(nothing is known of the deadlines of the seeds {within[0]} to {within[-1]}: --references)")
        return
    problems = {stretch: [references.deadline_queue(seed, stretch) for seed in seeds] for stretch in known}
    title = f"{_SIZE}, {len(seeds)} queues, seeds {seeds[0]} to {seeds[-1]}: on time"
    figures.section(f"deadlines, {name}", title.ljust(52) + "".join(f"{stretch:>9}" for stretch in problems))

    def row(name: str, on_time: Callable[[str], list[int]]) -> None:
        shares = {stretch: float(np.mean(on_time(stretch))) / references.TASKS for stretch in problems}
        figures.row(name, f"{name:52}" + "".join(f"{share:9.1%}" for share in shares.values()), **shares)

    def searched(policy: PolicyName, budget: float, weights: Weights) -> Callable[[str], list[int]]:
        return lambda stretch: [
            planned(figures, problem, policy, budget, weights)[0].on_time for problem in problems[stretch]
        ]

    for policy in _QUEUES:
        row(str(policy), searched(policy, 1.0, Weights()))
    row("genetic 100 ms", searched(PolicyName.GENETIC, 0.1, Weights()))
    for budget in BUDGETS:
        weights = ObjectiveName.DEADLINES_FIRST.weights
        row(f"genetic {budget * 1000:.0f} ms, deadlines first", searched(PolicyName.GENETIC, budget, weights))

    def solved(seconds: float) -> Callable[[str], list[int]]:
        return lambda stretch: [known[stretch][seed].found_within(seconds) or 0 for seed in seeds]

    for seconds in _SOLVER_BUDGETS:
        row(f"CP-SAT {seconds} s of two cores", solved(seconds))
    row("best known", lambda stretch: [known[stretch][seed].best for seed in seeds])
    row("no plan can have more (CP-SAT)", lambda stretch: [known[stretch][seed].bound for seed in seeds])


def classes(figures: Figures) -> None:
    """Print how plans on several classes stand to CP-SAT's after 60 s, and both to the better bound of the two."""
    if not _installed("ortools"):
        return
    from benchmarks.scheduling.peers.cp_sat_classes import cp_sat_classes

    figures.section(
        "several classes, CP-SAT",
        f"{_SIZE} of several classes, seeds {SEEDS[0]} to {SEEDS[-1]}".ljust(58)
        + "genetic ÷ CP-SAT: 100 ms, 10 s   ÷ bound: 100 ms, CP-SAT  its bound ÷ ours",
    )
    for slowdowns in MIXES:
        problems = [mixed(references.TASKS, references.HOSTS, seed, slowdowns) for seed in SEEDS]
        found = [cp_sat_classes(problem, _LONG) for problem in problems]
        early, late = (
            np.array([planned(figures, each, PolicyName.GENETIC, budget, MAKESPAN)[0].makespan for each in problems])
            for budget in (0.1, 10.0)
        )
        solver, proved = np.array(found).T
        ours = np.array([tight_bound(problem) for problem in problems])
        bound = np.maximum(proved, ours)
        values = [early / solver, late / solver, early / bound, solver / bound, proved / ours]
        means = [float(np.mean(each)) for each in values]
        name = f"{len(slowdowns)} classes"
        figures.row(
            name,
            f"{name:58}{means[0]:24.4f}{means[1]:8.4f}{means[2]:18.4f}{means[3]:8.4f}{means[4]:18.4f}",
            early_over_solver=means[0],
            late_over_solver=means[1],
            over_bound=means[2],
            solver_over_bound=means[3],
            proved_over_ours=means[4],
        )


def _installed(package: str) -> bool:
    if find_spec(package) is not None:
        return True
    print(f"({package} is not installed: `make peers`)")
    return False
