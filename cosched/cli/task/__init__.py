"""`cosched task` submits tasks, follows them and prints what they wrote.

`submission.py` makes requests of arguments and files; `selection.py` chooses tasks; `text.py` words the answers.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.documents.tasks import FINAL_STATES, TaskChange, TaskDetail, TaskView
from cosched.api.times import format_optional_time, parse_duration
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, LimitOption, OffsetOption, clean, emit_json, print_table
from cosched.cli.task.selection import (
    IdArgument,
    IdsArgument,
    LateOption,
    NamedOption,
    NameOption,
    Selection,
    StateOption,
    UserOption,
)
from cosched.cli.task.submission import SubmitOptions, read_lines, request_of, requests_of_file, task_array
from cosched.cli.task.text import accepted_lines, explanation_lines, forecast_lines, task_lines, task_rows
from cosched.client import Client
from cosched.errors import CoschedError, UserError

__all__ = ["app", "output_command"]


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


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
    offset = -tail if tail else 0
    while True:
        # Asked before the output: what a task that has ended wrote is all there.
        ended = not follow or client.task(task_id).state in FINAL_STATES
        output = client.output(task_id, stream, rank=rank, attempt=attempt, offset=offset, limit=_PART)
        if output is not None:
            yield output.data
            offset = output.offset + len(output.data)
            if offset < output.size:
                continue
        if ended:
            return
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


app = typer.Typer()


def _complete_application(incomplete: str) -> list[str]:
    with suppress(CoschedError), connect(os.environ.get("COSCHED_SERVER", "")) as client:
        return [entry.name for entry in client.applications() if entry.name.startswith(incomplete)]
    return []


class _WithCommand(TyperCommand):
    """Keeps the words after `--` apart, as a command line of their own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta["command"] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


@app.command(cls=_WithCommand, options_metavar="[OPTIONS] [-- PROGRAM ARGUMENT…]")
def submit(
    context: typer.Context,
    application: Annotated[
        str, typer.Argument(metavar="APP", help="Name in the catalogue.", autocompletion=_complete_application)
    ] = "",
    deadline: Annotated[
        str | None,
        typer.Option(help="now+2h30m, 18:00, 'friday 17:00', 2030-01-31T18:00.", show_default=False),
    ] = None,
    begin: Annotated[str, typer.Option(metavar="TIME", help="Not before this time, written like a deadline.")] = "",
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Your own: job.sub or job.sh.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter.")] = None,
    hosts: Annotated[str, typer.Option(metavar="N|A-B", help="How many hosts.")] = "",
    profile: Annotated[str, typer.Option(metavar="S,S,…", help="Your figures: seconds on 1, 2, … hosts.")] = "",
    runtime: Annotated[
        str, typer.Option(metavar="TIME|N:TIME,…", help="How long it runs: 30m on --hosts, or 4:30m,8:16m.")
    ] = "",
    name: Annotated[str, typer.Option(help="What to call the task.")] = "",
    directory: Annotated[str, typer.Option(help="Where it runs; a command: here.")] = "",
    stdin: Annotated[str, typer.Option(metavar="FILE", help="What it reads as its standard input.")] = "",
    notify: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="Tell of its end: mail or https://…")
    ] = None,
    after: Annotated[list[str] | None, typer.Option(metavar="ID", help="Not before this task has completed.")] = None,
    prepare: Annotated[str, typer.Option(metavar="PROGRAM", help="Runs on each host first; may write its input.")] = "",
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="An environment variable.")] = None,
    time_limit: Annotated[str, typer.Option(metavar="DURATION", help="After this it may be ended.")] = "",
    count: Annotated[int, typer.Option(metavar="N", min=1, help="So many tasks; each finds TASK_INDEX.")] = 1,
    lines: Annotated[str, typer.Option("--from", metavar="FILE", help="A task for each line: its arguments.")] = "",
    launch: Annotated[str, typer.Option(metavar="each|once", help="On each host, or on the first alone.")] = "",
    mpi: Annotated[str, typer.Option(metavar="openmpi|mpich|intel", help="Its mpirun starts ranks on all hosts.")] = "",
    processes_per_host: Annotated[int, typer.Option(metavar="N", min=1, help="Ranks on each host.")] = 1,
    best_effort: Annotated[bool, typer.Option("--best-effort", help="Also if the deadline cannot be met.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would come of it.")] = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Submit a task: an application, a command after `--`, or a file.

    An application is one of the catalogue, a file one of your resource manager's.
    """
    if deadline == "":
        raise UserError("--deadline is empty: write now+2h or 'friday 17:00', or leave it out for no deadline")
    options = SubmitOptions(
        application=application,
        deadline=deadline or "",
        begin=begin,
        settings=settings or (),
        hosts=hosts,
        profile=profile,
        runtime=runtime,
        name=name,
        directory=directory,
        stdin=stdin,
        environment=env or (),
        time_limit=time_limit,
        best_effort=best_effort,
        prepare=prepare,
        notify=notify or (),
        after=after or (),
        launch=launch,
        mpi=mpi,
        processes_per_host=processes_per_host,
    )
    command = context.meta.get("command", ())
    if file is not None and command:
        raise UserError("give a file or a command, not both")
    if file is None:
        request, note = request_of(options, command, time.time())
        requests = task_array(request, count, read_lines(lines, application=bool(application)) if lines else None)
    elif count > 1 or lines:
        raise UserError("a file says itself how many tasks there are: leave --count and --from out")
    else:
        requests, note = requests_of_file(file, options, time.time())
    if note:
        sys.stderr.write(f"cosched: {note}\n")
    with connect(server) as client:
        if dry_run:
            forecast = client.foresee(requests[0])
            _show(json, asdict(forecast), lambda: forecast_lines(forecast))
            return
        try:
            tasks = client.submit_all(requests)
        except UserError as error:
            raise _with_advice(error, application) from error
        _show(
            json,
            asdict(tasks[0]) if len(tasks) == 1 else [asdict(task) for task in tasks],
            lambda: accepted_lines(tasks),
        )


def _with_advice(error: UserError, application: str) -> UserError:
    """Return the refusal, with what was meant where the application's name is that of a file."""
    if not Path(application).is_file():
        return error
    return UserError(
        f"{error}; {application} is a file: `cosched task submit --file {application}` submits a batch script or "
        f"submit file, `cosched task submit -- ./{application}` runs a program"
    )


@app.command("list")
def list_tasks(
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    search: Annotated[str, typer.Option(help="Only with this in name, application or ID.")] = "",
    limit: LimitOption = 100,
    offset: OffsetOption = 0,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List tasks, newest first."""
    with connect(server) as client:
        page = client.tasks(state or (), limit, offset, owner=user, search=search, name=name, late=late)
        if json:
            emit_json(asdict(page))
            return
        placements = {place.task: place for place in client.plan().placements}
    headings = ("ID", "NAME", "OWNER", "STATE", "HOSTS", "DEADLINE", "END", "IN HAND", "NOTE")
    print_table(headings, task_rows(page.tasks, placements))
    if len(page.tasks) < page.total:
        sys.stderr.write(f"cosched: {len(page.tasks)} of {page.total} tasks shown (see --limit, --offset)\n")


@app.command()
def show(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Show everything known of a task."""
    with connect(server) as client:
        task = client.task(task_id)
    _show(json, asdict(task), lambda: task_lines(task))


@app.command()
def explain(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Explain why a task waits, where it is planned, and what would change that."""
    with connect(server) as client:
        explanation = client.explain(task_id)
    _show(json, asdict(explanation), lambda: explanation_lines(explanation))


@app.command()
def plans(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Show where a task was planned as the plan changed, the oldest first."""
    with connect(server) as client:
        points = client.plans(task_id)
    if json:
        emit_json([asdict(point) for point in points])
        return
    rows = [
        (
            format_optional_time(point.time),
            format_optional_time(point.start),
            format_optional_time(point.end),
            str(point.hosts),
        )
        for point in points
    ]
    print_table(("PLANNED AT", "START", "END", "HOSTS"), rows)


@app.command()
def wait(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Give up after this.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Wait until tasks have ended; exit 1 unless all of them completed."""
    selection = Selection(user=user, name=name, states=state or (), late=late)
    with connect(server) as client:
        tasks = client.wait(selection.tasks(client, task_ids), parse_duration(timeout) if timeout else float("inf"))
    _show(
        json,
        [asdict(task) for task in tasks],
        lambda: [f"task {task.id} is {task.state}{f': {clean(task.reason)}' if task.reason else ''}" for task in tasks],
    )
    if any(task.state != "completed" for task in tasks):
        raise typer.Exit(1)


@app.command()
def cancel(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Cancel tasks: waiting ones will not run, jobs of running ones are ended.

    Chosen by options, your own alone, unless --user names another.
    """
    selection = Selection(user=user, name=name, states=state or (), late=late)
    with connect(server) as client:
        tasks = [client.cancel(task_id) for task_id in selection.tasks(client, task_ids)]
    _show(json, [asdict(task) for task in tasks], lambda: [f"task {task.id} is {task.state}" for task in tasks])


@app.command()
def edit(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    named: NamedOption = "",
    state: StateOption = None,
    late: LateOption = False,
    deadline: Annotated[str, typer.Option(help="As at submission; `none`: no deadline any more.")] = "",
    begin: Annotated[str, typer.Option(metavar="TIME", help="Not before this time; `now`: at once.")] = "",
    name: Annotated[str, typer.Option(help="What to call the task.")] = "",
    best_effort: Annotated[
        bool | None, typer.Option("--best-effort/--no-best-effort", help="Also if the deadline cannot be met.")
    ] = None,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Change waiting tasks, each in one step.

    A task that has left the queue is refused and stays as it is.
    """
    change = TaskChange(
        deadline=_new_deadline(deadline),
        begin=_new_deadline(begin, "begin"),
        name=name or None,
        best_effort=best_effort,
    )
    selection = Selection(user=user, name=named, states=state or (), late=late)
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids, ["queued"])
        _each(chosen, lambda task_id: client.edit(task_id, change), "is changed", json=json)


@app.command()
def hold(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Keep waiting tasks from being planned and started until they are released."""
    selection = Selection(user=user, name=name, states=state or (), late=late)
    with connect(server) as client:
        _each(selection.tasks(client, task_ids, ["queued"]), client.hold, "is held", json=json)


@app.command()
def release(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Have held tasks planned again."""
    selection = Selection(user=user, name=name, states=state or (), late=late)
    with connect(server) as client:
        _each(selection.tasks(client, task_ids, ["queued"]), client.release_task, "is released", json=json)


@app.command()
def resubmit(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    named: NamedOption = "",
    state: StateOption = None,
    late: LateOption = False,
    deadline: Annotated[str, typer.Option(help="Another one, as at submission, or `none`; else as much time.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Submit tasks once more, each with as much time until its deadline as it had.

    Chosen by options: those that failed or were cancelled, unless --state names others.
    """
    selection = Selection(user=user, name=named, states=state or (), late=late)
    change = TaskChange(deadline=_new_deadline(deadline))
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids, ["failed", "cancelled"])
        tasks = [client.resubmit(task_id, change) for task_id in chosen]
    _show(
        json,
        [asdict(task) for task in tasks],
        lambda: [f"task {task.id} is task {first} once more" for task, first in zip(tasks, chosen, strict=True)],
    )


def _new_deadline(text: str, what: str = "deadline") -> float | str | None:
    """Return a deadline or a begin as it is sent, and tell what was assumed of it; None where none was typed."""
    if text in ("", "none" if what == "deadline" else "now"):
        return text or None
    when, note = parse_typed_deadline(text, time.time(), what)
    sys.stderr.write(f"cosched: {note}\n" if note else "")
    return when


def _each(task_ids: list[str], change: Callable[[str], TaskView], done: str, *, json: bool) -> None:
    """Change tasks one by one, and name those that cannot be changed.

    The exit code is 1 then.
    """
    changed, refused = _changed_and_refused(task_ids, change)
    _show(json, [asdict(task) for task in changed], lambda: [f"task {task.id} {done}" for task in changed])
    sys.stderr.write("".join(f"cosched: {clean(reason)}\n" for reason in refused))
    if refused:
        raise typer.Exit(1)


def _changed_and_refused(task_ids: list[str], change: Callable[[str], TaskView]) -> tuple[list[TaskView], list[str]]:
    changed: list[TaskView] = []
    refused: list[str] = []
    for task_id in task_ids:
        try:
            changed.append(change(task_id))
        except UserError as error:
            refused.append(str(error))
    return changed, refused


for stream, called in (("out", "output"), ("err", "error")):
    app.command(stream, help=f"Print what a task wrote to its standard {called}, on one host.")(output_command(stream))


def _show(json: bool, document: Any, lines: Callable[[], list[str]]) -> None:
    if json:
        emit_json(document)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines()))
