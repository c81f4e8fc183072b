"""`cosched portal`: a link that opens the pages, logged in."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
from dataclasses import asdict

from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json

__all__ = ["command"]


def command(server: ServerOption = "", json: JsonOption = False) -> None:
    """Print a link that logs your browser in as you.

    It works once, within five minutes.
    """
    with connect(server) as client:
        link = client.login_link()
    if json:
        emit_json(asdict(link))
        return
    sys.stdout.write(f"{link.url}\n")
