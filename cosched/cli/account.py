"""`cosched account`: local accounts, for sites without a login of their own."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import getpass
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, emit_json, print_table
from cosched.errors import UserError

__all__ = ["app"]

app = typer.Typer()

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Of the account.")]
RoleOption = Annotated[str, typer.Option(help="user, operator or administrator.")]
FileOption = Annotated[Path | None, typer.Option(help="The password is its first line; else it is asked for.")]


@app.command()
def add(
    name: NameArgument,
    role: RoleOption = "user",
    password_file: FileOption = None,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Add an account."""
    from cosched.api.documents import AccountRequest

    request = AccountRequest(name=name, password=_password(password_file), role=role)
    with connect(server) as client:
        made = client.add_account(request)
    if json:
        emit_json(asdict(made))
        return
    sys.stdout.write(f"account {made.name} added ({made.role})\n")


@app.command("list")
def list_accounts(server: ServerOption = "", json: JsonOption = False) -> None:
    """List accounts."""
    with connect(server) as client:
        accounts = client.accounts()
    if json:
        emit_json([asdict(account) for account in accounts])
        return
    rows = [
        (
            account.name,
            account.role,
            "enabled" if account.enabled else "disabled",
            format_optional_time(account.created),
        )
        for account in accounts
    ]
    print_table(("NAME", "ROLE", "STATE", "CREATED"), rows)


@app.command("set")
def change(
    name: NameArgument,
    role: Annotated[str | None, typer.Option(help="user, operator or administrator.")] = None,
    password: Annotated[bool, typer.Option("--password", help="Ask for a new password.")] = False,
    password_file: FileOption = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it may be used.")] = None,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Change an account; its logins and tokens end."""
    from cosched.api.documents import AccountChange

    if role is None and enabled is None and not password and password_file is None:
        raise UserError("nothing is set: give --role, --password, --password-file, --enable or --disable")
    new = _password(password_file) if password or password_file is not None else None
    with connect(server) as client:
        made = client.change_account(name, AccountChange(password=new, role=role, enabled=enabled))
    if json:
        emit_json(asdict(made))
        return
    sys.stdout.write(f"account {made.name} changed ({made.role}, {'enabled' if made.enabled else 'disabled'})\n")


@app.command()
def remove(name: NameArgument, server: ServerOption = "", json: JsonOption = False) -> None:
    """Remove an account with its logins and tokens; its user's tasks stay."""
    with connect(server) as client:
        client.remove_account(name)
    if json:
        emit_json({"name": name})
        return
    sys.stdout.write(f"account {name} removed\n")


def _password(file: Path | None) -> str:
    if file is not None:
        from cosched.secret_files import read_secret

        return read_secret(file, "the password file")
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UserError("the two passwords differ: try again")
    return password
