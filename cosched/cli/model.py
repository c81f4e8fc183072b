"""`cosched model`: check PSL and HMCL files, predict run times from them."""

from __future__ import annotations

import json
import math
from pathlib import Path  # noqa: TC003  typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from cosched.cli.counts import parse_counts
from cosched.cli.output import JsonOption, console, emit_json, finite
from cosched.errors import UserError
from cosched.evaluation import error, evaluate, load, load_hardware, parameters, profile
from cosched.evaluation.trace import chrome_trace
from cosched.language import check_files, default_library, format_source, read
from cosched.plot import Line, line_plot

if TYPE_CHECKING:
    from cosched.evaluation import Application, Hardware

__all__ = ["app"]

# Enough for a wavefront on 10,000 processors: a process of the user's own may take 1 GB for that, the daemon may not.
_STEPS_OF_ONE = 50_000_000

app = typer.Typer(help="Check and evaluate performance models.", no_args_is_help=True)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PSL (.psl) and HMCL (.hmcl) files.")],
    as_json: JsonOption = False,
) -> None:
    """Print every fault of all files, each with its place; exit code 1 if there is one.

    With --json: a list of {"file", "line", "column", "message"}.
    """
    faults = check_files(files, default_library())
    if as_json:
        emit_json([{"file": d.file, "line": d.line, "column": d.column, "message": d.message} for d in faults])
    else:
        for fault in faults:
            console.print(fault.render(), markup=False)
        if not faults:
            console.print(f"{len(files)} file{'s' if len(files) > 1 else ''} checked: no faults", markup=False)
    if faults:
        raise typer.Exit(1)


@app.command("format")
def format_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PSL (.psl) and HMCL (.hmcl) files.")],
    only_check: Annotated[bool, typer.Option("--check", help="Change nothing; exit code 1 if a file would.")] = False,
) -> None:
    """Give files the canonical layout; what they say, their line breaks and their comments stay.

    Prints the name of each file that changes.
    """
    texts = {path: read(path) for path in files}
    laid_out = {path: format_source(source) for path, source in texts.items()}
    changed = [path for path in files if laid_out[path] != texts[path].text]
    for path in changed:
        console.print(str(path), markup=False)
        if not only_check:
            _write(path, laid_out[path])
    if only_check and changed:
        raise typer.Exit(1)


@app.command()
def predict(
    application: Annotated[str, typer.Argument(metavar="APP", help="Name in models/ or a .psl file.")],
    hardware: Annotated[str, typer.Option(help="Name in models/ or an .hmcl file; default: the model's hrduse.")] = "",
    hosts: Annotated[str, typer.Option(help="Numbers of hosts: 8, 1-16 or 1,2,4.")] = "1-16",
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write a timeline on the most hosts (Chrome trace JSON).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw run time by number of hosts into this SVG file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the predicted run time for each number of hosts.

    With --json: {"application", "hardware", "parameters", "hosts", "seconds"}, and where the model states its error
    also "low" (a run in twenty is shorter) and "high" (one in twenty is longer); null where a number cannot be used.
    """
    model = load(application)
    resource = load_hardware(hardware or _named(model))
    given, counts = _settings(settings or []), parse_counts(hosts)
    steps = _STEPS_OF_ONE if len(counts) == 1 else None
    seconds = [float(value) for value in profile(model, resource, counts, given, steps=steps)]
    if trace is not None:
        most = max(count for count, value in zip(counts, seconds, strict=True) if math.isfinite(value))
        _write_trace(trace, model, resource, most, given)
    wrong = error(model, resource, counts, given)
    low, high = (None if wrong is None else (np.array(seconds) * (1 + side * wrong)).tolist() for side in (-1, 1))
    if plot is not None:
        line = Line(model.name, counts, seconds, low, high)
        _write(plot, line_plot([line], f"{model.name} on {resource.name}", "hosts", "predicted run time, s"))
    values = {item.name: given.get(item.name, item.default) for item in parameters(model)}
    if as_json:
        ends = {} if low is None or high is None else {"low": low, "high": high}
        emit_json({"application": model.name, "hardware": resource.name, "parameters": values, "hosts": counts,
                   **{name: [finite(value) for value in times]
                      for name, times in {"seconds": seconds, **ends}.items()}})  # fmt: skip
        return
    shown = ", ".join(f"{name} = {value:g}" for name, value in values.items() if value is not None)
    console.print(f"{model.name} on {resource.name}" + (f" ({shown})" if shown else ""), markup=False)
    for place, (count, value) in enumerate(zip(counts, seconds, strict=True)):
        text = _time(value)
        if low is not None and high is not None and math.isfinite(value):
            text += f"  {low[place]:.6g} to {high[place]:.6g} s"
        console.print(f"{count:>7} hosts  {text}", markup=False)


@app.command("parameters")
def list_parameters(
    application: Annotated[str, typer.Argument(metavar="APP", help="Name in models/ or a .psl file.")],
    as_json: JsonOption = False,
) -> None:
    """Print what may be set in a model, with defaults and limits.

    With --json: a list of {"name", "default", "min", "max"}; null where the model does not say.
    """
    found = parameters(load(application))
    if as_json:
        emit_json([{"name": item.name, "default": item.default, "min": finite(item.least), "max": finite(item.most)}
                   for item in found])  # fmt: skip
        return
    for item in found:
        default = "no default" if item.default is None else f"default {item.default:g}"
        limits = f", {item.least:g} to {item.most:g}" if math.isfinite(item.least) else ""
        console.print(f"{item.name:20} {default}{limits}", markup=False)


def _time(seconds: float) -> str:
    return f"{seconds:14.6g} s" if math.isfinite(seconds) else "cannot be used: the model does not cover it"


def _named(model: Application) -> str:
    if not model.hardware:
        raise UserError(f"{model.name} names no hardware in its option hrduse: give --hardware")
    return model.hardware


def _settings(settings: list[str]) -> dict[str, float]:
    given: dict[str, float] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        try:
            given[name.strip()] = float(value)
        except ValueError:
            raise UserError(f"--set {setting!r}: write NAME=NUMBER") from None
        if not separator or not name.strip():
            raise UserError(f"--set {setting!r}: write NAME=NUMBER")
    return given


def _write_trace(path: Path, model: Application, hardware: Hardware, count: int, given: dict[str, float]) -> None:
    evaluation = evaluate(model, hardware, count, given, trace=True)
    document: dict[str, Any] = chrome_trace(evaluation, f"{model.name} on {count} x {hardware.name}")
    _write(path, json.dumps(document, allow_nan=False))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise UserError(f"{path} cannot be written: {fault.strerror or fault}") from None
