"""Who had which host when, in an elastic run: as pieces, in a terminal, and as a picture with its promise and loans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from cosched.drawing.gantt import GanttBar, gantt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.api.documents import TaskView, WorkersView

__all__ = ["DEADLINE", "LENT", "OTHER", "PROMISED", "Piece", "drawn", "pieces_of", "shown"]

PROMISED, LENT = "promised to Dask", "lent to Dask"
OTHER, DEADLINE = "another task", "with a deadline"
_MARKS = {PROMISED: ("█", "blue"), LENT: ("▒", "cyan"), OTHER: ("░", "bright_black"), DEADLINE: ("#", "red")}
_WIDTH = 72


@dataclass(frozen=True, slots=True)
class Piece:
    """A host for a while. Times are epoch seconds.

    Attributes:
        host: its name.
        start: when a job began there.
        end: when it ended; None while it runs.
        kind: for whom it ran, a key of the legend.
        name: of the job, for people.
        deadline: that it is to end by; None for none.
    """

    host: str
    start: float
    end: float | None
    kind: str
    name: str
    deadline: float | None = None


def pieces_of(
    lead: TaskView | None, workers: WorkersView | None, others: Iterable[tuple[TaskView, str]]
) -> list[Piece]:
    """Return the pieces of an elastic task and of the tasks beside it.

    Args:
        lead: the elastic task; None before it was submitted.
        workers: its workers, also those that have ended; None likewise.
        others: each other task, with its kind.
    """
    found = []
    if lead is not None and workers is not None and lead.started is not None and workers.host:
        found.append(Piece(workers.host, lead.started, lead.finished, PROMISED, "lead"))
    for each in () if workers is None else workers.workers:
        if each.since is not None:
            kind = PROMISED if each.promised else LENT
            found.append(Piece(each.host, each.since, each.finished, kind, f"worker {each.worker}"))
    for task, kind in others:
        if task.started is not None:
            name = f"task {task.id}"
            found += [Piece(host, task.started, task.finished, kind, name, task.deadline) for host in task.hosts]
    return found


def shown(pieces: Sequence[Piece], hosts: Sequence[str], began: float, now: float) -> Table:
    """Return the pieces so far as a table of hosts × time for a terminal."""
    column = max(now - began, 30.0) / _WIDTH
    rows = {host: [(" ", "")] * _WIDTH for host in hosts}
    for piece in pieces:
        first = int((piece.start - began) / column)
        last = int(((now if piece.end is None else piece.end) - began) / column)
        for place in range(max(first, 0), min(last + 1, _WIDTH)):
            rows[piece.host][place] = _MARKS[piece.kind]
    grid = Table.grid(padding=(0, 1))
    for host in hosts:
        grid.add_row(host, Text.assemble(*rows[host]))
    grid.add_row("", Text.assemble(*((f"{mark} {kind}   ", colour) for kind, (mark, colour) in _MARKS.items())))
    return grid


def drawn(pieces: Sequence[Piece], hosts: Sequence[str], began: float, connector: str) -> str:
    """Return the pieces of a run that is over as a Gantt chart (SVG)."""
    bars = [
        GanttBar(
            piece.name,
            piece.kind,
            (piece.host,),
            piece.start - began,
            piece.end - began,
            None if piece.deadline is None else piece.deadline - began,
        )
        for piece in pieces
        if piece.end is not None
    ]
    title = f"A Dask computation on {len(hosts)} hosts beside a task with a deadline ({connector} connector)"
    return gantt(bars, hosts, title, origin=0.0)
