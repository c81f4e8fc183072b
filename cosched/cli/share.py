"""`cosched share`: what users and groups are entitled to, and what they have had."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.documents import ShareView
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, figure, print_table
from cosched.errors import UserError

__all__ = ["app"]

app = typer.Typer()

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Of the user, with --group of the group.")]


@app.command("list")
def list_shares(server: ServerOption = "", json: JsonOption = False) -> None:
    """List what groups and users are entitled to, and who says so."""
    with connect(server) as client:
        found = client.shares()
    if json:
        emit_json([asdict(each) for each in found])
        return
    rows = [
        (
            _name(each),
            each.group,
            figure(each.weight, 3),
            _percent(each.entitled),
            "" if each.budget is None else figure(each.budget, 3),
            "" if each.hosts is None else str(each.hosts),
            "" if each.waiting is None else str(each.waiting),
            _source(each),
        )
        for each in found
    ]
    print_table(("SHARE", "GROUP", "WEIGHT", "ENTITLED", "BUDGET", "HOSTS", "WAITING", "FROM"), rows)


@app.command()
def usage(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show what groups and users have had; usage decays."""
    with connect(server) as client:
        found = client.shares()
    if json:
        emit_json([asdict(each) for each in found])
        return
    rows = [
        (
            _name(each),
            each.group,
            figure(each.host_hours, 3),
            _percent(each.used),
            _percent(each.entitled),
            "" if each.factor is None else f"{each.factor:.2f}",
            figure(each.claimed, 3) + ("" if each.budget is None else f" of {figure(each.budget, 3)}"),
            str(each.running_hosts) + ("" if each.hosts is None else f" of {each.hosts}"),
            str(each.waiting_tasks) + ("" if each.waiting is None else f" of {each.waiting}"),
        )
        for each in found
    ]
    print_table(
        ("SHARE", "GROUP", "HOST-HOURS", "USED", "ENTITLED", "FACTOR", "CLAIMED", "HOSTS", "WAITING"),
        rows,
    )


@app.command("set")
def change(
    name: NameArgument,
    group: Annotated[bool, typer.Option("--group", help="NAME is a group.")] = False,
    weight: Annotated[float | None, typer.Option(help="Part among users of the group, or among groups.")] = None,
    budget: Annotated[float | None, typer.Option(help="Host-hours that deadlines may claim in a window.")] = None,
    hosts: Annotated[int | None, typer.Option(help="Most hosts at once.")] = None,
    waiting: Annotated[int | None, typer.Option(help="Most waiting tasks.")] = None,
    into: Annotated[str | None, typer.Option(metavar="GROUP", help='Group of the user, "" for none.')] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Forget what was set by command first.")] = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Set a share; it wins over the configuration. For administrators."""
    from cosched.api.documents import ShareChange

    wanted = ShareChange(weight=weight, budget=budget, hosts=hosts, waiting=waiting, group=into, reset=reset)
    if wanted == ShareChange():
        raise UserError("nothing is set: give --weight, --budget, --hosts, --waiting, --into or --reset")
    with connect(server) as client:
        made = client.change_share("group" if group else "user", name, wanted)
    if json:
        emit_json(asdict(made))
        return
    note = "; it wins over the configuration until `--reset`" if made.source == "command" else ""
    sys.stdout.write(f"{_name(made)}: weight {figure(made.weight, 3)}, from {made.source}{note}\n")


def _name(share: ShareView) -> str:
    return f"group {share.name}" if share.kind == "group" else share.name


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _source(share: ShareView) -> str:
    if share.source != "command":
        return share.source
    return f"command of {share.by}, {format_optional_time(share.time)} (over the configuration)"
