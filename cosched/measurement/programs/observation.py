"""Traces of a run become its record, with notes on what they do not show.

Start at `watched_run`.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.measurement.programs.records import ObservedRun
from cosched.measurement.programs.traces import merged, read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.measurement.programs.traces import Trace

__all__ = [
    "Observation",
    "RunLabels",
    "file_digest",
    "one_program",
    "program_file",
    "read_traces",
    "trace_notes",
    "watched_run",
]

_MOST_TRACE = 256 << 20  # bytes of what a process wrote
_A_PART = 1 << 20
# What follows them is the program.
_STARTERS = (
    "python",
    "mpirun",
    "mpiexec",
    "srun",
    "bash",
    "sh",
    "env",
    "nice",
    "taskset",
)


@dataclass(frozen=True, slots=True)
class Observation:
    """A run that was watched.

    Attributes:
        record: what it took and did.
        notes: what could not be seen, in words.
    """

    record: ObservedRun
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunLabels:
    """Name, parameters and place of a run, which no trace shows.

    Attributes:
        application: name of the program; empty: that of its file.
        parameters: numbers that decide how long it runs.
        hardware: class of its hosts; empty: not said.
        started: seconds since the epoch.
        startup: seconds that launchers took beside what is watched.
        by_task: whether a resource manager started it.
    """

    application: str
    parameters: Mapping[str, float]
    hardware: str
    started: float
    startup: float = 0.0
    by_task: bool = False


def read_traces(files: Iterable[Path]) -> list[Trace]:
    """Return what the processes of a program wrote, in the order of their ranks.

    Raises:
        UserError: a file is something else.
    """
    found = [
        read_trace(file.read_text(encoding="utf-8", errors="replace"), file.name)
        for file in files
        if file.stat().st_size <= _MOST_TRACE
    ]
    return sorted(found, key=lambda trace: trace.rank)


def one_program(traces: Sequence[Trace]) -> bool:
    """Return whether the traces are of one program: each rank wrote once."""
    return len({trace.rank for trace in traces}) == len(traces) > 0


def watched_run(traces: Sequence[Trace], started: Path, labels: RunLabels, hosts: int) -> ObservedRun:
    """Return the record of one program of MPI.

    Args:
        traces: of its ranks, in their order.
        started: the file that was started: the program, or its script where an interpreter runs it.
        labels: what it was.
        hosts: how many it had.
    """
    program = Path(traces[0].program)
    if program.name.startswith("python"):
        program = started
    seen = merged(traces)
    return ObservedRun(
        labels.application or program.stem,
        file_digest(program),
        labels.parameters,
        hosts,
        traces[0].size,
        labels.hardware,
        labels.started,
        max(trace.wall for trace in traces),
        tuple(trace.cpu for trace in traces),
        sum(trace.delay for trace in traces),
        max(trace.rss for trace in traces),
        True,
        max(trace.calls for trace in traces),
        seen.blocks,
        seen.messages,
        seen.loops,
        labels.startup,
        labels.by_task,
    )


def trace_notes(traces: Sequence[Trace]) -> tuple[str, ...]:
    """Return what the traces of a program do not show."""
    notes = []
    if not one_program(traces):
        notes.append("several programs of MPI ran one after another: they were timed as a whole, with their launchers")
    elif len(traces) < traces[0].size:
        notes.append(f"{traces[0].size - len(traces)} of {traces[0].size} ranks wrote nothing, as on other hosts")
    if not all(trace.finalized for trace in traces):
        notes.append("not all ranks called MPI_Finalize: their times are until their ends")
    if any(trace.cut for trace in traces):
        notes.append("there were too many calls to keep all in their order: the record has their numbers and sizes")
    return tuple(notes)


def program_file(command: Sequence[str], folder: Path = Path()) -> Path:
    """Return the file of a program: a script's, where an interpreter runs it.

    Args:
        command: as it was started.
        folder: where, for names that do not begin with `/`.
    """
    first = Path(shutil.which(command[0]) or command[0])
    files = [folder / word for word in command[1:] if not word.startswith("-") and (folder / word).is_file()]
    started = [file for file in files if not file.name.startswith(_STARTERS)] or files  # by mpirun, say, a Python
    return started[0] if started and first.name.startswith(_STARTERS) else folder / first


def file_digest(program: Path) -> str:
    """Return the digest of a file; empty where it cannot be read."""
    found = hashlib.sha256()
    try:
        with program.open("rb") as file:
            while part := file.read(_A_PART):
                found.update(part)
    except OSError:
        return ""
    return f"sha256:{found.hexdigest()}"
