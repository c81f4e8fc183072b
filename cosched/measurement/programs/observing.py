"""Observing: a program runs as it is, and a record says what it took and did.

Start at `observed`. A library that is preloaded watches its MPI calls; without MPI the run is timed as a whole.
"""

from __future__ import annotations

import hashlib
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.measurement.programs.calls import shim_source
from cosched.measurement.programs.observation import (
    Observation,
    RunLabels,
    file_digest,
    one_program,
    program_file,
    read_traces,
    trace_notes,
    watched_run,
)
from cosched.measurement.programs.records import ObservedRun
from cosched.measurement.programs.watching import SHIM_VARIABLE, TIMES_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.measurement.programs.traces import Trace

__all__ = ["observed", "shim_library", "task_library"]

_PRELOAD = "LD_PRELOAD"
_COMPILE_LIMIT = 60.0  # seconds
_VERSIONS = ("MPI", "MPICH", "OMPI", "I_MPI")  # macros of mpi.h whose names begin so tell its version
_FIRST_LOOK, _LAST_LOOK = 0.02, 5.0  # seconds between looks at its memory, ever more rarely: each takes its processor
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


def observed(
    command: Sequence[str],
    application: str,
    parameters: Mapping[str, float],
    hardware: str,
    limit: float,
    *,
    only_times: bool = False,
) -> Observation:
    """Run a command and watch it.

    Args:
        command: the program with its arguments, or with what starts it, as `mpirun`.
        application: its name; empty: that of its file.
        parameters: numbers that decide how long it runs.
        hardware: class of this machine; empty: not said.
        limit: seconds after which it is ended.
        only_times: note nothing of its calls, which makes a short program with many of them longer.

    Raises:
        UserError: it cannot be started, fails or takes too long, or may take no time at all.
    """
    if limit <= 0:
        raise UserError(f"--limit {limit:g}: give a time above 0")
    if shutil.which(command[0]) is None:
        if Path(command[0]).is_file():
            raise UserError(
                f"{command[0]} may not be executed: chmod +x it, or name the program that reads it before it"
            )
        raise UserError(f"{command[0]}: there is no such program: give its path, as `./program`")
    library = shim_library()
    with tempfile.TemporaryDirectory(prefix="cosched-observe-") as folder:
        environment = dict(os.environ)
        if library is not None:
            others = environment.get(_PRELOAD, "")
            environment |= {SHIM_VARIABLE: folder, _PRELOAD: f"{library}:{others}" if others else str(library)}
            environment |= {TIMES_VARIABLE: "1"} if only_times else {}
        before, started, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.time(), time.monotonic()
        delay, memory = _run(command, environment, limit)
        wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        traces = read_traces(Path(folder).iterdir())
    notes = _notes(traces, command, watched=library is not None)
    startup = max(0.0, wall - max((trace.wall for trace in traces), default=wall))
    labels = RunLabels(application, parameters, hardware, started, startup)
    program = program_file(command)
    if one_program(traces):
        hosts = len({trace.host for trace in traces})
        return Observation(watched_run(traces, program, labels, hosts), notes)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    record = ObservedRun(
        application or program.stem,
        file_digest(program),
        parameters,
        1,
        1,
        hardware,
        started,
        wall,
        (used,),
        delay,
        memory,
        shim=False,
        calls=0,
    )
    return Observation(record, notes)


def shim_library() -> Path | None:
    """Return the library that watches calls of MPI; make it if need be.

    It is for the MPI whose compiler comes first in the path.

    None where there is no such compiler.
    """
    if shutil.which("mpicc") is None:
        return None
    macros = _compiled(["mpicc", "-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"])
    if macros is None:
        return None
    version = sorted(line for line in macros.splitlines() if line.startswith(tuple(f"#define {v}" for v in _VERSIONS)))
    return _library("mpicc", shim_source(), version)


def task_library() -> tuple[Path | None, str]:
    """Return the library for programs of tasks, with a remark on what it does not watch.

    Without a compiler of MPI it times programs as a whole. None where there is no compiler at all.
    """
    library = shim_library()
    if library is not None:
        return library, ""
    return _library(
        "cc", shim_source(mpi=False), ()
    ), "there is no mpicc that works here: programs are timed as a whole"


def _library(compiler: str, source: str, version: Sequence[str]) -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "cosched"
    library = folder / f"shim-{hashlib.sha256(chr(0).join([source, *version]).encode()).hexdigest()[:16]}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as room:
        file = Path(room) / "shim.c"
        file.write_text(source, encoding="utf-8")
        # Not linked with MPI: it is preloaded into shells and launchers, too, which then need no MPI.
        steps = (
            [compiler, "-O2", "-fPIC", "-c", str(file), "-o", f"{room}/shim.o"],
            ["cc", "-shared", "-Wl,-z,lazy", "-o", f"{room}/shim.so", f"{room}/shim.o", "-ldl"],
        )
        if any(_compiled(step) is None for step in steps):
            return None
        Path(room, "shim.so").replace(library)
    return library


def _compiled(words: Sequence[str]) -> str | None:
    """Return what a compiler prints; None where it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_COMPILE_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _run(command: Sequence[str], environment: Mapping[str, str], limit: float) -> tuple[float, int]:
    """Run a command to its end.

    Return the seconds that its first process waited for a processor, and the bytes of memory that it took at most.
    """
    try:
        process = subprocess.Popen(command, env=environment, start_new_session=True)
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started ({error.strerror}): check its path and its rights") from error
    end, ended, memory, pause = time.monotonic() + limit, False, 0, _FIRST_LOOK
    handle = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        while not ended:
            left = end - time.monotonic()
            if left <= 0:
                raise UserError(f"{command[0]} was ended after {limit:g} s: give a smaller size, or a larger --limit")
            ended = bool(poll.poll(1000 * min(pause, left)))
            if not ended:
                memory, pause = max(memory, _memory(process.pid)), min(2 * pause, _LAST_LOOK)
        delay = _waited(process.pid)
    finally:
        os.close(handle)
        if not ended:
            _end(process)
    code = process.wait()
    if code:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        raise UserError(f"{command[0]} {how}: a run that fails teaches nothing; mend it and observe it again")
    return delay, memory


def _memory(pid: int) -> int:
    """Return the bytes that a process has taken at most; what wait tells counts the memory of the process before it."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program with all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_GRACE)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _waited(pid: int) -> float:
    """Return how long a process that has ended had waited for a processor, in seconds."""
    try:
        return 1e-9 * float(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0


def _notes(traces: Sequence[Trace], command: Sequence[str], *, watched: bool) -> tuple[str, ...]:
    if traces:
        return trace_notes(traces)
    if not watched:
        return ("there is no mpicc that works: programs of MPI, too, are timed as a whole",)
    return (
        f"{program_file(command).name} made no call of MPI that could be watched: it was timed as a whole, with its "
        "launcher if it has one (programs linked statically or of another MPI than mpicc's cannot be watched)",
    )
