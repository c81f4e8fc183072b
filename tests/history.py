"""The exactly-once checker: reads the journal that the stand-in kernels keep and says what went wrong.

Beside a simulated pool, on which no kernel runs, the pool's own history takes the journal's place.

It knows nothing of cosched. What it asserts follows from the journal alone, so it cannot be fooled by a daemon that
believes its own records:

    every task has exactly one attempt all of whose ranks ended
    no rank of an attempt starts twice, none ends without a start
    no two attempts of a task are seen at work at the same time
    no host works for two attempts at the same time

A killed process leaves a start without an end; it is known to have worked from its start to its last line only. One
that writes its end as its host is taken off may be killed before anybody hears how it ended: whoever runs its task
again does right, and nobody can tell.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["Line", "Outage", "faults", "read", "read_pool"]

_UNHEARD = 1.0  # seconds that may pass from the last line of a program to its exit, on a busy machine


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a journal.

    Attributes:
        kind: "start" or "end".
        hosts: of the attempt, in rank order; empty when unpinned on this machine, where others run beside it.
        time: seconds since the epoch.
    """

    kind: str
    attempt: str
    task: str
    rank: int
    count: int
    hosts: tuple[str, ...]
    time: float


@dataclass(frozen=True, slots=True)
class Outage:
    """A host was off from a moment to another, seconds since the epoch."""

    host: str
    begin: float
    end: float


def read(journal: Path) -> list[Line]:
    """Read a journal. A line that is not whole is an error: every line is written at once."""
    text = journal.read_text() if journal.exists() else ""
    if text and not text.endswith("\n"):
        raise ValueError(f"{journal}: the last line is not whole")
    return [_line(line, f"{journal}:{number}") for number, line in enumerate(text.splitlines(), 1)]


def read_pool(file: Path) -> list[Line]:
    """Read the history of a simulated pool: the lines that its jobs would have written, had they run."""
    with closing(sqlite3.connect(file)) as pool:
        rows = pool.execute("SELECT attempt, launch, hosts, began, ends, state FROM jobs WHERE began IS NOT NULL")
        return [line for row in rows.fetchall() for line in _lines(*row)]


def _lines(attempt: str, launch: str, hosts: str, began: float, ends: float, state: str) -> list[Line]:
    names, task = tuple(hosts.split(",")), json.loads(launch)["task"]
    moments = [("start", began), ("end", ends)] if state == "completed" else [("start", began)]
    return [
        Line(kind, attempt, task, rank, len(names), names, moment)
        for kind, moment in moments
        for rank in range(len(names))
    ]


def _line(text: str, place: str) -> Line:
    try:
        kind, attempt, task, rank, count, hosts, moment = text.split("\t")
        names = tuple(host for host in hosts.split(",") if host not in ("", os.uname().nodename))
        line = Line(kind, attempt, task, int(rank), int(count), names, float(moment))
    except ValueError:
        raise ValueError(f"{place}: not a line of a journal: {text!r}") from None
    if kind not in ("start", "end") or not 0 <= line.rank < line.count or len(line.hosts) not in (0, line.count):
        raise ValueError(f"{place}: not a line of a journal: {text!r}")
    return line


@dataclass(frozen=True, slots=True)
class _Span:
    """Somebody known to have been at work from `begin` to `end`."""

    attempt: str
    begin: float
    end: float

    def meets(self, other: _Span) -> bool:
        return self.begin < other.end and other.begin < self.end


def faults(
    lines: Iterable[Line], tasks: Iterable[str], ended_early: Iterable[str] = (), outages: Sequence[Outage] = ()
) -> list[str]:
    """Return everything that is wrong with a finished run; empty when each task ran exactly once.

    Args:
        lines: of the journal.
        tasks: that were to run to their end.
        ended_early: tasks that were cancelled: they ran once at most.
        outages: of hosts, with what ran on them.
    """
    attempts: dict[str, list[Line]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.time):
        attempts[line.attempt].append(line)
    found = [fault for attempt, own in attempts.items() for fault in _of_attempt(attempt, own)]
    unheard = {attempt for attempt, own in attempts.items() if _is_unheard(own, outages)}
    found += _of_tasks(attempts, set(tasks), set(ended_early), unheard)
    return found + _of_hosts(attempts)


def _of_attempt(attempt: str, lines: list[Line]) -> list[str]:
    found = []
    if len({(line.task, line.count, line.hosts) for line in lines}) > 1:
        found.append(f"attempt {attempt} changed its task, count or hosts")
    for rank in sorted({line.rank for line in lines}):
        kinds = [line.kind for line in lines if line.rank == rank]
        if kinds not in (["start"], ["start", "end"]):
            found.append(f"attempt {attempt} rank {rank} did not run once from start to end: {', '.join(kinds)}")
    return found


def _complete(lines: list[Line]) -> bool:
    return {line.rank for line in lines if line.kind == "end"} == set(range(lines[0].count))


def _is_unheard(lines: list[Line], outages: Sequence[Outage]) -> bool:
    """Return whether a host of an attempt went off about when the attempt ended, and not before it began."""
    begin, end = lines[0].time, lines[-1].time
    return any(
        each.host in lines[0].hosts and begin < each.end and each.begin - _UNHEARD <= end <= each.end + _UNHEARD
        for each in outages
    )


def _of_tasks(attempts: dict[str, list[Line]], tasks: set[str], ended_early: set[str], unheard: set[str]) -> list[str]:
    by_task: dict[str, list[str]] = defaultdict(list)
    for attempt, lines in attempts.items():
        by_task[lines[0].task].append(attempt)
    found = [f"task {task} ran but was never submitted" for task in sorted(set(by_task) - tasks - ended_early)]
    for task in sorted(tasks | ended_early):
        completed = [attempt for attempt in by_task[task] if _complete(attempts[attempt])]
        heard = [attempt for attempt in completed if attempt not in unheard]
        completed = completed if len(completed) == 1 else heard or completed[-1:]
        if len(completed) != 1 and (completed[1:] or task in tasks):
            found.append(f"task {task} completed {len(completed)} times: attempts {', '.join(by_task[task]) or 'none'}")
        spans = [_Span(a, attempts[a][0].time, attempts[a][-1].time) for a in by_task[task]]
        found += [
            f"task {task} was run by {one.attempt} and {two.attempt} at the same time" for one, two in _met(spans)
        ]
    return found


def _of_hosts(attempts: dict[str, list[Line]]) -> list[str]:
    by_host: dict[str, list[_Span]] = defaultdict(list)
    for attempt, lines in attempts.items():
        for rank, host in enumerate(lines[0].hosts):
            times = [line.time for line in lines if line.rank == rank]
            if times:
                by_host[host].append(_Span(attempt, times[0], times[-1]))
    return [
        f"host {host} worked for {one.attempt} and {two.attempt} at the same time"
        for host, spans in sorted(by_host.items())
        for one, two in _met(spans)
    ]


def _met(spans: list[_Span]) -> list[tuple[_Span, _Span]]:
    return [(one, two) for one, two in combinations(spans, 2) if one.meets(two)]
