"""Formulas that `cosched model derive` finds, and how well one run with them foretells others.

    python -m benchmarks.derivation [--hardware FILE]

For each program beside this file: how many blocks, how many of their counts are solved exactly, and in how many
seconds; how many of those formulas are right at sizes two to four times as large as any toy run; how far off the others
are there. Then the program is built as people build it (-O2) and run at ten sizes, three times each: processor times.
"one run": its time divided by all counts there, times the counts at another size, against each run there (median).
"nearest size": its time as it is. "other sizes": costs learnt as `cosched model fit --derived` does, for each size from
the other nine (mean). "repeats": how far a run is off the median of the same size's others (mean).

With a resource model of this machine, as `cosched hardware measure` writes it, a second table says how many times as
long as they took the models foretell these runs that have no costs from runs: by operations (`derive --operations`),
and by 1 ns for each execution of a block.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation import evaluate, load, load_hardware
from cosched.language import default_library
from cosched.language.library import locate
from cosched.modelling.block_costs import BlockCosts, fit_costs
from cosched.modelling.derivation import Derivation, DerivationRequest, derive
from cosched.modelling.derivation.counting import Counter
from cosched.modelling.derivation.sizes import draw_sizes, parse_sizes
from cosched.modelling.points import TimedRun
from tests.testbed.software.compiler import compiler, coverage_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HERE = Path(__file__).parent
_UNSEEN = 6  # sizes
_REPEATS = 3
_TIMED = 10  # sizes


@dataclass(frozen=True, slots=True)
class _Program:
    file: str
    toys: str
    larger: str  # sizes at which the formulas are held against counts
    timed: str  # sizes of runs of 2 to 500 ms

    @property
    def language(self) -> str:
        return "fortran" if self.file.endswith(".f90") else "python" if self.file.endswith(".py") else "c"


_PROGRAMS = (
    _Program(
        "heat.c",
        "nx=16..48 ny=16..48 steps=4..30 check=2..6",
        "nx=100..200 ny=100..200 steps=60..90 check=3..9",
        "nx=100..500 ny=100..500 steps=50..150 check=4..30",
    ),
    _Program(
        "sweep.c",
        "nx=5..20 ny=5..20 nz=6..30 kb=2..6 angles=2..5",
        "nx=40..60 ny=40..60 nz=50..90 kb=3..9 angles=2..8",
        "nx=20..50 ny=20..50 nz=20..90 kb=4..12 angles=4..12",
    ),
    _Program("fft.c", "n=4..64:*2 turns=1..6", "n=128,256 turns=5..9", "n=64..512:*2 turns=2..12"),
    _Program("matmul.c", "n=10..90", "n=150..320", "n=150..450"),
    _Program("sort.c", "n=100..3000", "n=6000..12000", "n=100000..900000:10000"),
    _Program(
        "kmeans.py",
        "n=20..90 k=2..7 turns=2..5",
        "n=200..300 k=8..14 turns=6..10",
        "n=3000..12000 k=4..12 turns=4..8",
    ),
    _Program(
        "laplace.f90",
        "nx=8..40 ny=8..40 steps=3..20",
        "nx=90..160 ny=90..160 steps=30..60",
        "nx=100..500 ny=100..500 steps=50..150",
    ),
    _Program("triangle.c", "n=8..40 m=8..40", "n=90..160 m=90..160", "n=300..1000 m=40..200"),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.derivation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the toy sizes")
    parser.add_argument("--hardware", type=Path, help="this machine's resource model, for what operations foretell")
    options = parser.parse_args()
    seed = options.seed
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(
        "| program | counts | exact | s | right when larger | others off | one run | nearest size | other sizes ",
        end="",
    )
    print(f"| repeats |\n|{'---|' * 10}")
    offs: list[float] = []
    foretold: list[str] = []
    for program in _PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="cosched-derivation-") as folder:
            found = _derived(program, seed)
            right, off = _larger(program, found, Path(folder), seed)
            runs = _timed(program, found, Path(folder), seed)
            learnt = _learnt(found, runs, Path(folder))
            if options.hardware and program.language != "python":
                foretold.append(_by_operations(program, found, runs, options.hardware, Path(folder)))
        counted, nearest = _by_one_run(found, runs)
        offs += counted
        exact = sum(each.formula.exact for each in found.blocks)
        print(
            f"| {program.file} | {len(found.blocks)} | {exact} | {found.seconds:.1f} | {right} of {exact} "
            f"| {off:.0%} | {median(counted):.0%} | {median(nearest):.0%} "
            f"| {np.mean(learnt.off):.1%} ({learnt.law}) | {learnt.noise or 0:.1%} |",
            flush=True,
        )
    print(f"one run and the counts: median {median(offs):.0%} over {len(offs)} pairs of runs")
    if foretold:
        print("\n".join(["", "| program | by operations | by 1 ns a block |", "|---|---|---|", *foretold]))


def _build(program: _Program) -> str:
    threads = "-lgomp" if program.file == "triangle.c" else ""
    return (
        ""
        if program.language == "python"
        else f"{compiler(program.language)} {{flags}} {{sources}} -o {{program}} -lm {threads}"
    )


def _gcov(program: _Program) -> str:
    return "gcov" if program.language == "python" else coverage_reader(program.language)


def _derived(program: _Program, seed: int, *, operations: bool = False) -> Derivation:
    return derive(
        DerivationRequest(
            [_HERE / program.file],
            program.toys,
            build=_build(program),
            gcov=_gcov(program),
            seed=seed,
            operations=operations,
        )
    )


def _larger(program: _Program, found: Derivation, folder: Path, seed: int) -> tuple[int, float]:
    """Return how many exact formulas are right at larger sizes, and the worst error of the others that matter."""
    parameters = parse_sizes(program.larger)
    counter = Counter([_HERE / program.file], folder, gcov=_gcov(program))
    counter.build(_build(program))
    sizes = draw_sizes(parameters, _UNSEEN, seed)
    runs = [counter.count(counter.command("", parameters, size), 120, program.file) for size in sizes]
    right, worst = 0, 0.0
    for solved in found.blocks:
        counts = [run.counts.get(solved.block.places[0], 0) for run in runs]
        values = [float(solved.formula.value(size)) for size in sizes]
        if solved.formula.exact:
            right += values == counts
        elif not solved.small:
            worst = max(
                worst, *(abs(value - count) / max(count, 1) for value, count in zip(values, counts, strict=True))
            )
    return right, worst


def _timed(program: _Program, found: Derivation, folder: Path, seed: int) -> list[TimedRun]:
    """Return runs at sizes drawn at random, each size several times, all in random order."""
    command = _optimised(program, folder)
    names = [each.name for each in found.parameters]
    sizes = draw_sizes(parse_sizes(program.timed), _TIMED, seed)
    order = sizes * _REPEATS
    random.Random(seed).shuffle(order)
    return [
        TimedRun(dict(size), 1, _seconds([*command, *(str(size[name]) for name in names)]), hardware="here")
        for size in order
    ]


def _learnt(found: Derivation, runs: Sequence[TimedRun], folder: Path) -> BlockCosts:
    path = folder / "derived.psl"
    path.write_text(found.psl(), encoding="utf-8")
    hardware = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))
    return fit_costs(load(path), runs, hardware)


def _by_operations(program: _Program, found: Derivation, runs: Sequence[TimedRun], hardware: Path, folder: Path) -> str:
    """Return a row: foretold by measured times, median and range over the runs, of two models that no run taught."""
    cells = []
    for model in (_derived(program, 1, operations=True), found):
        path = folder / "untaught.psl"
        path.write_text(model.psl(), encoding="utf-8")
        application, machine = load(path), load_hardware(hardware)
        ratios = [evaluate(application, machine, 1, run.parameters).seconds / run.seconds for run in runs]
        cells.append(f"{median(ratios):.2g} ({min(ratios):.2g} to {max(ratios):.2g})")
    return f"| {program.file} | {' | '.join(cells)} |"


def _by_one_run(found: Derivation, runs: Sequence[TimedRun]) -> tuple[list[float], list[float]]:
    """Return relative errors of a size's time by one run: by its counts, and as it is by the nearest size's."""
    work = [sum(float(each.formula.value(_whole(run.parameters))) for each in found.blocks) for run in runs]
    pairs = [(one, other) for one in range(len(runs)) for other in range(len(runs)) if work[one] != work[other]]
    counted = [abs(runs[one].seconds / work[one] * work[other] / runs[other].seconds - 1) for one, other in pairs]
    nearest = []
    for other in range(len(runs)):
        one = min((one for one, to in pairs if to == other), key=lambda one: abs(math.log(work[one] / work[other])))
        nearest.append(abs(runs[one].seconds / runs[other].seconds - 1))
    return counted, nearest


def _whole(size: Mapping[str, float]) -> dict[str, int]:
    return {name: int(value) for name, value in size.items()}


def _optimised(program: _Program, folder: Path) -> list[str]:
    source = str(_HERE / program.file)
    if program.language == "python":
        return [sys.executable, source]
    target = str(folder / "optimised")
    words = [*compiler(program.language).split(), "-O2", source, "-o", target, "-lm"]
    # Compilers of Fortran write modules where they run: never into the caller's folder.
    subprocess.run([*words, *(["-lgomp"] if program.file == "triangle.c" else [])], check=True, cwd=folder)
    return [target]


def _seconds(command: Sequence[str]) -> float:
    """Return the processor time of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
