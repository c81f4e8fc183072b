"""`cosched audit`: who changed what."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

from dataclasses import asdict

import typer

from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, LimitOption, OffsetOption, emit_json, print_table

__all__ = ["app"]

app = typer.Typer()


@app.callback()
def no_command() -> None:
    """Keep `list` a command of its own although it is the only one."""


@app.command("list")
def list_audit(
    limit: LimitOption = 100,
    offset: OffsetOption = 0,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List logins and changes of tokens and accounts, newest first; for administrators."""
    with connect(server) as client:
        entries = client.audit(limit, offset)
    if json:
        emit_json([asdict(entry) for entry in entries])
        return
    rows = [
        (format_optional_time(entry.time), entry.user, entry.how, entry.address, entry.action, entry.detail)
        for entry in entries
    ]
    print_table(("TIME", "USER", "BY", "FROM", "ACTION", "DETAIL"), rows)
