"""`cosched host`: the hosts of the domain."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, print_table, remove_each
from cosched.durations import format_duration
from cosched.errors import UserError
from cosched.sizes import format_memory

if TYPE_CHECKING:
    from cosched.api.documents import HostLoadView, HostView

__all__ = ["app"]

app = typer.Typer()
_FORETOLD = 4  # hours
_SATURATED = 0.95  # of an hour: what is left is of no use, and plans reckon with the greatest load that they know
_CAUSES = {"owner": "its owner", "jobs": "foreign jobs"}


@app.command("list")
def list_hosts(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the hosts: what they have, or what is free of it, up or down, and which tasks run there until when."""
    with connect(server) as client:
        hosts = client.hosts()
    if json:
        emit_json([asdict(host) for host in hosts])
        return
    rows = [
        (
            host.name,
            host.host_class,
            host.cluster,
            *_sizes(host),
            _state(host),
            ", ".join(host.tasks) or host.task,
            host.owner,
            format_optional_time(host.free_at),
            host.reason or host.reserved,
        )
        for host in hosts
    ]
    free = "FREE " if any(host.free is not None for host in hosts) else ""
    sizes = (f"{free}MEMORY", f"{free}CORES", f"{free}GPUS")
    print_table(("HOST", "CLASS", "CLUSTER", *sizes, "STATE", "TASK", "OWNER", "FREE AT", "REASON"), rows)


def _sizes(host: HostView) -> tuple[str, str, str]:
    """Return memory, cores and GPUs, "4 of 8" where tasks share the host."""
    memory, cores, gpus = ("" if size is None else str(size) for size in (host.memory, host.cores, host.gpus))
    memory = memory and format_memory(int(memory))
    if (free := host.free) is None:
        return memory, cores, gpus
    left = "" if free.memory is None else f"{format_memory(free.memory)} of "
    return f"{left}{memory}", f"{free.cores} of {cores or 1}", f"{free.gpus} of {gpus}" if gpus else ""


@app.command("load")
def show_load(
    name: Annotated[str, typer.Argument(help="Of this host alone, with the coming hours.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show what owners and foreign jobs take of hosts: now, in the coming hours, and in plans."""
    with connect(server) as client:
        loads = [load for load in client.host_loads() if name in ("", load.host)]
        if name and not loads and name not in {host.name for host in client.hosts()}:
            raise UserError(f"there is no host {name!r}: `cosched host list` shows all")
    if json:
        emit_json([asdict(load) for load in loads])
        return
    if not loads:
        sys.stdout.write("Nobody else was seen at it.\n" if name else "Nobody else was seen at these hosts.\n")
        return
    print_table(
        ("HOST", "TAKEN BY", "NOW", "THIS HOUR", f"NEXT {_FORETOLD} H", "PLANNED", "COMES", "STAYS"),
        [_load_row(load) for load in loads],
    )
    for load in loads if name else ():
        hours = " ".join(f"{part:.0%}" for part in load.coming)
        sys.stdout.write(f"{_CAUSES[load.cause]}, hour by hour from now: {hours}\n")


def _load_row(load: HostLoadView) -> tuple[str, ...]:
    following = load.coming[1 : 1 + _FORETOLD]
    return (
        load.host,
        _CAUSES[load.cause],
        f"{load.now:.0%}",
        f"{load.coming[0]:.0%}{' (saturated)' if load.coming[0] >= _SATURATED else ''}",
        f"{sum(following) / len(following):.0%}",
        f"{load.planned:.0%}{' (changed)' if load.departed else ''}" if load.cause == "owner" else "",
        f"{load.rate:.1f} times an hour" if load.rate else "",
        format_duration(load.mean) if load.mean else "",
    )


@app.command()
def reserve(
    hosts: Annotated[list[str], typer.Argument(metavar="HOST…", help="From `cosched host list`.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="now+2h30m, 18:00, 2030-01-31T18:00, …")],
    from_: Annotated[str, typer.Option("--from", metavar="TIME", help="Likewise; left out: now.")] = "",
    name: Annotated[str, typer.Option(help="What for, for people.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Reserve hosts: no task starts that would run into the reservation. For administrators."""
    from cosched.api.documents import ReservationRequest

    now = time.time()
    begin, begins = parse_typed_deadline(from_, now, "start of the reservation") if from_ else (None, "")
    end, ends = parse_typed_deadline(until, now, "end of the reservation")
    with connect(server) as client:
        made = client.reserve(ReservationRequest(hosts=tuple(hosts), start=begin, end=end, name=name))
    for note in filter(None, (begins, ends)):
        sys.stderr.write(f"cosched: {note}\n")
    if made.tasks:
        sys.stderr.write(f"cosched: predicted to run into it, and left to run: {', '.join(made.tasks)}\n")
    if json:
        emit_json(asdict(made))
        return
    sys.stdout.write(
        f"{made.id}: {', '.join(made.hosts)} reserved from {format_optional_time(made.start)} "
        f"until {format_optional_time(made.end)}\n"
    )


@app.command("reservations")
def list_reservations(server: ServerOption = "", json: JsonOption = False) -> None:
    """List present and coming reservations, and who made them."""
    with connect(server) as client:
        found = client.reservations()
    if json:
        emit_json([asdict(each) for each in found])
        return
    rows = [
        (
            each.id,
            each.name,
            " ".join(each.hosts),
            format_optional_time(each.start),
            format_optional_time(each.end),
            each.owner,
        )
        for each in found
    ]
    print_table(("ID", "NAME", "HOSTS", "FROM", "UNTIL", "BY"), rows)


@app.command()
def release(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="From `cosched host reservations`.")],
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Release reservations. For administrators."""
    with connect(server) as client:
        remove_each(ids, client.release, "reservation {} released", json=json)


def _state(host: HostView) -> str:
    if not host.up:
        return "down"
    return "reserved" if host.reserved else "up"


@app.command("glue")
def describe(
    server: ServerOption = "",
    ldif: Annotated[bool, typer.Option("--ldif/--xml", help="LDIF for a directory, or XML.")] = False,
) -> None:
    """Describe the domain in GLUE 2.0 for information services."""
    with connect(server) as client:
        sys.stdout.write(client.glue(ldif=ldif))
