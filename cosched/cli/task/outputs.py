"""What tasks wrote is printed, also while they run: `cosched task out` and `err`."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cosched.api.documents.tasks import FINAL_STATES, TaskDetail
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json
from cosched.client import Client
from cosched.client.http_caller import RESTART_PATIENCE
from cosched.errors import SystemFault, UserError

__all__ = ["output_command"]

_PART = 1 << 20
_LOOK = 0.5  # seconds between looks at a task that still runs


def output_command(stream: str) -> Callable[..., None]:
    """Return the command that prints one stream, "out" or "err"."""

    def command(
        task_id: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the task.")],
        rank: Annotated[int, typer.Option(min=0, help="Of which process: they are numbered over the hosts.")] = 0,
        attempt: Annotated[int, typer.Option(min=0, help="Of which try, from 1; 0: the last.")] = 0,
        tail: Annotated[int, typer.Option(metavar="BYTES", min=0, help="Only so much of the end.")] = 0,
        follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
        server: ServerOption = "",
        json: JsonOption = False,
    ) -> None:
        with connect(server) as client:
            if json:
                emit_json(_output_document(client, task_id, stream, rank=rank, attempt=attempt, tail=tail))
            else:
                _write_output(client, task_id, stream, rank=rank, attempt=attempt, tail=tail, follow=follow)

    return command


def _write_output(
    client: "Client", task_id: str, stream: str, *, rank: int, attempt: int, tail: int, follow: bool
) -> None:
    """Write a process's output to standard output.

    Args:
        client: the daemon.
        task_id: the task.
        stream: "out" or "err".
        rank: rank of the process.
        attempt: which try, from 1; 0 for the last.
        tail: number of bytes at the end to write; 0 for all.
        follow: go on until the task has ended.

    Raises:
        UserError: nothing was written, or it is not kept by cosched; says where it is.
    """
    seen = False
    for part in _output_parts(client, task_id, stream, rank, attempt, tail, follow=follow):
        seen = True
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
    if not seen:
        raise UserError(_why_nothing(client.task(task_id), stream, rank))


def _output_document(
    client: "Client", task_id: str, stream: str, *, rank: int, attempt: int, tail: int
) -> dict[str, object]:
    """Return a process's output as JSON; bytes that are not UTF-8 are replaced."""
    parts = list(_output_parts(client, task_id, stream, rank, attempt, tail, follow=False))
    text = b"".join(parts).decode(errors="replace")
    return {"task": task_id, "stream": stream, "rank": rank, "attempt": attempt, "text": text if parts else None}


def _output_parts(
    client: "Client", task_id: str, stream: str, rank: int, attempt: int, tail: int, *, follow: bool
) -> Iterator[bytes]:
    offset, asked, answered = -tail if tail else 0, attempt, 0.0
    while True:
        try:
            # Asked before the output: what a task that has ended, or a try before the last, wrote is all there.
            task = client.task(task_id) if follow else None
            last = 0 if task is None or task.peer else len(task.tries)
            if attempt == 0:
                asked = asked or last
            output = client.output(task_id, stream, rank=rank, attempt=asked, offset=offset, limit=_PART)
        except SystemFault:
            if not answered or time.monotonic() > answered + RESTART_PATIENCE:
                raise
            time.sleep(_LOOK)
            continue
        answered = time.monotonic() if follow else 0.0
        if output is not None and output.offset < offset:
            offset = 0  # of another try, which a neighbouring domain has begun
            continue
        if output is not None:
            yield output.data
            offset = output.offset + len(output.data)
            if offset < output.size:
                continue
        if attempt == 0 and asked != last:
            asked, offset = asked + 1 if last else 0, 0  # each try writes a file of its own
        elif task is None or task.state in FINAL_STATES:
            return
        else:
            time.sleep(_LOOK)


def _why_nothing(task: "TaskDetail", stream: str, rank: int) -> str:
    if task.native is not None:
        place = task.native.settings.get("output" if stream == "out" else "error", "")
        if place:
            return f"the file of task {task.id} sends this to {Path(task.directory) / place}: look there"
    if task.launch != "each" and rank:
        return f"task {task.id} is launched once: all that it writes is that of rank 0"
    if rank >= task.count:
        return f"task {task.id} has no rank {rank}: it has {task.count} processes, from 0 on"
    if task.peer:
        return f"domain {task.peer} has task {task.id} ({task.state}) and keeps nothing of what rank {rank} wrote"
    if not task.tries:
        return f"task {task.id} has not begun ({task.state}): nothing was written yet"
    return f"nothing is kept of what rank {rank} of task {task.id} wrote: it may not have begun, or its files are gone"
