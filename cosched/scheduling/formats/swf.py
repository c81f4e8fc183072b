"""Read a trace in the Standard Workload Format.

The format is by Chapin et al. (JSSPP 1999); the Parallel Workloads Archive has traces in it.

A line a job, 18 numbers; -1 stands for what is not known. Comment lines begin with a semicolon; those of the header say
`; Name: value`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import read_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["RecordedJob", "WorkloadTrace", "parse_swf", "read_swf"]

_FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_FRACTIONS = frozenset((5, 6, 9))  # where archives write fractions: CPU time and memory
_MOST_BYTES = 1 << 30
_MOST_JOBS = 5_000_000
_LARGEST = 1e15
_HEADER = re.compile(r";\s*([A-Za-z]+):\s*(.*)")


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """A job as it was recorded. Times are seconds.

    Attributes:
        number: the trace's own.
        submitted: after the trace's start.
        seconds: run time, above 0.
        processors: how many it had, or asked for where that is not recorded; 1 or more.
        requested: the run time that its user asked for; None where not recorded.
        user: number of its user; -1 where not recorded.
        executable: number of its program; -1 where not recorded.
        requested_processors: how many its user asked for; None where not recorded.
    """

    number: int
    submitted: float
    seconds: float
    processors: int
    requested: float | None
    user: int = -1
    executable: int = -1
    requested_processors: int | None = None


@dataclass(frozen=True, slots=True)
class WorkloadTrace:
    """A trace.

    Attributes:
        records: records in order of submission.
        left_out: jobs whose run time or number of processors is not known or zero: they never ran.
        header: the fields in the comments at the top, by name.
    """

    records: tuple[RecordedJob, ...]
    left_out: int
    header: Mapping[str, str]

    @property
    def processors(self) -> int:
        """Of the machine: the header's MaxProcs or MaxNodes, else the widest job's."""
        for name in ("MaxProcs", "MaxNodes"):
            if self.header.get(name, "").isascii() and self.header.get(name, "").isdigit():
                return max(int(self.header[name]), 1)
        return max((record.processors for record in self.records), default=1)


def read_swf(path: Path) -> WorkloadTrace:
    """Read a trace; one whose name ends in .gz is unpacked.

    Raises:
        UserError: the file cannot be read, or a line is wrong; the message names both.
    """
    return read_file(path, parse_swf, _MOST_BYTES)


def parse_swf(text: str) -> WorkloadTrace:
    """Return the trace that a text holds.

    Raises:
        UserError: a line is wrong; the message has its number and the field.
    """
    records: list[RecordedJob] = []
    header: dict[str, str] = {}
    seen: set[int] = set()
    left_out, latest = 0, -math.inf
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(";"):
            found = _HEADER.fullmatch(stripped)
            if found is not None and not seen:
                header.setdefault(found[1], found[2].strip())
            continue
        fields = _fields(stripped, number)
        latest = _check_order(fields, latest, seen, number)
        record = _record(fields)
        if record is None:
            left_out += 1
        else:
            records.append(record)
    if not records:
        raise UserError("there is no job that ran in it: give another trace")
    return WorkloadTrace(tuple(records), left_out, header)


def _fields(line: str, number: int) -> list[float]:
    words = line.split()
    if len(words) != len(_FIELDS):
        raise UserError(f"line {number}: {len(words)} fields: a job has {len(_FIELDS)}")
    return [_field(word, place, number) for place, word in enumerate(words)]


def _field(word: str, place: int, number: int) -> float:
    kind = float if place in _FRACTIONS else int
    try:
        value = kind(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if not -1 <= value <= _LARGEST:
        what = "number" if place in _FRACTIONS else "whole number"
        shown = ascii(word) if len(word) <= 40 else f"{word[:37]!a}…"
        raise UserError(
            f"line {number}, field {place + 1} ({_FIELDS[place]}): {shown}: give a {what} of 0 or more, -1 for unknown"
        )
    return float(value)


def _check_order(fields: list[float], latest: float, seen: set[int], number: int) -> float:
    job, submitted = int(fields[0]), fields[1]
    if job in seen:
        raise UserError(f"line {number}, field 1 (job number): {job} is there twice")
    seen.add(job)
    if len(seen) > _MOST_JOBS:
        raise UserError(f"line {number}: more than {_MOST_JOBS} jobs: cut the trace")
    if submitted < max(latest, 0):
        fault = "is before the line above: sort the trace by it" if submitted >= 0 else "is not known"
        raise UserError(f"line {number}, field 2 (submit time): {submitted:g} {fault}")
    return submitted


def _record(fields: list[float]) -> RecordedJob | None:
    allocated, wanted = int(fields[4]), int(fields[7])
    processors = allocated if allocated > 0 else wanted
    if fields[3] <= 0 or processors <= 0:
        return None
    requested = fields[8] if fields[8] > 0 else None
    return RecordedJob(
        number=int(fields[0]),
        submitted=fields[1],
        seconds=fields[3],
        processors=processors,
        requested=requested,
        user=int(fields[11]),
        executable=int(fields[13]),
        requested_processors=wanted if wanted > 0 else None,
    )
