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

_ELEMENT = re.compile(r" ArrayJobId=(\d+) ArrayTaskId=(\d+) ")


def completion(file: Path, attempt: str, folder: Path, index: int | None = None) -> Record | None:
    """Return the job of an attempt; None where the file does not have it.

    Args:
        file: the completion file.
        attempt: its UUID.
        folder: the job's working directory: the attempt's, or its array's.
        index: of the attempt's element in its array; None for a job of its own.

    Raises:
        ConnectorError: the file cannot be read.
    """
    try:
        line = _last_line_with(file, f" WorkDir={folder} ".encode(), index)
    except OSError as error:
        raise ConnectorError(
            f"Slurm's completion file {file} cannot be read: {error.strerror}: correct the key "
            "completions of [connector.slurm] or its rights",
            transient=True,
        ) from error
    return None if line is None else _record(attempt, line)


def _last_line_with(file: Path, wanted: bytes, index: int | None) -> str | None:
    with file.open("rb") as handle:
        if not file.stat().st_size:
            return None
        with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
            before = len(content)
            while (place := content.rfind(wanted, 0, before)) >= 0:
                end = content.find(b"\n", place)
                before = content.rfind(b"\n", 0, place) + 1
                line = content[before:end].decode(errors="replace")
                if end >= 0 and (
                    index is None or _element(line)[1] == str(index)
                ):  # a line without an end is still being written
                    return line
            return None


def _element(line: str) -> tuple[str, str]:
    """Return the number of a line's array and the index in it; what a user's own text says of these stands before."""
    found: list[tuple[str, str]] = _ELEMENT.findall(line)
    return found[-1] if found else ("", "")


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
        "_".join(_element(line)) if _ELEMENT.search(line) else job,
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
