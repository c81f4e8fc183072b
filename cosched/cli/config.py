"""`cosched config`: the configuration in force."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cosched.cli.output import JsonOption, clean, emit_json, print_table

__all__ = ["app"]

app = typer.Typer()


@app.callback()
def no_command() -> None:
    """Keep `show` a command of its own although it is the only one."""


@app.command()
def show(
    config: Annotated[Path | None, typer.Option("--config", help="The file; else the usual places.")] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    json: JsonOption = False,
) -> None:
    """Check and print every value in force; exit code 1 if one is wrong."""
    from cosched.daemon.config.hardware_names import unknown_hardware
    from cosched.daemon.config.loading import read_configuration

    checked, found = read_configuration(config)
    for line in unknown_hardware(checked):
        sys.stderr.write(f"cosched: {clean(line)}\n")
    if json:
        emit_json([asdict(setting) for setting in found])
        return
    rows = [(setting.key, json_module.dumps(setting.value), setting.origin if origin else "") for setting in found]
    print_table(("KEY", "VALUE", "ORIGIN" if origin else ""), rows)
