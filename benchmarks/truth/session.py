"""A session runs all programs at all sizes, shuffled, so that slow and fast minutes of the machine meet all alike."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.truth.kernels import KERNELS
from cosched.errors import UserError
from cosched.measurement.programs.observing import observed
from cosched.measurement.programs.records import record_line
from tests.testbed.software import mpi_compiler
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from benchmarks.truth.kernels import Kernel
    from cosched.measurement.programs.records import ObservedRun

__all__ = ["WantedRun", "build", "drawn_launches", "missing_launches", "run_session"]

_SOURCES = Path(__file__).parents[2] / "examples" / "kernels" / "real"
_SHORTEST, _LONGEST = 0.03, 0.9  # seconds that sizes take about on one processor, evenly in logarithms
_LIMIT = 60.0  # seconds for a run
_TRIES = 3  # of a run that others disturb


@dataclass(frozen=True, slots=True)
class WantedRun:
    """A run that is wanted: a program, its size, and a number of processors."""

    kernel: Kernel
    size: dict[str, float]
    processors: int

    @property
    def key(self) -> tuple[object, ...]:
        """Return what tells its records from others."""
        return (self.kernel.name, self.processors, *self.size.values())


def build(folder: Path) -> None:
    """Build the programs; raises UserError where one cannot be built."""
    os.environ |= mpi_compiler.environment(crowded=True)
    os.environ |= {"CC": compiler(), "FC": compiler("fortran"), "OMPI_MCA_mpi_yield_when_idle": "0"}
    done = subprocess.run(
        ["sh", str(_SOURCES / "build"), str(folder)], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode or done.stderr:
        raise UserError(f"the programs cannot be built: {done.stderr.strip().splitlines()[-1][:300]}")


def run_session(folder: Path, samples: Path, launches: Sequence[WantedRun], minutes: float) -> int:
    """Run programs and add each record to a file at once, where the next session finds it.

    Args:
        folder: where `build` has put the programs.
        samples: the file.
        launches: in their order.
        minutes: after which it ends.

    Returns:
        how many were run.
    """
    end = time.monotonic() + 60 * minutes
    with samples.open("a", encoding="utf-8") as file:
        for number, launch in enumerate(launches):
            if time.monotonic() > end:
                return number
            file.write(record_line(_run(folder, launch)))
            file.flush()
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number + 1} of {len(launches)} runs")
    return len(launches)


def drawn_launches(seed: int, sizes: int, launches: int, names: Collection[str]) -> list[WantedRun]:
    """Return all runs in their shuffled order; the sizes of a program are the same whichever others are run.

    Args:
        seed: of sizes and order.
        sizes: how many of each program.
        launches: of each size on each number of processors.
        names: of the programs.
    """
    draw = random.Random(seed)
    found = [launch for launch in _launches(draw, sizes) for _ in range(launches)]
    draw.shuffle(found)
    return [launch for launch in found if launch.kernel.name in names]


def missing_launches(launches: Sequence[WantedRun], records: Iterable[ObservedRun]) -> list[WantedRun]:
    """Return the runs that records lack: none for each undisturbed record, nor where all were tried three times."""
    quiet: Counter[object] = Counter()
    tried: Counter[object] = Counter()
    for record in records:
        key = (record.application, record.processors, *record.parameters.values())
        tried[key] += 1
        quiet[key] += record.undisturbed
    wanted = Counter(launch.key for launch in launches)
    missing = []
    for launch in launches:
        if quiet[launch.key]:
            quiet[launch.key] -= 1
        elif tried[launch.key] < _TRIES * wanted[launch.key]:
            missing.append(launch)
    return missing


def _launches(draw: random.Random, sizes: int) -> Iterator[WantedRun]:
    for kernel in KERNELS:
        for number in range(sizes):
            share = (number + draw.random()) / sizes
            size = kernel.size(draw, math.exp(math.log(_SHORTEST) + share * math.log(_LONGEST / _SHORTEST)))
            yield from (WantedRun(kernel, size, count) for count in kernel.processors)


def _run(folder: Path, launch: WantedRun) -> ObservedRun:
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
