"""`cosched model import-calypso`: PSL of the tunable constructs in a source of Calypso."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cosched.cli.output import JsonOption, console, emit_json, write_text
from cosched.errors import UserError
from cosched.language import Source, parse_psl, read
from cosched.language.checks.objects import check_object
from cosched.modelling.calypso import import_calypso
from cosched.modelling.writing import model_name

__all__ = ["import_source"]


def import_source(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A source with tasks of Calypso.")],
    output: Annotated[
        Path | None, typer.Option("--out", help="Write the model into this file, which must be new; default: print it.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the application; default: the file's.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a tunable application in PSL of task_control_parameters, task, task_select and task_loop in any source.

    Times in the source are seconds. What is read otherwise than it is written is told on standard error. Exit code 1
    where the model has faults, which `cosched model check` would find. With --json: {"model", "warnings", "faults"},
    the last two lists of {"file", "line", "column", "message"}.
    """
    if output is not None and output.exists():
        raise UserError(f"{output} is there already: choose another --out, or remove it")
    found = import_calypso(read(file), name or model_name(file.stem))
    place = str(output or f"{name or model_name(file.stem)}.psl")
    faults = [fault for item in parse_psl(Source(place, found.text)) for fault in check_object(item)]
    if output is not None:
        write_text(output, found.text)
    if as_json:
        rows = [
            [{"file": d.file, "line": d.line, "column": d.column, "message": d.message} for d in some]
            for some in (found.warnings, faults)
        ]
        emit_json({"model": found.text, "warnings": rows[0], "faults": rows[1]})
    else:
        for warning in found.warnings:
            sys.stderr.write(f"cosched: {warning}\n")
        if output is None:
            console.out(found.text, end="", highlight=False)
        for fault in faults:
            sys.stderr.write(f"cosched: {fault}\n")
    if faults:
        raise typer.Exit(1)
