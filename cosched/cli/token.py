"""`cosched token`: tokens with which programs prove who they are."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, print_table, remove_each
from cosched.durations import parse_duration

__all__ = ["app"]

app = typer.Typer()


@app.command()
def create(
    user: Annotated[str, typer.Option(help="Whose; else yours. Others' for administrators.")] = "",
    role: Annotated[str, typer.Option(help="user, operator or administrator; at most yours.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="read, submit, manage or metrics; several times for more.")
    ] = None,
    lifetime: Annotated[str, typer.Option(metavar="DURATION", help="How long it is good for.")] = "30d",
    note: Annotated[str, typer.Option(help="Where it is used, for people.")] = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Create a token and print it: it is shown now and never again."""
    from cosched.api.documents import TokenRequest

    request = TokenRequest(
        user=user,
        role=role,
        scopes=tuple(scope or ("read", "submit")),
        lifetime=parse_duration(lifetime, "--lifetime"),
        note=note,
    )
    with connect(server) as client:
        made = client.create_token(request)
    if json:
        emit_json(asdict(made))
        return
    sys.stderr.write(
        f"cosched: token {made.id} of {made.user}, good until {format_optional_time(made.expires)}; keep it secret, "
        "for example in the file that COSCHED_TOKEN_FILE names\n"
    )
    sys.stdout.write(f"{made.token}\n")


@app.command("list")
def list_tokens(
    everybody: Annotated[bool, typer.Option("--all", help="Also those of others; for administrators.")] = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List tokens, without their secrets."""
    with connect(server) as client:
        tokens = client.tokens(everybody=everybody)
    if json:
        emit_json([asdict(token) for token in tokens])
        return
    rows = [
        (
            token.id,
            token.user,
            token.role,
            token.source,
            " ".join(token.scopes),
            format_optional_time(token.expires),
            token.note,
        )
        for token in tokens
    ]
    print_table(("ID", "USER", "ROLE", "SOURCE", "SCOPES", "EXPIRES", "NOTE"), rows)


@app.command()
def revoke(
    token_ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Identifiers, from `cosched token list`.")],
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Revoke tokens."""
    with connect(server) as client:
        remove_each(token_ids, client.revoke_token, "token {} revoked", json=json)
