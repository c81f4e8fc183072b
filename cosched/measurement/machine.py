"""This machine is timed by programs in C that are compiled here.

Start at `MachineBench`. Rounds go on until all values are known well, or time is up.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cosched.errors import SystemFault, UserError
from cosched.measurement.memory import working_sets
from cosched.measurement.messages import MESSAGE_SIZES
from cosched.measurement.operations import operation_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.measurement.samples import Samples

__all__ = [
    "NOISE_LAUNCHES",
    "NOISE_PHASES",
    "CompilerChoice",
    "MachineBench",
    "compiler_version",
    "found_mpi",
    "shipped_source",
]

_NARROW = 0.03  # of a 95 % interval; what is wider is measured longer
_PART = 0.95  # of the tests that must be as narrow
_SAMPLE = 200_000  # nanoseconds of processor time
_ROUNDS = 10  # of one run of a program
_LAUNCH_LIMIT = 300.0  # seconds
_MPI_LIMIT = 60.0  # seconds; two ranks with processors of their own take three
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NOISE_LAUNCHES, NOISE_PHASES = 5, ("1000", "100000")  # phases of so many nanoseconds
_OVERSUBSCRIBED = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


@dataclass(frozen=True, slots=True)
class CompilerChoice:
    """A compiler of C with its flags; costs hold for what is compiled so."""

    command: str = "cc"
    flags: str = "-O2"

    @property
    def words(self) -> list[str]:
        """Return the beginning of a command line.

        Raises:
            UserError: a quote is not closed.
        """
        try:
            return [*shlex.split(self.command), *shlex.split(self.flags)]
        except ValueError as error:
            raise UserError(f"--cc or --cflags cannot be read ({error}): write words as in a shell") from error


class MachineBench:
    """Compiles the programs in a temporary folder and runs them."""

    def __init__(self, compiler: CompilerChoice, seconds: float) -> None:
        """Set up.

        Args:
            compiler: compiles what is not MPI.
            seconds: that each part takes at most.
        """
        self._compiler = compiler
        self._seconds = seconds
        self._folder = tempfile.TemporaryDirectory(prefix="cosched-measure-")
        self._begun = (_busy_seconds(), _own_seconds(), time.monotonic())

    def __enter__(self) -> Self:
        """Return the bench, whose folder goes with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Delete the programs."""
        self._folder.cleanup()

    def operations(self, samples: Samples) -> None:
        """Time all opcodes: samples named "operation NAME", nanoseconds."""
        program = self._compiled("operations", operation_source(), "-lm")
        self._until_narrow(samples, "operation", lambda seed: [program, str(_ROUNDS), str(_SAMPLE), str(seed)])

    def memory(self, samples: Samples) -> None:
        """Time copies: samples named "memory BYTES", bytes a microsecond."""
        sizes = [str(size) for size in working_sets(_available_bytes())]
        program = self._compiled("memory", shipped_source("memory.c"))
        self._until_narrow(samples, "memory", lambda seed: [program, "2", str(_SAMPLE), str(seed), *sizes])

    def noise(self, samples: Samples) -> None:
        """Time equal phases on all processors at once: "noise deviation" and "noise slowest", parts of one."""
        program = self._compiled("noise", shipped_source("noise.c"))
        for _ in range(NOISE_LAUNCHES):
            for line in self._output([program, *NOISE_PHASES]):
                name, value = line.split()
                samples.add(f"noise {name}", float(value))

    def messages(self, samples: Samples, kind: str, way: str) -> None:
        """Time messages between two processes: samples named "KIND TEST BYTES", microseconds.

        Args:
            samples: where they go.
            kind: the group of HMCL that they are for.
            way: `mpi`, `local` (a socket within the host) or `tcp` (one over its loopback).

        Raises:
            SystemFault: MPI's launcher fails, or its ranks, which wait busily, found no free processors.
        """
        sizes = [str(size) for size in MESSAGE_SIZES]
        if way == "mpi":
            program = self._compiled("messages_mpi", shipped_source("messages.c"), "-DMPI", compiler=["mpicc"])
            launcher = ["mpirun", "-np", "2", program]
        else:
            launcher = [self._compiled("messages", shipped_source("messages.c"))]
        limit = _MPI_LIMIT if way == "mpi" else _LAUNCH_LIMIT
        self._until_narrow(samples, kind, lambda seed: [*launcher, str(_ROUNDS), str(seed), way, *sizes], limit)

    def compiled(self) -> dict[str, bytes]:
        """Return all programs that need no MPI, compiled, for hosts without a compiler."""
        sources = {name: shipped_source(f"{name}.c") for name in ("memory", "noise", "messages")}
        sources["operations"] = operation_source()
        return {name: Path(self._compiled(name, text, "-s", "-lm")).read_bytes() for name, text in sources.items()}

    def others(self) -> float:
        """Return the mean number of processors that others used since this bench was made."""
        busy, own, begun = self._begun
        passed = max(time.monotonic() - begun, 1e-9)
        return max(_busy_seconds() - busy - (_own_seconds() - own), 0.0) / passed

    def _compiled(self, name: str, source: str, *flags: str, compiler: Sequence[str] = ()) -> str:
        program = Path(self._folder.name) / name
        program.with_suffix(".c").write_text(source, encoding="utf-8")
        words = [*compiler, *shlex.split(self._compiler.flags)] if compiler else self._compiler.words
        try:
            done = subprocess.run(
                [*words, "-o", str(program), f"{program}.c", *flags],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LAUNCH_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(
                f"the C compiler {words[0]!r} cannot be run: install one (Debian: apt install gcc), or name another "
                "with --cc"
            ) from error
        if done.returncode:
            fault = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise UserError(f"{words[0]} does not compile the programs with {self._compiler.flags!r}: {fault.strip()}")
        return str(program)

    def _until_narrow(
        self, samples: Samples, group: str, command: Callable[[int], Sequence[str]], limit: float = _LAUNCH_LIMIT
    ) -> None:
        end = time.monotonic() + self._seconds
        seed = 0
        while True:
            seed += 1
            try:
                lines = self._output(command(seed), limit)
            except SystemFault:
                if seed == 1:
                    raise
                return  # what earlier launches told stands
            for line in lines:
                *words, value = line.split()
                samples.add(" ".join((group, *words)), float(value))
            names = [name for name in samples if name.startswith(f"{group} ")]
            if not names:
                raise SystemFault(f"the program that times {group} printed nothing: measure once more")
            narrow = sum(samples.width(name) < _NARROW for name in names)
            if time.monotonic() > end or (seed > 1 and narrow >= _PART * len(names)):
                return

    def _output(self, command: Sequence[str], limit: float = _LAUNCH_LIMIT) -> list[str]:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                cwd=self._folder.name,
                env={**os.environ, **_AS_ROOT, **_OVERSUBSCRIBED},
            )
        except OSError as error:
            raise SystemFault(f"{Path(command[0]).name} cannot be run here: {error}") from error
        except subprocess.TimeoutExpired as error:
            name = Path(command[0]).name
            raise SystemFault(f"{name} did not end within {limit:.0f} s: the processors are busy") from error
        if done.returncode:
            words = " ".join(done.stderr.split())[:300] or f"exit code {done.returncode}"
            raise SystemFault(f"{Path(command[0]).name} fails: {words}")
        return done.stdout.splitlines()


def compiler_version(compiler: CompilerChoice) -> str:
    """Return what a compiler says that it is, in a line without quotes."""
    words = [*shlex.split(compiler.command), "--version"]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    return re.sub(r'[^ -~]|["*]', "", done.stdout.split("\n", 1)[0])[:120].strip() or compiler.command


def found_mpi() -> str:
    """Return what `mpirun` says that it is; empty without it or its compiler."""
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        return ""
    done = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=60, check=False)
    return " ".join(done.stdout.split("\n", 1)[0].split()) or "MPI"


def shipped_source(name: str) -> str:
    """Return one of the programs in C."""
    return (files("cosched.measurement") / "native" / name).read_text(encoding="utf-8")


def _available_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _busy_seconds() -> float:
    """Return the processor time that all of the machine's programs have used."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, words)
    return (user + nice + system + sum(interrupts[:3])) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
