"""Records of jobs that the controller has forgotten, from sacct or the completion file.

`accounted_record` finds one among the rows of an `AccountingCache`, `completed_record` finds one in the file;
`numbered_record` finds one by its number.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, JobState
from cosched_slurm.jobs import JobRecord, job_state, node_names, state_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["SACCT_FIELDS", "AccountingCache", "accounted_record", "completed_record", "numbered_record"]

SACCT_FIELDS = ("JobID", "State", "ExitCode", "Start", "End", "NNodes", "NodeList", "WorkDir")
_CLOCKS_APART = 300  # seconds that the clocks of the spool and of Slurm may differ
_COMPLETION_FIELD = re.compile(r"(JobState|StartTime|EndTime|NodeCnt|ExitCode|SubmitTime)=(\S*)")
_SUBMITTED_APART = 5  # seconds between the plugin's note of a submission and Slurm's
_BLOCK = 1 << 22  # bytes of the completion file that are read at once; no line has as many
_ARRAY_ELEMENT = re.compile(r" ArrayJobId=(\d+) ArrayTaskId=(\d+) ")


def accounted_record(rows: Iterable[Sequence[str]], attempt: str, index: int | None = None) -> JobRecord | None:
    """Return the last job of an attempt; None where there is none.

    Args:
        rows: `SACCT_FIELDS` of the jobs in its folder or its array's, times in epoch seconds.
        attempt: its UUID.
        index: index of the attempt's element in its array; None for a job of its own.
    """
    found = None
    for fields in rows:
        if _is_element(fields[0], index):
            found = _sacct_record(attempt, fields) or found
    return found


def numbered_record(
    number: str, submitted: int, attempt: str, accounted: Iterable[str], file: Path | None
) -> JobRecord | None:
    """Return the job that had a number and was submitted at that epoch time; None where neither source has it.

    Args:
        number: the job's.
        submitted: numbers begin anew one day.
        attempt: UUID for the record.
        accounted: lines of sacct's, with `Submit` behind `SACCT_FIELDS`.
        file: the completion file, if there is one.

    Raises:
        ConnectorError: the file cannot be read.
    """
    for line in accounted:
        *fields, at = line.split("|")
        same = abs((_epoch_time(at) or 0.0) - submitted) <= _SUBMITTED_APART
        if same and len(fields) == len(SACCT_FIELDS) and fields[0] == number:
            return _sacct_record(attempt, fields)
    if file is None:
        return None
    line = _read_last(file, f"JobId={number} ".encode(), None) or ""
    at = dict(_COMPLETION_FIELD.findall(line)).get("SubmitTime", "")
    # In the night the clocks go back a local time may be either of two.
    when = [_local_time(at, fold) or 0.0 for fold in (0, 1)]
    same = line.startswith("JobId=") and any(abs(each - submitted) <= _SUBMITTED_APART for each in when)
    return _completion_record(attempt, line) if same else None


def _is_element(job: str, index: int | None) -> bool:
    number, _, element = job.partition("_")
    return number.isdecimal() and element == ("" if index is None else str(index))


def _sacct_record(attempt: str, fields: Sequence[str]) -> JobRecord | None:
    job, states, code, start, end, count, nodes, _ = fields
    state = job_state(state_words(states.partition(" ")[0]))  # "CANCELLED by 1000"
    if not count.isdecimal():
        return None
    over = state.final or state is JobState.EVICTED
    return JobRecord(
        attempt,
        max(int(count), 1),
        job,
        state,
        started=_epoch_time(start),
        finished=_epoch_time(end) if over else None,
        exit_code=_exit_code(code) if state in (JobState.COMPLETED, JobState.FAILED) else None,
        reason="" if state is JobState.COMPLETED else states.lower(),
        hosts=node_names(nodes) if "(" not in nodes and nodes != "None assigned" else (),
    )


def _exit_code(text: str) -> int | None:
    """Return the exit code of "code:signal"; None where the text is not that.

    Signal n counts as 128 + n.
    """
    code, _, signal = text.partition(":")
    if signal.isdecimal() and int(signal):
        return 128 + int(signal)
    return int(code) if code.isdecimal() else None


def _epoch_time(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


class AccountingCache:
    """Keeps the rows of Slurm's accounting, which change slowly, so that it is asked seldom.

    Args:
        ask: returns lines of `SACCT_FIELDS` separated by "|" for jobs of the last so many seconds; None without
            accounting.
        pause: seconds between two questions at least.
    """

    def __init__(self, ask: Callable[[int], list[str] | None], pause: float) -> None:
        self._ask = ask
        self._pause = pause
        self._rows: dict[str, list[list[str]]] = {}  # by working directory: very many attempts may be looked for
        self._since = float("inf")  # epoch seconds from which on the rows are whole
        self._asked = float("-inf")

    def rows(self, folder: Path, since: float) -> Sequence[Sequence[str]]:
        """Return a working directory's jobs since an epoch time, at most `pause` seconds old.

        Raises:
            ConnectorError: the accounting does not answer.
        """
        if since < self._since or time.monotonic() >= self._asked + self._pause:
            age = max(0.0, time.time() - since)
            self._rows = _rows_by_folder(self._ask(int(age) + _CLOCKS_APART) or [])
            self._since, self._asked = since, time.monotonic()
        return self._rows.get(str(folder), [])


def _rows_by_folder(lines: Iterable[str]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = defaultdict(list)
    for line in lines:
        fields = line.split("|", len(SACCT_FIELDS) - 1)
        if len(fields) == len(SACCT_FIELDS):
            found[fields[-1]].append(fields)
    return dict(found)


def completed_record(file: Path, attempt: str, folder: Path, index: int | None = None) -> JobRecord | None:
    """Return the record of an attempt in the job completion file, or None.

    The file is that of jobcomp/filetxt.

    Args:
        file: the completion file.
        attempt: its UUID.
        folder: the job's working directory: the attempt's, or its array's.
        index: index of the attempt's element in its array; None for a job of its own.

    Raises:
        ConnectorError: the file cannot be read.
    """
    line = _read_last(file, f" WorkDir={folder} ".encode(), index)
    return None if line is None else _completion_record(attempt, line)


def _read_last(file: Path, wanted: bytes, index: int | None) -> str | None:
    try:
        return _last_line_with(file, wanted, index)
    except OSError as error:
        raise ConnectorError(
            f"Slurm's completion file {file} cannot be read: {error.strerror}: correct the key "
            "completions of [connector.slurm] or its rights",
            transient=True,
        ) from error


def _last_line_with(file: Path, wanted: bytes, index: int | None) -> str | None:
    with file.open("rb") as handle:
        for lines in _blocks_from_the_end(handle.fileno()):
            before = len(lines)
            while (place := lines.rfind(wanted, 0, before)) >= 0:
                end = lines.find(b"\n", place)
                before = lines.rfind(b"\n", 0, place) + 1
                line = lines[before:end].decode(errors="replace")
                if end >= 0 and (
                    index is None or _array_element(line)[1] == str(index)
                ):  # a line without an end is still being written
                    return line
    return None


def _blocks_from_the_end(file: int) -> Iterator[bytes]:
    """Yield whole lines of a file, some at once, the last ones first.

    It is not mapped into memory: where somebody cuts it meanwhile, as logrotate's copytruncate does, the system would
    end the process that looks there.

    Raises:
        OSError: it cannot be read, or was cut meanwhile.
    """
    end, rest = os.fstat(file).st_size, b""
    while end:
        begin = max(end - _BLOCK, 0)
        block = os.pread(file, end - begin, begin)
        if len(block) < end - begin:
            raise OSError(errno.EAGAIN, "it was cut while it was read")
        whole = block.find(b"\n") + 1 if begin else 0  # where the first whole line begins
        yield block[whole:] + rest
        end, rest = begin, block[:whole]


def _array_element(line: str) -> tuple[str, str]:
    """Return a line's array number and index.

    A user's own text stands before them, so the last pair counts.
    """
    found: list[tuple[str, str]] = _ARRAY_ELEMENT.findall(line)
    return found[-1] if found else ("", "")


def _completion_record(attempt: str, line: str) -> JobRecord | None:
    # A user's own text (the job's name) stands early in the line: the last of two fields counts.
    fields = dict(_COMPLETION_FIELD.findall(line))
    state = job_state(state_words(fields.get("JobState", "")))
    count, job = fields.get("NodeCnt", ""), line.partition(" ")[0].removeprefix("JobId=")
    if not count.isdecimal() or not job.isdecimal():
        return None
    ended_by_itself = state in (JobState.COMPLETED, JobState.FAILED)
    return JobRecord(
        attempt,
        int(count),
        "_".join(_array_element(line)) if _ARRAY_ELEMENT.search(line) else job,
        state,
        started=_local_time(fields.get("StartTime", "")),
        finished=_local_time(fields.get("EndTime", "")),
        exit_code=_exit_code(fields.get("ExitCode", "")) if ended_by_itself else None,
        reason="" if state is JobState.COMPLETED else fields["JobState"].lower(),
    )


def _local_time(text: str, fold: int = 0) -> float | None:
    """Return a local time of Slurm's as seconds since the epoch; None for "Unknown".

    Where there are two such times, as when clocks are set back, it is the first, or with `fold` the second.
    """
    try:
        return datetime.fromisoformat(text).replace(fold=fold).timestamp()
    except ValueError:
        return None
