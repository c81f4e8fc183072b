"""`cosched task submit` sends what options and files say, and prints what was accepted.

Start at `submit`.
"""

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from cosched.api.documents import ProfileView, TaskRequest
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, clean, print_answer
from cosched.cli.task.arrays import array_indices, read_lines, task_array
from cosched.cli.task.inputs import unread_note, with_files
from cosched.cli.task.options import SubmitOptions, takes_options
from cosched.cli.task.submission import request_of, requests_of_file, time_limit_note
from cosched.cli.task.text import accepted_lines, forecast_lines
from cosched.client import Client
from cosched.errors import UserError

__all__ = ["SubmitCommand", "submit"]


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


class SubmitCommand(TyperCommand):
    """Keeps the words after `--` apart, as a command line of their own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before `--`; those after it are the context's `meta["command"]`."""
        if "--" in args:
            place = args.index("--")
            ctx.meta["command"] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


@takes_options
def submit(context: typer.Context, options: SubmitOptions, server: ServerOption = "", json: JsonOption = False) -> None:
    """Submit a task: an application, a command after `--`, or a file.

    An application is one of the catalogue, a file one of your resource manager's.
    """
    if options.deadline == "":
        raise UserError("--deadline is empty: write now+2h or 'friday 17:00', or leave it out for no deadline")
    requests = _requests(options, context.meta.get("command", ()))
    with connect(server) as client:
        if options.observe or _is_observed(client, options):
            from cosched.cli.task.observing import watching_variables  # reads more than other tasks need

            more, unseen = watching_variables(requests[0].directory)
            _remark(unseen)
            requests = [replace(request, environment={**request.environment, **more}) for request in requests]
        if options.dry_run:
            forecast = client.foresee(requests[0])
            _remark_on_model(client, requests[0].model, forecast.profile)
            print_answer(json, asdict(forecast), lambda: forecast_lines(forecast))
            _remark(f"this is of the first of {len(requests)} tasks, as if there were no others" * (len(requests) > 1))
            return
        try:
            tasks = client.submit_all(requests)
        except UserError as error:
            raise _with_advice(error, options.application) from error
        profile = client.task(tasks[0].id).profile if options.model else None
        _remark_on_model(client, requests[0].model, profile)
        print_answer(
            json,
            asdict(tasks[0]) if len(tasks) == 1 else [asdict(task) for task in tasks],
            lambda: accepted_lines(tasks, profile),
        )


def _requests(options: SubmitOptions, command: tuple[str, ...]) -> list[TaskRequest]:
    """Return what is asked for; what was assumed is told on standard error."""
    file = options.file
    if options.observe and file is not None:
        raise UserError(
            "--observe goes with an application or a command: a file says itself how its program is started"
        )
    if file is not None and command:
        raise UserError("give a file or a command, not both")
    if file is None:
        requests, note = _array(options, command)
    elif options.count > 1 or options.lines or options.array or options.at_most or options.sweep:
        raise UserError(
            "a file says itself how many tasks there are: leave --array, --count, --from, --at-most and --sweep out"
        )
    else:
        requests, note = requests_of_file(file, options, time.time())
    _remark(note)
    _remark(time_limit_note(requests[0]))
    _remark(unread_note(options.stdin, options.lines))
    return [with_files(request, options.inputs) for request in requests]


def _array(options: SubmitOptions, command: tuple[str, ...]) -> tuple[list[TaskRequest], str]:
    """Return the tasks of an application or a command, with a note on what was assumed."""
    request, note = request_of(options, command, time.time())
    indices, most = array_indices(options.array, options.count, options.at_most, lines=bool(options.lines))
    given = read_lines(options.lines, application=bool(options.application)) if options.lines else None
    return task_array(request, indices, most, given, options.sweep), note


def _is_observed(client: Client, options: SubmitOptions) -> bool:
    """Return whether the catalogue has the application's runs watched."""
    if not options.application or options.file is not None:
        return False
    return any(entry.name == options.application and entry.observe for entry in client.applications())


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
    program = application if application.startswith(("/", "./", "../")) else f"./{application}"
    return UserError(
        f"{error}; {application} is a file: `cosched task submit --file {application}` submits a batch script or "
        f"submit file, `cosched task submit -- {program}` runs a program"
    )
