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
    """List logins, tokens and accounts given out or taken back, newest first; for administrators."""
    with connect(server) as client:
        deeds = client.audit(limit, offset)
    if json:
        emit_json([asdict(deed) for deed in deeds])
        return
    rows = [
        (format_optional_time(deed.time), deed.user, deed.how, deed.address, deed.action, deed.detail) for deed in deeds
    ]
    print_table(("TIME", "USER", "BY", "FROM", "ACTION", "DETAIL"), rows)
