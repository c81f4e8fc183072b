"""`cosched library`: the catalogue and the models of the daemon."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from cosched.api.documents import ParameterView
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, clean, emit_json, print_table
from cosched.errors import UserError

__all__ = ["app"]

app = typer.Typer()

_NAME = Annotated[str, typer.Argument(metavar="NAME", help="Name of the model.")]


@app.command()
def applications(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the applications that can be submitted by name, with their parameters."""
    with connect(server) as client:
        found = client.applications()
    if json:
        emit_json([asdict(entry) for entry in found])
        return
    rows = [
        (
            entry.name,
            entry.model,
            f"{entry.least}-{entry.most or ''}",
            ", ".join(map(_written, entry.parameters)),
            entry.description,
        )
        for entry in found
    ]
    print_table(("APPLICATION", "MODEL", "HOSTS", "PARAMETERS", "WHAT IT IS"), rows)


@app.command()
def models(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the models of applications, templates and hardware."""
    with connect(server) as client:
        found = client.models()
    if json:
        emit_json([asdict(model) for model in found])
        return
    print_table(("KIND", "NAME", "WHAT IT IS"), [(model.kind, model.name, model.title) for model in found])


@app.command()
def source(
    name: _NAME,
    kind: Annotated[str, typer.Option(help="applications, templates or hardware.")] = "applications",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Print the text of a model."""
    with connect(server) as client:
        found = client.model(kind, name)
    if json:
        emit_json(asdict(found))
    else:
        sys.stdout.write("".join(f"{clean(line)}\n" for line in found.text.splitlines()))


@app.command()
def curves(
    name: _NAME,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter.")] = None,
    hosts: Annotated[int, typer.Option(min=1, max=256, help="Up to how many hosts.")] = 16,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Print the run times of an application model on every hardware."""
    with connect(server) as client:
        found = client.curves(name, dict(map(_setting, settings or ())), hosts)
    if json:
        emit_json(asdict(found))
        return
    counts = range(1, hosts + 1)
    rows = [
        (hardware, *("" if value is None else f"{value:.4g}" for value in profile.seconds))
        for hardware, profile in found.profiles.items()
    ]
    print_table(("SECONDS ON", *map(str, counts)), rows)
    for hardware, fault in found.faults.items():
        sys.stderr.write(f"cosched: {clean(f'{hardware}: {fault}')}\n")


def _written(parameter: ParameterView) -> str:
    return parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}"


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise UserError(f"--set {text!r} sets no parameter: write NAME=NUMBER") from error
