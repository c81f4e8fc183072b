"""Formulas that `cosched model derive` finds, and how well one run with them foretells others.

    python -m benchmarks.derivation

For each program beside this file: how many blocks, how many of their counts are solved exactly, and in how many
seconds; how many of those formulas are right at sizes two to four times as large as any toy run; how far off the others
are there. Then the program is built as people build it (-O2) and run. Each run in turn is all that is known: its
processor time, divided by all counts there, times the counts at the other sizes, against their times (the least of
three runs). Beside: the nearest size's time as it is.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cosched.modelling.derivation import Derivation, Request, derive
from cosched.modelling.derivation.counting import Counter
from cosched.modelling.derivation.sizes import draw_sizes, parse_sizes
from tests.testbed.compiler import compiler, coverage_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = Path(__file__).parent
_UNSEEN = 6  # sizes
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class _Program:
    file: str
    toys: str
    larger: str  # sizes at which the formulas are held against counts
    timed: Sequence[Sequence[int]]  # arguments of runs of 1 to 500 ms

    @property
    def language(self) -> str:
        return "fortran" if self.file.endswith(".f90") else "python" if self.file.endswith(".py") else "c"


_PROGRAMS = (
    _Program(
        "heat.c",
        "nx=16..48 ny=16..48 steps=4..30 check=2..6",
        "nx=100..200 ny=100..200 steps=60..90 check=3..9",
        [(200, 100, 50, 10), (300, 300, 50, 5), (128, 500, 100, 10), (400, 400, 100, 20), (90, 900, 200, 10)],
    ),
    _Program(
        "sweep.c",
        "nx=5..20 ny=5..20 nz=6..30 kb=2..6 angles=2..5",
        "nx=40..60 ny=40..60 nz=50..90 kb=3..9 angles=2..8",
        [(20, 20, 20, 5, 3), (30, 30, 30, 10, 6), (40, 20, 60, 4, 6), (50, 50, 50, 10, 6), (24, 24, 90, 9, 12)],
    ),
    _Program(
        "fft.c",
        "n=4..64:*2 turns=1..6",
        "n=128,256 turns=5..9",
        [(64, 4), (128, 3), (128, 12), (256, 4), (512, 2)],
    ),
    _Program("matmul.c", "n=10..90", "n=150..320", [(96,), (150,), (256,), (330,), (480,)]),
    _Program("sort.c", "n=100..3000", "n=6000..12000", [(100000,), (200000,), (400000,), (900000,)]),
    _Program(
        "kmeans.py",
        "n=20..90 k=2..7 turns=2..5",
        "n=200..300 k=8..14 turns=6..10",
        [(5000, 8, 4), (4000, 5, 8), (3000, 12, 6), (9000, 6, 4), (20000, 4, 5)],
    ),
    _Program(
        "laplace.f90",
        "nx=8..40 ny=8..40 steps=3..20",
        "nx=90..160 ny=90..160 steps=30..60",
        [(200, 100, 60), (300, 300, 60), (128, 500, 100), (400, 400, 100), (90, 900, 200)],
    ),
    _Program("triangle.c", "n=8..40 m=8..40", "n=90..160 m=90..160", [(300, 40), (300, 200), (800, 50), (1000, 200)]),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.derivation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the toy sizes")
    seed = parser.parse_args().seed
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("| program | counts | exact | s | right when larger | others off there | off by one run | by the nearest |")
    print("|---|---|---|---|---|---|---|---|")
    offs: list[float] = []
    for program in _PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="cosched-derivation-") as folder:
            found = _derived(program, seed)
            right, off = _larger(program, found, Path(folder), seed)
            counted, nearest = _by_one_run(program, found, Path(folder))
        offs += counted
        exact = sum(each.formula.exact for each in found.blocks)
        print(
            f"| {program.file} | {len(found.blocks)} | {exact} | {found.seconds:.1f} | {right} of {exact} "
            f"| {off:.1%} | {median(counted):.0%} (up to {max(counted):.0%}) | {median(nearest):.0%} |",
            flush=True,
        )
    print(f"one run and the counts: median {median(offs):.0%} over {len(offs)} pairs of sizes")


def _build(program: _Program) -> str:
    threads = "-lgomp" if program.file == "triangle.c" else ""
    return (
        ""
        if program.language == "python"
        else f"{compiler(program.language)} {{flags}} {{sources}} -o {{program}} -lm {threads}"
    )


def _gcov(program: _Program) -> str:
    return "gcov" if program.language == "python" else coverage_reader(program.language)


def _derived(program: _Program, seed: int) -> Derivation:
    return derive(Request([_HERE / program.file], program.toys, build=_build(program), gcov=_gcov(program), seed=seed))


def _larger(program: _Program, found: Derivation, folder: Path, seed: int) -> tuple[int, float]:
    """Return how many exact formulas are right at larger sizes, and the worst error of the others that matter."""
    parameters = parse_sizes(program.larger)
    counter = Counter([_HERE / program.file], folder, gcov=_gcov(program))
    counter.build(_build(program))
    sizes = draw_sizes(parameters, _UNSEEN, seed)
    runs = [counter.count(counter.command("", parameters, size), 120, program.file) for size in sizes]
    right, worst = 0, 0.0
    for solved in found.blocks:
        counts = [run.get(solved.block.places[0], 0) for run in runs]
        values = [float(solved.formula.value(size)) for size in sizes]
        if solved.formula.exact:
            right += values == counts
        elif not solved.small:
            worst = max(
                worst, *(abs(value - count) / max(count, 1) for value, count in zip(values, counts, strict=True))
            )
    return right, worst


def _by_one_run(program: _Program, found: Derivation, folder: Path) -> tuple[list[float], list[float]]:
    """Return relative errors of each size's time by each other size's: with counts, and by the nearest one's time."""
    names = [each.name for each in found.parameters]
    sizes = [dict(zip(names, values, strict=True)) for values in program.timed]
    work = [sum(float(each.formula.value(size)) for each in found.blocks) for size in sizes]
    command = _optimised(program, folder)
    seconds = [min(_seconds([*command, *map(str, values)]) for _ in range(_REPEATS)) for values in program.timed]
    empty = min(_seconds([*command, *(["8"] * len(names))]) for _ in range(_REPEATS))
    net = [max(each - empty, 1e-6) for each in seconds]
    places = range(len(sizes))
    counted = [
        abs(net[one] / work[one] * work[other] / net[other] - 1) for one in places for other in places if one != other
    ]
    nearest = [
        abs(
            net[min((one for one in places if one != other), key=lambda one: abs(math.log(work[one] / work[other])))]
            / net[other]
            - 1
        )
        for other in places
    ]
    return counted, nearest


def _optimised(program: _Program, folder: Path) -> list[str]:
    source = str(_HERE / program.file)
    if program.language == "python":
        return [sys.executable, source]
    target = str(folder / "optimised")
    words = [*compiler(program.language).split(), "-O2", source, "-o", target, "-lm"]
    subprocess.run([*words, *(["-lgomp"] if program.file == "triangle.c" else [])], check=True)
    return [target]


def _seconds(command: Sequence[str]) -> float:
    """Return the processor time of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
