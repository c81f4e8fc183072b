"""The programs of examples/kernels/real: what they are given, how they are built, what they need to run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import SystemFault
from tests.testbed.software import mpi_compiler
from tests.testbed.software.compiler import compiler, coverage_reader
from tests.testbed.software.jobs_python import jobs_python

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

__all__ = ["PROGRAMS", "RealProgram", "built", "environment", "environment_line", "interpreter"]

_SOURCES = Path(__file__).resolve().parent.parent / "examples" / "kernels" / "real"
_BUILD_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class RealProgram:
    """A program with the sizes that are asked of it; its parameters are `n` and `steps`.

    Attributes:
        file: its source.
        words: its arguments, with the parameters in braces.
        sizes: three values of `n`, ascending.
        steps: two numbers of steps, ascending.
        toys: sizes at which its blocks are counted, as `cosched model derive --sizes` takes them; empty where how often
            they run depends on the data: its model is fitted to runs alone.
        parallel: whether it is a program of MPI; others run on one host.
        grain: sizes are multiples of it; 0: they are one of `sizes`.
    """

    file: str
    words: str
    sizes: tuple[int, int, int]
    steps: tuple[int, int]
    toys: str
    parallel: bool = True
    grain: int = 10

    @property
    def name(self) -> str:
        """The program's name."""
        return Path(self.file).stem

    @property
    def interpreted(self) -> bool:
        """Whether it is a program in Python."""
        return Path(self.file).suffix == ".py"

    def arguments(self, values: Mapping[str, int]) -> tuple[str, ...]:
        """Return its arguments for values of its parameters."""
        return tuple(self.words.format(**values).split())

    def command(self, folder: Path, python: str = sys.executable) -> tuple[str, ...]:
        """Return what starts it, without arguments, where it was built into a folder."""
        return (python, str(folder / self.file)) if self.interpreted else (str(folder / self.name),)

    def derivation(self, hosts: int) -> tuple[str, ...]:
        """Return the words of `cosched model derive` for it."""
        start, toys = "{program}", self.toys
        if self.parallel:
            start, toys = "mpirun -np {Nproc} {program}", f"Nproc=1,{hosts} {toys}"
        elif self.interpreted:
            start = f"{sys.executable} {{program}}"
        source = str(_SOURCES / self.file)
        found = ("model", "derive", source, "--sizes", toys, "--run", f"{start} {self.words}")
        if Path(self.file).suffix == ".f90":
            build = f"{compiler('fortran')} {{flags}} {{sources}} -o {{program}}"
            return (*found, "--build", build, "--gcov", coverage_reader("fortran"))
        return (*found, "--gcov", coverage_reader())

    def watched(self) -> list[dict[str, int]]:
        """Return the sizes at which it is watched: small ones and large ones, with few and with many steps."""
        (small, middle, large), (few, many) = self.sizes, self.steps
        pairs = ((small, many), (middle, few), (large, few), (large, many))
        return [{"n": size, "steps": steps} for size, steps in pairs]

    def first(self) -> list[dict[str, int]]:
        """Return sizes that do not take long."""
        (small, middle, large), (few, many) = self.sizes, self.steps
        return [{"n": size, "steps": steps} for size, steps in ((middle, few), (small, many), (large, few))]

    def scaled(self, factor: float) -> RealProgram:
        """Return the same with other numbers of steps."""
        least = max(1, round(self.steps[0] * factor))
        return replace(self, steps=(least, max(least + 1, round(self.steps[1] * factor))))

    def drawn(self, source: random.Random) -> dict[str, int]:
        """Return a size between the middle and the largest one, and a number of steps between the two."""
        low, high = self.sizes[1:]
        if self.grain:
            size = self.grain * source.randint(low // self.grain, high // self.grain)
        else:
            size = source.choice((low, high))
        return {"n": size, "steps": source.randint(*self.steps)}


_MPI = (  # source, arguments, sizes, steps, sizes at which it is counted
    RealProgram("heat.c", "{n} {n} {steps} 10", (600, 900, 1300), (200, 800), "n=16..60 steps=1..30"),
    RealProgram("sweep.c", "{n} {n} {n} {steps} 10", (50, 70, 90), (12, 44), "n=10..40 steps=1..8"),
    RealProgram("fft.c", "{n} {steps}", (256, 512, 1024), (3, 12), "n=8..128:*2 steps=1..8", grain=0),
    RealProgram("matmul.c", "{n} {steps}", (400, 600, 800), (3, 11), "n=8..64:4 steps=1..8"),
    RealProgram("sort.c", "{n} {steps}", (500_000, 1_000_000, 2_000_000), (1, 3), "", grain=1000),
)
_OTHERS = (
    RealProgram("nbody.c", "{n} {steps}", (400, 800, 1200), (40, 150), "n=16..60 steps=1..30"),
    RealProgram("cg.f90", "{n} {n} {steps}", (400, 700, 1000), (120, 440), "n=16..60 steps=1..30"),
    RealProgram("kmeans.py", "{n} 8 {steps}", (40_000, 80_000, 160_000), (4, 14), "n=100..400 steps=1..9"),
)
PROGRAMS = (*_MPI, *(replace(program, parallel=False) for program in _OTHERS))
"""Each run lasts from a quarter of a second to some seconds on one processor of 2026."""


def environment(connector: str) -> dict[str, str]:
    """Return what the programs need in their environment on a connector's hosts."""
    found = {
        **mpi_compiler.environment(),
        "PATH": f"{mpi_compiler.prefix()}/bin:/usr/local/bin:/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",  # a host has one processor
        # The processors are cosched's and the manager's, too: who waits for a message lets them have them.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if connector == "local":  # all hosts are this machine: Open MPI looks a second long for networks between hosts
        found["OMPI_MCA_btl"] = "self,sm"
    return found


def environment_line(variables: Mapping[str, str]) -> str:
    """Return the line of an entry in the catalogue that gives an application's jobs these variables."""
    return "environment = {{ {} }}".format(
        ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
    )


def built(folder: Path) -> tuple[list[RealProgram], list[str]]:
    """Build the programs into a folder; return those that are there, and a line for each thing that is missing.

    Raises:
        SystemFault: a compiler that is there fails.
        PackageError: no compiler can be had.
    """
    given = {**os.environ, **mpi_compiler.environment(), "CC": compiler(), "FC": compiler("fortran")}
    done = subprocess.run(
        [str(_SOURCES / "build"), str(folder)],
        env=given,
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemFault(f"the programs cannot be built: {done.stderr.strip()[-1000:]}")
    there = {Path(line).stem for line in done.stdout.split()}
    return [program for program in PROGRAMS if program.name in there], done.stderr.splitlines()


def interpreter(connector: str) -> tuple[str, dict[str, str]]:
    """Return a Python with the packages of this one for the jobs of a connector, and what it needs in its environment.

    Root's HTCondor pool runs jobs as a user of its own, who may not be let into the interpreter's folders.

    Raises:
        PackageError: jobs can run none.
    """
    return jobs_python() if connector == "condor" and os.geteuid() == 0 else (sys.executable, {})
