"""`cosched host`: the hosts of the domain."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, print_table
from cosched.cli.times import shown_time

__all__ = ["app"]

app = typer.Typer()


@app.command("list")
def list_hosts(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the hosts: up or not, and what runs on them until when."""
    with connect(server) as client:
        hosts = client.hosts()
    if json:
        emit_json([asdict(host) for host in hosts])
        return
    rows = [
        (host.name, host.host_class, "up" if host.up else "down", host.task, shown_time(host.free_at), host.reason)
        for host in hosts
    ]
    print_table(("HOST", "CLASS", "STATE", "TASK", "FREE AT", "REASON"), rows)


@app.command("glue")
def describe(
    server: ServerOption = "",
    ldif: Annotated[bool, typer.Option("--ldif/--xml", help="LDIF for a directory, or XML.")] = False,
) -> None:
    """Describe the domain in GLUE 2.0 for information services."""
    with connect(server) as client:
        sys.stdout.write(client.glue(ldif=ldif))
