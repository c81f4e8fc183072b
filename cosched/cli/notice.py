"""`cosched notice`: lines for everybody, which all pages show until a time."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, print_table, remove_each

__all__ = ["app"]

app = typer.Typer()


@app.command("list")
def list_notices(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the notices that are shown now."""
    with connect(server) as client:
        found = client.notices()
    if json:
        emit_json([asdict(each) for each in found])
        return
    rows = [(each.id, each.text, format_optional_time(each.until), each.by) for each in found]
    print_table(("ID", "NOTICE", "UNTIL", "BY"), rows)


@app.command()
def write(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One line, in quotes.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="now+2h30m, 18:00, 2030-01-31T18:00, …")],
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show a line on all pages until a time. For administrators."""
    from cosched.api.documents import NoticeRequest

    end, note = parse_typed_deadline(until, time.time(), "end of the notice")
    with connect(server) as client:
        made = client.write_notice(NoticeRequest(text=text, until=end))
    if note:
        sys.stderr.write(f"cosched: {note}\n")
    if json:
        emit_json(asdict(made))
        return
    sys.stdout.write(f"{made.id}: shown until {format_optional_time(made.until)}\n")


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="From `cosched notice list`.")],
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show notices no more. For administrators."""
    with connect(server) as client:
        remove_each(ids, client.remove_notice, "notice {} removed", json=json)
