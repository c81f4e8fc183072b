"""Tasks are cancelled, edited, held, released and submitted once more."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.documents.task_requests import TaskChange
from cosched.api.documents.tasks import TaskView
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, clean, print_answer
from cosched.cli.task.selection import (
    ArrayOption,
    IdsArgument,
    LateOption,
    NamedOption,
    NameOption,
    Selection,
    StateOption,
    UserOption,
)
from cosched.cli.task.submission import number_or_range, whole_number, whole_priority
from cosched.errors import SystemFault, UserError
from cosched.licence_requests import parse_licences

__all__ = ["changes"]

changes = typer.Typer()

PriorityOption = Annotated[str, typer.Option(metavar="N", help="Among your own tasks, the higher first.")]
MemoryOption = Annotated[str, typer.Option(metavar="SIZE", help="What it needs on each host: 4G.")]
TimeLimitOption = Annotated[str, typer.Option(metavar="DURATION", help="After this it may be ended; `none`.")]
HostsOption = Annotated[str, typer.Option(metavar="N|A-B", help="On how many hosts; predicted anew.")]
RuntimeOption = Annotated[
    str, typer.Option(metavar="TIME|N:TIME,…", help="How long it runs, in place of a prediction: 30m, or 4:30m,8:16m.")
]


@changes.command()
def cancel(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Cancel tasks: waiting ones will not run, jobs of running ones are ended.

    Chosen by options, your own alone, unless --user names another.
    """
    selection = Selection(user=user, name=name, states=state or (), late=late, array=array)
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids)
        _each(chosen, client.cancel, lambda _, task: f"task {task.id} is {task.state}", json=json)


@changes.command()
def edit(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    named: NamedOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    deadline: Annotated[str, typer.Option(help="As at submission; `none`: no deadline any more.")] = "",
    begin: Annotated[str, typer.Option(metavar="TIME", help="Not before this time; `now`: at once.")] = "",
    hosts: HostsOption = "",
    runtime: RuntimeOption = "",
    priority: PriorityOption = "",
    name: Annotated[str, typer.Option(help="What to call the task.")] = "",
    memory: MemoryOption = "",
    cores: Annotated[str, typer.Option(metavar="N|A-B", help="Likewise; of a range cosched chooses.")] = "",
    processes: Annotated[str, typer.Option(metavar="N|A-B", help="Ranks on all hosts; cosched divides them.")] = "",
    gpus: Annotated[str, typer.Option(metavar="N", help="What it needs on each host.")] = "",
    exclusive: Annotated[
        bool | None, typer.Option("--exclusive/--no-exclusive", help="No other task on its hosts.")
    ] = None,
    licences: Annotated[
        str, typer.Option(metavar="NAME[:N],…", help="Of the domain, while it runs; `none`: no more.")
    ] = "",
    retries: Annotated[str, typer.Option(metavar="N", help="Where its program fails, so many more times.")] = "",
    requeue: Annotated[
        bool | None, typer.Option("--requeue/--no-requeue", help="Run again where a host is lost under it.")
    ] = None,
    time_limit: TimeLimitOption = "",
    at_most: Annotated[str, typer.Option(metavar="N", help="So many tasks of its array at once; 0: all.")] = "",
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
        hosts=hosts or None,
        runtime=runtime or None,
        priority=whole_priority(priority),
        name=name or None,
        best_effort=best_effort,
        memory=memory or None,
        cores=number_or_range(cores, "--cores") if cores else None,
        processes=number_or_range(processes, "--processes") if processes else None,
        gpus=whole_number(gpus, "--gpus") if gpus else None,
        exclusive=exclusive,
        licences=parse_licences("" if licences == "none" else licences) if licences else None,
        retries=whole_number(retries, "--retries") if retries else None,
        requeue=requeue,
        time_limit=time_limit or None,
        array_at_most=whole_number(at_most, "--at-most") if at_most else None,
    )
    selection = Selection(user=user, name=named, states=state or (), late=late, array=array)
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids, ["queued"])
        _each(chosen, lambda task_id: client.edit(task_id, change), _said("is changed"), json=json)


@changes.command()
def hold(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Keep waiting tasks from being planned and started until they are released."""
    selection = Selection(user=user, name=name, states=state or (), late=late, array=array)
    with connect(server) as client:
        _each(selection.tasks(client, task_ids, ["queued"]), client.hold, _said("is held"), json=json)


@changes.command()
def release(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    name: NameOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Have held tasks planned again."""
    selection = Selection(user=user, name=name, states=state or (), late=late, array=array)
    with connect(server) as client:
        _each(selection.tasks(client, task_ids, ["queued"]), client.release_task, _said("is released"), json=json)


@changes.command()
def resubmit(
    task_ids: IdsArgument = None,
    user: UserOption = "",
    named: NamedOption = "",
    state: StateOption = None,
    late: LateOption = False,
    array: ArrayOption = "",
    deadline: Annotated[str, typer.Option(help="Another one, as at submission, or `none`; else as much time.")] = "",
    hosts: HostsOption = "",
    runtime: RuntimeOption = "",
    priority: PriorityOption = "",
    memory: MemoryOption = "",
    time_limit: TimeLimitOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Submit tasks once more, each with as much time until its deadline as it had.

    Chosen by options: those that failed or were cancelled, unless --state names others.
    """
    selection = Selection(user=user, name=named, states=state or (), late=late, array=array)
    change = TaskChange(
        deadline=_new_deadline(deadline),
        hosts=hosts or None,
        runtime=runtime or None,
        priority=whole_priority(priority),
        memory=memory or None,
        time_limit=time_limit or None,
    )
    with connect(server) as client:
        chosen = selection.tasks(client, task_ids, ["failed", "cancelled"])
        _each(
            chosen,
            lambda task_id: client.resubmit(task_id, change),
            lambda first, task: f"task {task.id} is task {first} once more",
            json=json,
        )


def _new_deadline(text: str, what: str = "deadline") -> float | str | None:
    """Return a deadline or a begin as it is sent, and tell what was assumed.

    None where none was typed.
    """
    if text in ("", "none" if what == "deadline" else "now"):
        return text or None
    when, note = parse_typed_deadline(text, time.time(), what)
    sys.stderr.write(f"cosched: {note}\n" if note else "")
    return when


def _said(done: str) -> Callable[[str, TaskView], str]:
    return lambda _, task: f"task {task.id} {done}"


def _each(
    task_ids: list[str], change: Callable[[str], TaskView], said: Callable[[str, TaskView], str], *, json: bool
) -> None:
    """Change tasks one by one, print those that were changed, and name those that cannot be.

    The exit code is 1 then.

    Args:
        task_ids: the tasks.
        change: changes one, and returns what came of it.
        said: returns what is printed of that, given also the task's identifier.
        json: print documents.

    Raises:
        SystemFault: the daemon does not answer; what was changed before is printed.
    """
    changed: list[tuple[str, TaskView]] = []
    refused: list[str] = []
    fault: SystemFault | None = None
    for task_id in task_ids:
        try:
            changed.append((task_id, change(task_id)))
        except UserError as error:
            refused.append(str(error))
        except SystemFault as error:
            fault = error
            break
    if changed or fault is None:
        print_answer(json, [asdict(task) for _, task in changed], lambda: [said(*each) for each in changed])
    sys.stderr.write("".join(f"cosched: {clean(reason)}\n" for reason in refused))
    if fault is not None:
        raise fault
    if refused:
        raise typer.Exit(1)
