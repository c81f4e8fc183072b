"""Independent tasks on unlike machines: drawn matrices, the twelve of Braun et al., and HiGHS beside them."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.scheduling.etc_matrices import BEST_KNOWN, TUNED_ON, matrix
from benchmarks.scheduling.peers.highs import highs
from benchmarks.scheduling.queues import BUDGETS, MAKESPAN, SEEDS, planned
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.formats.etc_file import parse_etc
from cosched.scheduling.formats.input_file import read_file
from cosched.scheduling.policies import POLICIES, PolicyName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.figures import Figures
    from cosched.scheduling.problem import Problem

__all__ = ["braun", "drawn", "matrices", "mixed_integer_program"]

_TASKS, _MACHINES = 512, 16
_LONG = 10.0  # seconds


def drawn(figures: Figures) -> None:
    """Print the geometric mean of makespan ÷ bound of the linear program, over drawn matrices."""
    problems = [matrix(_TASKS, _MACHINES, seed) for seed in SEEDS]
    figures.section(
        "drawn matrices",
        f"{_TASKS} independent tasks on {_MACHINES} machines, {len(problems)} drawn matrices".ljust(60) + "÷ LP bound",
    )
    for name, policy, budget in _rows():
        made = [planned(figures, problem, policy, budget, MAKESPAN) for problem in problems]
        ratio = _geometric_mean([metrics.makespan / bound for metrics, bound in made])
        figures.row(name, f"{name:60} {ratio:10.4f}", over_bound=ratio)


def matrices(folder: Path) -> dict[str, Problem]:
    """Return the twelve matrices of Braun et al. by name; ends with a word about what is missing."""
    missing = [name for name in BEST_KNOWN if not (folder / name).is_file()]
    if missing:
        sys.exit(f"{folder}: no {', '.join(missing)}: --braun takes the folder of the twelve 512 x 16 matrices")
    return {name: read_file(folder / name, parse_etc) for name in BEST_KNOWN}


def braun(figures: Figures, folder: Path) -> None:
    """Print the geometric mean of makespan ÷ best known, of all twelve and of those that nothing was tuned on."""
    problems = matrices(folder)
    figures.section(
        "braun",
        f"{_TASKS} independent tasks on {_MACHINES} machines, the {len(problems)} matrices of Braun et al.".ljust(72)
        + f"÷ best known: all, {len(TUNED_ON)} tuned on, {len(problems) - len(TUNED_ON)} others, worst   ÷ LP bound",
    )
    for name, policy, budget in _rows():
        made = {each: planned(figures, problem, policy, budget, MAKESPAN) for each, problem in problems.items()}
        ratios = {each: metrics.makespan / BEST_KNOWN[each] for each, (metrics, _) in made.items()}
        means = [
            _geometric_mean([ratio for each, ratio in ratios.items() if each in kept])
            for kept in (ratios.keys(), TUNED_ON, ratios.keys() - TUNED_ON)
        ]
        over_bound = _geometric_mean([metrics.makespan / bound for metrics, bound in made.values()])
        worst = max(ratios.values())
        figures.row(
            name,
            f"{name:72}" + "".join(f"{mean:10.4f}" for mean in [*means, worst]) + f"{over_bound:12.4f}",
            all=means[0],
            tuned_on=means[1],
            others=means[2],
            worst=worst,
            over_bound=over_bound,
        )
    # By the longest search:
    for each, ratio in ratios.items():
        figures.row(each, f"  {each:70} {ratio:9.4f}", all=ratio)


def mixed_integer_program(figures: Figures) -> None:
    """Print makespan ÷ the bound of the linear program after 10 s of HiGHS on independent tasks."""
    if find_spec("highspy") is None:
        print("(highspy is not installed: `make peers`)")
        return
    problems = [matrix(_TASKS, _MACHINES, seed) for seed in SEEDS]
    # A process of its own: OR-Tools brings another HiGHS, and one process cannot load both.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        makespans = list(process.map(highs, problems, [_LONG] * len(problems)))
    ratios = [makespan / tight_bound(problem) for makespan, problem in zip(makespans, problems, strict=True)]
    ratio = _geometric_mean(ratios)
    title = f"HiGHS 10 s of wall-clock time, the {len(problems)} drawn matrices"
    figures.section("HiGHS", title.ljust(60) + "÷ LP bound")
    figures.row("HiGHS 10 s", f"{'HiGHS 10 s':60} {ratio:10.4f}", over_bound=ratio)


def _rows() -> Iterator[tuple[str, PolicyName, float]]:
    for policy in sorted(POLICIES):
        if POLICIES[policy].one_host and not POLICIES[policy].compiled:
            yield str(policy), policy, 0.0
    for budget in (*BUDGETS, _LONG):
        yield f"dual-price {budget * 1000:.0f} ms", PolicyName.DUAL_PRICE, budget


def _geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
