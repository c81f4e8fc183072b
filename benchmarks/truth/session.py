"""A session runs all programs at all sizes, shuffled, so that slow and fast minutes of the machine meet all alike."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.truth.kernels import KERNELS
from cosched.errors import UserError
from cosched.measurement.programs.observing import observed
from cosched.measurement.programs.records import record_line
from tests.testbed import mpi_compiler
from tests.testbed.compiler import compiler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.truth.kernels import Kernel
    from cosched.measurement.programs.records import ObservedRun

__all__ = ["build", "run_session"]

_SOURCES = Path(__file__).parents[2] / "examples" / "kernels" / "real"
_SHORTEST, _LONGEST = 0.03, 0.9  # seconds that sizes take about on one processor, evenly in logarithms
_LIMIT = 60.0  # seconds for a run


@dataclass(frozen=True, slots=True)
class _Launch:
    kernel: Kernel
    size: dict[str, float]
    processors: int


def build(folder: Path) -> None:
    """Build the programs; raises UserError where one cannot be built."""
    os.environ |= mpi_compiler.environment(crowded=True)
    os.environ |= {"CC": compiler(), "FC": compiler("fortran"), "OMPI_MCA_mpi_yield_when_idle": "0"}
    done = subprocess.run(
        ["sh", str(_SOURCES / "build"), str(folder)], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode or done.stderr:
        raise UserError(f"the programs cannot be built: {done.stderr.strip().splitlines()[-1][:300]}")


def run_session(
    folder: Path, samples: Path, seed: int, sizes: int, launches: int, names: list[str], minutes: float
) -> None:
    """Run all programs and add the records to a file, the oldest first.

    Args:
        folder: where `build` has put the programs.
        samples: the file.
        seed: of sizes and order.
        sizes: how many of each program.
        launches: of each size on each number of processors.
        names: of the programs.
        minutes: after which it ends, with what has run until then.
    """
    draw, end = random.Random(seed), time.monotonic() + 60 * minutes
    launched = [launch for launch in _launches(draw, sizes, names) for _ in range(launches)]
    draw.shuffle(launched)
    with samples.open("w", encoding="utf-8") as file:
        for number, launch in enumerate(launched, 1):
            if time.monotonic() > end:
                sys.stderr.write(f"\nended after {minutes:g} minutes with {number - 1} of {len(launched)} runs\n")
                return
            file.write(record_line(_run(folder, launch)))
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(launched)} runs")


def _launches(draw: random.Random, sizes: int, names: list[str]) -> Iterator[_Launch]:
    for kernel in KERNELS:
        if kernel.name not in names:
            continue
        for number in range(sizes):
            share = (number + draw.random()) / sizes
            size = kernel.size(draw, math.exp(math.log(_SHORTEST) + share * math.log(_LONGEST / _SHORTEST)))
            yield from (_Launch(kernel, size, count) for count in kernel.processors)


def _run(folder: Path, launch: _Launch) -> ObservedRun:
    kernel, count = launch.kernel, launch.processors
    file = folder / kernel.name
    program = [sys.executable, f"{file}.py"] if kernel.name == "kmeans" else [str(file)]
    words = [*program, *kernel.command(launch.size)]
    if kernel.starts == "mpirun":
        words = ["mpirun", "--bind-to", "core", "-n", str(count), *words]
    os.environ["OMP_NUM_THREADS"] = str(count)
    quiet = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1)
    os.dup2(quiet, 1)  # the program's result; it would have failed if it were wrong
    try:
        record = observed(words, kernel.name, launch.size, "here", _LIMIT).record
    finally:
        os.dup2(kept, 1)
        os.close(quiet)
        os.close(kept)
    return replace(record, processors=count)
