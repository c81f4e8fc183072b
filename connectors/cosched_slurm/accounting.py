"""Slurm's accounting (slurmdbd, asked by sacct): what became of jobs that the controller has forgotten."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from cosched.connector import JobState
from cosched_slurm.jobs import Record, meaning, words
from cosched_slurm.nodelist import node_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = ["FIELDS", "Accounting", "accounted"]

FIELDS = ("JobID", "State", "ExitCode", "Start", "End", "NNodes", "NodeList", "WorkDir")
_CLOCKS_APART = 300  # seconds that the clocks of the spool and of Slurm may differ


def accounted(rows: Iterable[Sequence[str]], attempt: str, index: int | None = None) -> Record | None:
    """Return the last job of an attempt; None where there is none.

    Args:
        rows: `FIELDS` of the jobs in its folder or its array's, times in epoch seconds.
        attempt: its UUID.
        index: of the attempt's element in its array; None for a job of its own.
    """
    found = None
    for fields in rows:
        if _is_element(fields[0], index):
            found = _record(attempt, fields) or found
    return found


def _is_element(job: str, index: int | None) -> bool:
    number, _, element = job.partition("_")
    return number.isdecimal() and element == ("" if index is None else str(index))


def _record(attempt: str, fields: Sequence[str]) -> Record | None:
    job, states, code, start, end, count, nodes, _ = fields
    state = meaning(words(states.partition(" ")[0]))  # "CANCELLED by 1000"
    if not count.isdecimal():
        return None
    value, _, signal = code.partition(":")
    exit_code = 128 + int(signal) if signal.isdecimal() and int(signal) else int(value) if value.isdecimal() else None
    over = state.final or state is JobState.EVICTED
    return Record(
        attempt,
        max(int(count), 1),
        job,
        state,
        started=_time(start),
        finished=_time(end) if over else None,
        exit_code=exit_code if state in (JobState.COMPLETED, JobState.FAILED) else None,
        reason="" if state is JobState.COMPLETED else states.lower(),
        hosts=node_names(nodes) if "(" not in nodes and nodes != "None assigned" else (),
    )


def _time(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


class Accounting:
    """Asks seldom: what it knows is of jobs that ended long ago.

    Args:
        ask: returns lines of `FIELDS` separated by "|" for jobs of the last so many seconds; None where there is no
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
        """Return the fields of the jobs in a working directory since an epoch time, as of `pause` ago at most.

        Raises:
            ConnectorError: the accounting does not answer.
        """
        if since < self._since or time.monotonic() >= self._asked + self._pause:
            age = max(0.0, time.time() - since)
            self._rows = _by_folder(self._ask(int(age) + _CLOCKS_APART) or [])
            self._since, self._asked = since, time.monotonic()
        return self._rows.get(str(folder), [])


def _by_folder(lines: Iterable[str]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = defaultdict(list)
    for line in lines:
        fields = line.split("|", len(FIELDS) - 1)
        if len(fields) == len(FIELDS):
            found[fields[-1]].append(fields)
    return dict(found)
