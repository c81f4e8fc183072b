"""`cosched task` submits tasks, follows them and prints what they wrote.

`submitting.py` sends requests, which `submission.py` makes of options (`options.py`) and files; `inputs.py` looks at
the files that they name; `selection.py` chooses tasks, `changes.py` changes them; `outputs.py` prints what they wrote;
`text.py` words the answers.
"""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.documents.tasks import FINAL_STATES, LIVE_STATES
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, LimitOption, OffsetOption, clean, emit_json, print_answer, print_table
from cosched.cli.task.changes import changes
from cosched.cli.task.outputs import output_command
from cosched.cli.task.selection import (
    ArrayOption,
    IdArgument,
    IdsArgument,
    LateOption,
    NameOption,
    Selection,
    StateOption,
    UserOption,
)
from cosched.cli.task.submission import whole_number
from cosched.cli.task.submitting import SubmitCommand, submit
from cosched.cli.task.text import explanation_lines, task_lines, task_rows
from cosched.cli.task.workers import WORKER_HEADINGS, lead_lines, worker_rows
from cosched.durations import parse_duration
from cosched.errors import UserError

__all__ = ["app"]


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


app = typer.Typer()
app.add_typer(changes)
app.command(cls=SubmitCommand, options_metavar="[OPTIONS] [-- PROGRAM ARGUMENT…]")(submit)


@app.command("list")
def list_tasks(
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    application: Annotated[str, typer.Option(help="Only of this one.")] = "",
    search: Annotated[str, typer.Option(help="Only with this in name or application, or as ID or owner.")] = "",
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="By deadline, slack, end, … ; -deadline: the highest first.")
    ] = "",
    limit: LimitOption = 100,
    offset: OffsetOption = 0,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List tasks, newest first unless sorted."""
    with connect(server) as client:
        page = client.tasks(
            state or (),
            limit,
            offset,
            owner=user,
            search=search,
            name=name,
            late=late,
            array=array,
            application=application,
            sort=sort,
        )
        if json:
            emit_json(asdict(page))
            return
        plan = client.plan()
    headings = ("ID", "NAME", "OWNER", "STATE", "HOSTS", "DEADLINE", "END", "IN HAND", "NOTE")
    print_table(headings, task_rows(page.tasks, plan))
    if array and not page.total:
        sys.stderr.write(f"cosched: {clean(array)} names no array with such tasks: arrays have their first task's ID\n")
    if len(page.tasks) < page.total:
        sys.stderr.write(f"cosched: {len(page.tasks)} of {page.total} tasks shown (see --limit, --offset)\n")


@app.command()
def show(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Show everything known of a task."""
    with connect(server) as client:
        task = client.task(task_id)
    print_answer(json, asdict(task), lambda: task_lines(task))


@app.command()
def explain(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Explain why a task waits, where it is planned, and what would change that."""
    with connect(server) as client:
        explanation = client.explain(task_id)
    print_answer(json, asdict(explanation), lambda: explanation_lines(explanation))


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
def workers(task_id: IdArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Show the workers of an elastic task, where they run and since when, and both of its ends."""
    with connect(server) as client:
        found = client.workers(task_id)
    print_answer(json, asdict(found), lambda: lead_lines(found))
    if not json:
        print_table(WORKER_HEADINGS, worker_rows(found))


@app.command()
def resize(
    task_id: IdArgument,
    least: Annotated[str, typer.Option(metavar="N", help="Hosts, also where it has a use for fewer.")] = "",
    most: Annotated[str, typer.Option(metavar="N", help="Hosts; promised ones beyond these are given up.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Have a running elastic task keep to other numbers of hosts; what is left out is not bounded any more."""
    if not (least or most):
        raise UserError("say for how many hosts you wish: --least N, --most N or both")
    with connect(server) as client:
        found = client.resize(
            task_id,
            whole_number(least, "--least") if least else 1,
            whole_number(most, "--most") if most else None,
        )
    print_answer(json, asdict(found), lambda: lead_lines(found))


@app.command()
def wait(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Give up after this.")] = "",
    stage: Annotated[
        bool, typer.Option("--stage", help="For the first stage of a tunable application alone, not for all of them.")
    ] = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Wait until tasks have ended; exit 1 unless all of them completed."""
    selection = Selection(user=user, name=name, states=state or (), late=late, array=array)
    # An array is known by its identifier: what has failed of it before anybody waited counts, too.
    states = (*LIVE_STATES, *FINAL_STATES) if array else LIVE_STATES
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids, states)
        patience = parse_duration(timeout, "--timeout") if timeout else float("inf")
        tasks = client.wait(chosen, patience, stages=not stage)
    print_answer(
        json,
        [asdict(task) for task in tasks],
        lambda: [f"task {task.id} is {task.state}{f': {clean(task.reason)}' if task.reason else ''}" for task in tasks],
    )
    if any(task.state != "completed" for task in tasks):
        raise typer.Exit(1)


for stream, called in (("out", "output"), ("err", "error")):
    app.command(stream, help=f"Print what a task wrote to its standard {called}, on one host.")(output_command(stream))
