"""Slurm's job completion file (jobcomp/filetxt): what became of jobs that the controller has forgotten."""

from __future__ import annotations

import mmap
import re
from datetime import datetime
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, JobState
from cosched_slurm.jobs import Record, meaning, words

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["completion"]

_FIELD = re.compile(r"(JobState|StartTime|EndTime|NodeCnt|ExitCode)=(\S*)")


def completion(file: Path, folder: Path) -> Record | None:
    """Return the job whose working directory is the attempt's folder; None where the file does not have it.

    Raises:
        ConnectorError: the file cannot be read.
    """
    try:
        line = _last_line_with(file, f" WorkDir={folder} ".encode())
    except OSError as error:
        raise ConnectorError(f"Slurm's completion file {file} cannot be read: {error.strerror}: correct the key "
                             "completions of [connector.slurm] or its rights", transient=True) from error  # fmt: skip
    return None if line is None else _record(folder.name, line)


def _last_line_with(file: Path, wanted: bytes) -> str | None:
    with file.open("rb") as handle:
        if not file.stat().st_size:
            return None
        with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
            place = content.rfind(wanted)
            end = content.find(b"\n", place)
            if place < 0 or end < 0:  # a line without an end is still being written
                return None
            return content[content.rfind(b"\n", 0, place) + 1 : end].decode(errors="replace")


def _record(attempt: str, line: str) -> Record | None:
    # A user's own text (the job's name) stands early in the line: what stands last counts.
    fields = dict(_FIELD.findall(line))
    state = meaning(words(fields.get("JobState", "")))
    count, job = fields.get("NodeCnt", ""), line.partition(" ")[0].removeprefix("JobId=")
    if not count.isdecimal() or not job.isdecimal():
        return None
    code, _, signal = fields.get("ExitCode", "").partition(":")
    exit_code = 128 + int(signal) if signal.isdecimal() and int(signal) else int(code) if code.isdecimal() else None
    ended_by_itself = state in (JobState.COMPLETED, JobState.FAILED)
    return Record(
        attempt,
        int(count),
        job,
        state,
        started=_time(fields.get("StartTime", "")),
        finished=_time(fields.get("EndTime", "")),
        exit_code=exit_code if ended_by_itself else None,
        reason="" if state is JobState.COMPLETED else fields["JobState"].lower(),
    )


def _time(text: str) -> float | None:
    """Return a local time of Slurm's as seconds since the epoch; None for "Unknown"."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
