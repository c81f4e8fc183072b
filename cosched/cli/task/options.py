"""The options of `cosched task submit`, each with its help, and how a command takes them all as one value.

Start at `SubmitOptions`; what the words mean is read by `submission.py`.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cosched.cli.connection import connect
from cosched.errors import CoschedError

__all__ = ["SubmitOptions", "takes_options"]


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


def _complete_application(incomplete: str) -> list[str]:
    with suppress(CoschedError), connect(os.environ.get("COSCHED_SERVER", "")) as client:
        return [entry.name for entry in client.applications() if entry.name.startswith(incomplete)]
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions:
    """The options of `cosched task submit` as they were typed; empty or None where they were not.

    An option that may be given again and again is a sequence. The order is that of `--help`.
    """

    # what it runs, and by when
    application: Annotated[
        str, typer.Argument(metavar="APP", help="Name in the catalogue.", autocompletion=_complete_application)
    ] = ""
    deadline: Annotated[
        str | None,
        typer.Option(help="now+2h30m, 18:00, 'friday 17:00', 2030-01-31T18:00.", show_default=False),
    ] = None
    begin: Annotated[str, typer.Option(metavar="TIME", help="Not before this time, written like a deadline.")] = ""
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Your own: job.sub or job.sh.")] = None
    settings: Annotated[Sequence[str], typer.Option("--set", metavar="NAME=VALUE", help="A parameter.")] = ()
    model: Annotated[str, typer.Option(metavar="FILE.psl", help="Your own model of a command.")] = ""
    # where, and for how long
    hosts: Annotated[str, typer.Option(metavar="N|A-B", help="How many hosts.")] = ""
    profile: Annotated[str, typer.Option(metavar="S,S,…", help="Your figures: seconds on 1, 2, … hosts.")] = ""
    runtime: Annotated[
        str,
        typer.Option(metavar="TIME|N:TIME,…", help="How long it runs: 30m on --hosts, 4:30m,8:16m, 1x8:30m,1x16:16m."),
    ] = ""
    name: Annotated[str, typer.Option(help="What to call the task.")] = ""
    directory: Annotated[str, typer.Option(help="Where it runs; a command: here.")] = ""
    stdin: Annotated[str, typer.Option(metavar="FILE", help="What it reads as its standard input.")] = ""
    inputs: Annotated[
        Sequence[str],
        typer.Option("--input", metavar="FILE", help="Read by it: its size tells of its time."),
    ] = ()
    notify: Annotated[Sequence[str], typer.Option(metavar="ADDRESS", help="Tell of its end: mail or https://…")] = ()
    after: Annotated[Sequence[str], typer.Option(metavar="ID", help="Not before this task has completed.")] = ()
    prepare: Annotated[str, typer.Option(metavar="PROGRAM", help="Runs on each host first; may write its input.")] = ""
    environment: Annotated[
        Sequence[str], typer.Option("--env", metavar="NAME[=VALUE]", help="A variable; without value as here.")
    ] = ()
    time_limit: Annotated[str, typer.Option(metavar="DURATION", help="After this it may be ended.")] = ""
    # several tasks
    count: Annotated[int, typer.Option(metavar="N", min=1, help="So many tasks; each finds TASK_INDEX.")] = 1
    lines: Annotated[str, typer.Option("--from", metavar="FILE", help="A task for each line: its arguments.")] = ""
    array: Annotated[str, typer.Option(metavar="0-9|1-100%5", help="A task for each index, 5 at once.")] = ""
    at_most: Annotated[str, typer.Option(metavar="N", help="So many tasks of --count or --from at once.")] = ""
    sweep: Annotated[
        Sequence[str],
        typer.Option(metavar="NAME=1,2|1..9:2", help="A task for each value: a parameter, or {NAME} in a command."),
    ] = ()
    # how its program is started, and again
    launch: Annotated[str, typer.Option(metavar="each|once", help="On each host, or on the first alone.")] = ""
    mpi: Annotated[str, typer.Option(metavar="openmpi|mpich|intel", help="Its mpirun starts ranks on all hosts.")] = ""
    processes_per_host: Annotated[int, typer.Option(metavar="N", min=1, help="Ranks on each host.")] = 1
    retries: Annotated[str, typer.Option(metavar="N", help="Where its program fails, so many more times.")] = ""
    requeue: Annotated[
        bool | None, typer.Option("--requeue/--no-requeue", help="Run again where a host is lost under it.")
    ] = None
    priority: Annotated[str, typer.Option(metavar="N", help="Among your own tasks, the higher first; 0.")] = ""
    # what it takes of each host
    memory: Annotated[str, typer.Option(metavar="SIZE", help="What it needs on each host: 4G.")] = ""
    cores: Annotated[str, typer.Option(metavar="N|A-B", help="Likewise; of a range cosched chooses.")] = ""
    processes: Annotated[str, typer.Option(metavar="N|A-B", help="Ranks on all hosts; cosched divides them.")] = ""
    gpus: Annotated[str, typer.Option(metavar="N", help="What it needs on each host.")] = ""
    memory_per_process: Annotated[str, typer.Option(metavar="SIZE", help="What each rank of a host needs: 2G.")] = ""
    cores_per_process: Annotated[str, typer.Option(metavar="N", help="Likewise.")] = ""
    gpus_per_process: Annotated[str, typer.Option(metavar="N", help="Likewise.")] = ""
    exclusive: Annotated[bool, typer.Option("--exclusive", help="No other task on its hosts.")] = False
    # what else it takes
    licences: Annotated[str, typer.Option(metavar="NAME[:N],…", help="Of the domain, while it runs: matlab:2.")] = ""
    least_quality: Annotated[
        str, typer.Option(metavar="Q", help="Of a tunable application: no way of less quality.")
    ] = ""
    observe: Annotated[bool, typer.Option("--observe", help="Watch its program; `model fit` learns of it.")] = False
    # workers that come and go
    elastic: Annotated[str, typer.Option(metavar="workers|restart", help="Its hosts may change while it runs.")] = ""
    worker: Annotated[str, typer.Option(metavar="PROGRAM", help="What runs on each host but the first.")] = ""
    grace: Annotated[str, typer.Option(metavar="DURATION", help="For a worker to leave, a program to stop.")] = ""
    restart_cost: Annotated[str, typer.Option(metavar="DURATION", help="Of a checkpoint and reading it.")] = ""
    force_stop: Annotated[bool, typer.Option("--force-stop", help="End what has not stopped by then.")] = False
    dask: Annotated[str, typer.Option(metavar="SCRIPT", help="Elastic: Python with a Dask cluster on its hosts.")] = ""
    # of the submission itself
    best_effort: Annotated[bool, typer.Option("--best-effort", help="Also if the deadline cannot be met.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would come of it.")] = False


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its parameter `options` as options of its own, in their place.

    Args:
        command: `options` is annotated with a dataclass whose fields are annotated for typer.
    """
    own = inspect.signature(command)
    kind = own.parameters["options"].annotation
    hints = get_type_hints(kind, include_extras=True)
    repeated = {field.name for field in fields(kind) if get_args(hints[field.name])[0] == Sequence[str]}
    parameters = []
    for parameter in own.parameters.values():
        if parameter.name != "options":
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for field in fields(kind):
            hint, default = hints[field.name], field.default
            if field.name in repeated:
                hint, default = Annotated[list[str] | None, *get_args(hint)[1:]], None
            parameters.append(
                inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            )

    @wraps(command)
    def run(**given: Any) -> None:
        values = {field.name: given.pop(field.name) for field in fields(kind)}
        for name in repeated:
            values[name] = tuple(values[name] or ())
        command(**given, options=kind(**values))

    vars(run)["__signature__"] = own.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
