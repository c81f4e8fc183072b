"""Files that the programs of tasks left in their folders become records.

Start at `collected`. Each attempt at a task has a folder, named TASK.ATTEMPT, in which its processes leave a file as
they begin (`watching.py`) and others as they end (`native/shim.c.j2`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import UserError
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
from cosched.measurement.programs.records import LARGEST, ObservedRun
from cosched.measurement.programs.traces import read_process_end
from cosched.measurement.programs.watching import BEGUN, BEGUN_VARIABLE, STARTED_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cosched.measurement.programs.traces import ProcessEnd

__all__ = ["CollectedRun", "collected"]

_FOLDER = re.compile(r"([0-9A-Za-z_.-]{1,80})\.[0-9a-f-]{36}")
_MOST_BEGUN = 4 << 20  # bytes that a process leaves as it begins
_PARAMETER = "COSCHED_PARAMETER_"


@dataclass(frozen=True, slots=True)
class CollectedRun:
    """The result of one attempt at a task.

    Attributes:
        task: its identifier.
        folder: where it was.
        seen: its record; None where there is none.
        reason: why there is none.
        over: whether nothing more will come: the folder may go.
    """

    task: str
    folder: Path
    seen: Observation | None
    reason: str = ""
    over: bool = True

    @property
    def attempt(self) -> str:
        """UUID of the attempt at the task."""
        return self.folder.name.rpartition(".")[2]


def collected(
    folder: Path, application: str, parameters: Callable[[Sequence[str]], Mapping[str, float]], hardware: str
) -> list[CollectedRun]:
    """Return what tasks left in a folder, in the order of their names.

    Args:
        folder: that of all tasks.
        application: name of the program; empty: that of its file.
        parameters: returns numbers that decide how long a command runs, beside those that the tasks know.
        hardware: class of the hosts; empty: as the daemon knew it.

    Raises:
        UserError: it is no such folder.
    """
    try:
        found = sorted(each for each in folder.iterdir() if each.is_dir() and _FOLDER.fullmatch(each.name))
    except OSError as error:
        raise UserError(
            f"{folder} cannot be read ({error.strerror}): name the folder of `task submit --observe`"
        ) from error
    return [_collected(each, application, parameters, hardware) for each in found]


def _collected(
    folder: Path, application: str, parameters: Callable[[Sequence[str]], Mapping[str, float]], hardware: str
) -> CollectedRun:
    task = folder.name.rpartition(".")[0]
    files = sorted(file for file in folder.iterdir() if file.is_file())
    begun = [file for file in files if file.name.startswith(f"{BEGUN}.")]
    try:
        ends = [read_process_end(_text(file), file.name) for file in files if file.name.startswith("whole.")]
        traces = read_traces(file for file in files if file.name.startswith("rank."))
    except UserError as error:
        return CollectedRun(task, folder, None, str(error), over=False)
    failed = [end.code for end in ends if end.code]
    if failed:
        return CollectedRun(
            task, folder, None, f"its program ended with code {failed[0]}: a run that fails teaches nothing"
        )
    if not begun or len(ends) < len(begun):
        missing = f"{len(begun) - len(ends)} of {len(begun)} processes told nothing of their end: it"
        why = "runs still, was ended, or cannot be watched (linked statically, setuid)"
        return CollectedRun(task, folder, None, f"{missing} {why}", over=False)
    command, told = _begun(begun[0])
    numbers = {**_told_parameters(told), **parameters(command)}
    begun_at = _time(told, BEGUN_VARIABLE)
    startup = max(0.0, begun_at - _time(told, STARTED_VARIABLE, begun_at))
    startup += max(0.0, max(end.wall for end in ends) - max((trace.wall for trace in traces), default=0.0))
    labels = RunLabels(application, numbers, hardware or _told_class(told), begun_at, startup, by_task=True)
    program = program_file(command, folder.parent.absolute().parent)  # seen from the task's own folder
    notes = trace_notes(traces) if traces else ()
    if one_program(traces):
        record = watched_run(traces, program, labels, int(told.get("COSCHED_HOST_COUNT", "1")))
    else:
        record = _whole_run(ends, program, labels, len(_hosts(told)))
    if not labels.hardware:
        notes = (*notes, "nobody named one class of its hosts: --class does")
    return CollectedRun(task, folder, Observation(record, notes))


def _begun(file: Path) -> tuple[list[str], dict[str, str]]:
    """Return a process's command, and what cosched told it."""
    count, *words = _text(file).rstrip("\0").split("\0")
    length = int(count) if count.isdecimal() else 0
    told = dict(word.partition("=")[::2] for word in words[length:])
    return words[:length] or [""], told


def _text(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(_MOST_BEGUN)


def _hosts(told: Mapping[str, str]) -> Sequence[str]:
    return told.get("COSCHED_HOSTS", "").split(",")


def _time(told: Mapping[str, str], name: str, default: float = 0.0) -> float:
    """Return a time that a shell told, in seconds since the epoch."""
    try:
        return max(0.0, float(told[name]))
    except (KeyError, ValueError):
        return default


def _told_parameters(told: Mapping[str, str]) -> dict[str, float]:
    parameters = {}
    for name, value in told.items():
        if name.startswith(_PARAMETER):
            with suppress(ValueError):  # a text decides nothing that could be fitted
                number = float(value)
                if abs(number) <= LARGEST:  # nor do "inf", "nan" and long identifiers
                    parameters[name.removeprefix(_PARAMETER)] = number
    return parameters


def _told_class(told: Mapping[str, str]) -> str:
    classes = set(told.get("COSCHED_HOST_CLASSES", "").split(","))
    return classes.pop() if len(classes) == 1 else ""


def _whole_run(ends: Sequence[ProcessEnd], program: Path, labels: RunLabels, hosts: int) -> ObservedRun:
    return ObservedRun(
        labels.application or program.stem,
        file_digest(program),
        labels.parameters,
        hosts,
        len(ends),
        labels.hardware,
        labels.started,
        max(end.wall for end in ends),
        tuple(end.cpu for end in ends),
        sum(end.delay for end in ends),
        max(end.rss for end in ends),
        shim=False,
        calls=0,
        by_task=True,
    )
