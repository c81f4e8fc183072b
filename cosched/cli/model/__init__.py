"""`cosched model`: check PSL and HMCL files, predict run times from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cosched.cli.model.arguments import catalogued, model_folders, stage_faults
from cosched.cli.model.carry_command import carry
from cosched.cli.model.derive_command import derive
from cosched.cli.model.explain_command import explain
from cosched.cli.model.fit_command import fit
from cosched.cli.model.history_command import history
from cosched.cli.model.import_command import import_source
from cosched.cli.model.observe_command import observe
from cosched.cli.model.predict_command import predict
from cosched.cli.model.tunable_command import MOST_STAGE_HOSTS, tunable
from cosched.cli.model.validate_command import validate
from cosched.cli.output import JsonOption, console, emit_json, finite, write_text
from cosched.errors import UserError
from cosched.evaluation import Application, load, load_hardware, parameters
from cosched.language import Linker, check_files, format_source, read
from cosched.language.library import locate
from cosched.scheduling.tunable.modelled import request_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.language import Diagnostic

__all__ = ["app"]

app = typer.Typer(help="Check and evaluate performance models.", no_args_is_help=True)


@app.command()
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE…]",
            help="PSL (.psl) and HMCL (.hmcl) files; without any: the models of the daemon's catalogue.",
        ),
    ] = None,
    hardware: Annotated[
        str,
        typer.Option(help="Whose costs the models need; default: each model's hrduse, of a catalogue the domain's."),
    ] = "",
    config: Annotated[
        Path | None, typer.Option(help="Search the [models] folders of this configuration; else of that in force.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print every fault of all files with its place; exit code 1 if any.

    With --json: a list of {"file", "line", "column", "message"}.
    """
    library = model_folders(config)
    machine = locate(hardware, ".hmcl", "hardware", library) if hardware else None
    of_catalogue = not files
    if not files:
        files, domain = catalogued(config)
        machine = machine or domain
        files.append(machine)
    faults = check_files(files, library, machine)
    if not faults:
        faults = [fault for file in files if file.suffix == ".psl" for fault in _request_faults(file, library, machine)]
    if of_catalogue and not faults and (unknown := stage_faults(config)):
        raise UserError("; ".join(unknown))
    if as_json:
        emit_json([{"file": d.file, "line": d.line, "column": d.column, "message": d.message} for d in faults])
    else:
        for fault in faults:
            console.print(fault.render(), markup=False)
        if not faults:
            console.print(f"{len(files)} file{'s' if len(files) > 1 else ''} checked: no faults", markup=False)
    if faults:
        raise typer.Exit(1)


def _request_faults(file: Path, library: Sequence[Path], machine: Path | None) -> list[Diagnostic]:
    """Return the faults of the models that the stages of tunable applications ask, where their hardware is known."""
    faults: list[Diagnostic] = []
    for linked in Linker(library).file(file) if "tunable" in read(file).text else ():
        model = Application(linked.object.name, str(file), linked)
        if linked.object.kind == "application" and (machine or model.hardware):
            hardware = load_hardware(machine or model.hardware, library, file.parent)
            faults += request_faults(model, hardware, MOST_STAGE_HOSTS)
    return faults


@app.command("format")
def format_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PSL (.psl) and HMCL (.hmcl) files.")],
    only_check: Annotated[bool, typer.Option("--check", help="Change nothing; exit code 1 if a file would.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Give files the canonical layout; meaning and comments stay.

    Prints the name of each file that changes. With --json: a list of them.
    """
    texts = {path: read(path) for path in files}
    laid_out = {path: format_source(source) for path, source in texts.items()}
    changed = [path for path in files if laid_out[path] != texts[path].text]
    for path in changed if not only_check else ():
        write_text(path, laid_out[path])
    if as_json:
        emit_json([str(path) for path in changed])
    else:
        for path in changed:
            console.print(str(path), markup=False)
    if only_check and changed:
        raise typer.Exit(1)


app.command()(predict)
app.command()(explain)
app.command()(history)
app.command()(observe)
app.command()(derive)
app.command()(fit)
app.command()(validate)
app.command()(carry)
app.command()(tunable)
app.command("import-calypso")(import_source)


@app.command("parameters")
def list_parameters(
    application: Annotated[str, typer.Argument(metavar="APP", help="Name in models/ or a .psl file.")],
    as_json: JsonOption = False,
) -> None:
    """Print the parameters of a model, with defaults and limits.

    With --json: a list of {"name", "default", "min", "max"}; null where the model does not say.
    """
    found = parameters(load(application, model_folders()))
    if as_json:
        emit_json(
            [
                {"name": item.name, "default": item.default, "min": finite(item.least), "max": finite(item.most)}
                for item in found
            ]
        )
        return
    for item in found:
        default = "no default" if item.default is None else f"default {item.default:g}"
        limits = f", {item.least:g} to {item.most:g}" if math.isfinite(item.least) else ""
        console.print(f"{item.name:20} {default}{limits}", markup=False)
