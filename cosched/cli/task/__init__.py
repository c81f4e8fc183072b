"""`cosched task` submits tasks, follows them and prints what they wrote.

`submission.py` makes requests of arguments and files, `inputs.py` looks at the files that they name;
`selection.py` chooses tasks, `changes.py` changes them; `outputs.py` prints what they wrote; `text.py` words the
answers.
"""

import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cosched.api.documents import ProfileView
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, LimitOption, OffsetOption, clean, emit_json, print_answer, print_table
from cosched.cli.task.arrays import array_indices, read_lines, task_array
from cosched.cli.task.changes import changes
from cosched.cli.task.inputs import unread_note, with_files
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
from cosched.cli.task.submission import SubmitOptions, request_of, requests_of_file
from cosched.cli.task.text import accepted_lines, explanation_lines, forecast_lines, task_lines, task_rows
from cosched.cli.task.workers import WORKER_HEADINGS, lead_lines, worker_rows
from cosched.client import Client
from cosched.durations import parse_duration
from cosched.errors import CoschedError, UserError

__all__ = ["app"]


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


app = typer.Typer()
app.add_typer(changes)


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
    model: Annotated[str, typer.Option(metavar="FILE.psl", help="Your own model of a command.")] = "",
    hosts: Annotated[str, typer.Option(metavar="N|A-B", help="How many hosts.")] = "",
    profile: Annotated[str, typer.Option(metavar="S,S,…", help="Your figures: seconds on 1, 2, … hosts.")] = "",
    runtime: Annotated[
        str,
        typer.Option(metavar="TIME|N:TIME,…", help="How long it runs: 30m on --hosts, 4:30m,8:16m, 1x8:30m,1x16:16m."),
    ] = "",
    name: Annotated[str, typer.Option(help="What to call the task.")] = "",
    directory: Annotated[str, typer.Option(help="Where it runs; a command: here.")] = "",
    stdin: Annotated[str, typer.Option(metavar="FILE", help="What it reads as its standard input.")] = "",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="FILE", help="Read by it: its size tells of its time."),
    ] = None,
    notify: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="Tell of its end: mail or https://…")
    ] = None,
    after: Annotated[list[str] | None, typer.Option(metavar="ID", help="Not before this task has completed.")] = None,
    prepare: Annotated[str, typer.Option(metavar="PROGRAM", help="Runs on each host first; may write its input.")] = "",
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="A variable; without value as here.")
    ] = None,
    time_limit: Annotated[str, typer.Option(metavar="DURATION", help="After this it may be ended.")] = "",
    count: Annotated[int, typer.Option(metavar="N", min=1, help="So many tasks; each finds TASK_INDEX.")] = 1,
    lines: Annotated[str, typer.Option("--from", metavar="FILE", help="A task for each line: its arguments.")] = "",
    array: Annotated[str, typer.Option(metavar="0-9|1-100%5", help="A task for each index, 5 at once.")] = "",
    at_most: Annotated[str, typer.Option(metavar="N", help="So many tasks of --count or --from at once.")] = "",
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=1,2|1..9:2", help="A task for each value: a parameter, or {NAME} in a command."),
    ] = None,
    launch: Annotated[str, typer.Option(metavar="each|once", help="On each host, or on the first alone.")] = "",
    mpi: Annotated[str, typer.Option(metavar="openmpi|mpich|intel", help="Its mpirun starts ranks on all hosts.")] = "",
    processes_per_host: Annotated[int, typer.Option(metavar="N", min=1, help="Ranks on each host.")] = 1,
    retries: Annotated[str, typer.Option(metavar="N", help="Where its program fails, so many more times.")] = "",
    requeue: Annotated[
        bool | None, typer.Option("--requeue/--no-requeue", help="Run again where a host is lost under it.")
    ] = None,
    priority: Annotated[str, typer.Option(metavar="N", help="Among your own tasks, the higher first; 0.")] = "",
    memory: Annotated[str, typer.Option(metavar="SIZE", help="What it needs on each host: 4G.")] = "",
    cores: Annotated[str, typer.Option(metavar="N|A-B", help="Likewise; of a range cosched chooses.")] = "",
    processes: Annotated[str, typer.Option(metavar="N|A-B", help="Ranks on all hosts; cosched divides them.")] = "",
    gpus: Annotated[str, typer.Option(metavar="N", help="What it needs on each host.")] = "",
    memory_per_process: Annotated[str, typer.Option(metavar="SIZE", help="What each rank of a host needs: 2G.")] = "",
    cores_per_process: Annotated[str, typer.Option(metavar="N", help="Likewise.")] = "",
    gpus_per_process: Annotated[str, typer.Option(metavar="N", help="Likewise.")] = "",
    exclusive: Annotated[bool, typer.Option("--exclusive", help="No other task on its hosts.")] = False,
    licences: Annotated[str, typer.Option(metavar="NAME[:N],…", help="Of the domain, while it runs: matlab:2.")] = "",
    least_quality: Annotated[
        str, typer.Option(metavar="Q", help="Of a tunable application: no way of less quality.")
    ] = "",
    observe: Annotated[bool, typer.Option("--observe", help="Watch its program; `model fit` learns of it.")] = False,
    elastic: Annotated[str, typer.Option(metavar="workers", help="Its hosts may change while it runs.")] = "",
    worker: Annotated[str, typer.Option(metavar="PROGRAM", help="What runs on each host but the first.")] = "",
    grace: Annotated[str, typer.Option(metavar="DURATION", help="For a worker that has to leave.")] = "",
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
        retries=retries,
        requeue=requeue,
        priority=priority,
        memory=memory,
        cores=cores,
        processes=processes,
        gpus=gpus,
        memory_per_process=memory_per_process,
        cores_per_process=cores_per_process,
        gpus_per_process=gpus_per_process,
        exclusive=exclusive,
        elastic=elastic,
        worker=worker,
        grace=grace,
        licences=licences,
        least_quality=least_quality,
        model=model,
    )
    command = context.meta.get("command", ())
    if observe and file is not None:
        raise UserError(
            "--observe goes with an application or a command: a file says itself how its program is started"
        )
    if file is not None and command:
        raise UserError("give a file or a command, not both")
    if file is None:
        request, note = request_of(options, command, time.time())
        indices, most = array_indices(array, count, at_most, lines=bool(lines))
        given = read_lines(lines, application=bool(application)) if lines else None
        requests = task_array(request, indices, most, given, sweep or ())
    elif count > 1 or lines or array or at_most or sweep:
        raise UserError(
            "a file says itself how many tasks there are: leave --array, --count, --from, --at-most and --sweep out"
        )
    else:
        requests, note = requests_of_file(file, options, time.time())
    _remark(note)
    _remark(unread_note(stdin, lines))
    requests = [with_files(request, inputs or ()) for request in requests]
    with connect(server) as client:
        if observe or (application and file is None and _is_observed(client, application)):
            from cosched.cli.task.observing import watching_variables  # reads more than other tasks need

            more, unseen = watching_variables(requests[0].directory)
            _remark(unseen)
            requests = [replace(request, environment={**request.environment, **more}) for request in requests]
        if dry_run:
            forecast = client.foresee(requests[0])
            _remark_on_model(client, requests[0].model, forecast.profile)
            print_answer(json, asdict(forecast), lambda: forecast_lines(forecast))
            return
        try:
            tasks = client.submit_all(requests)
        except UserError as error:
            raise _with_advice(error, application) from error
        _remark_on_model(client, requests[0].model, client.task(tasks[0].id).profile if model else None)
        print_answer(
            json,
            asdict(tasks[0]) if len(tasks) == 1 else [asdict(task) for task in tasks],
            lambda: accepted_lines(tasks),
        )


def _is_observed(client: Client, application: str) -> bool:
    return any(entry.name == application and entry.observe for entry in client.applications())


def _remark(note: str) -> None:
    if note:
        sys.stderr.write(f"cosched: {clean(note)}\n")


def _remark_on_model(client: Client, text: str, profile: ProfileView | None) -> None:
    if text:
        from cosched.cli.task.model_note import hosts_of, model_note  # reads PSL, which few tasks need

        _remark(model_note(text, hosts_of(client.hosts(), profile)))


def _with_advice(error: UserError, application: str) -> UserError:
    """Return the refusal, with advice where a file was named as an application."""
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
def wait(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Give up after this.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Wait until tasks have ended; exit 1 unless all of them completed."""
    selection = Selection(user=user, name=name, states=state or (), late=late, array=array)
    with connect(server) as client:
        tasks = client.wait(selection.tasks(client, task_ids), parse_duration(timeout) if timeout else float("inf"))
    print_answer(
        json,
        [asdict(task) for task in tasks],
        lambda: [f"task {task.id} is {task.state}{f': {clean(task.reason)}' if task.reason else ''}" for task in tasks],
    )
    if any(task.state != "completed" for task in tasks):
        raise typer.Exit(1)


for stream, called in (("out", "output"), ("err", "error")):
    app.command(stream, help=f"Print what a task wrote to its standard {called}, on one host.")(output_command(stream))
