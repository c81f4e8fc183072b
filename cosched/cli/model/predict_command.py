"""`cosched model predict`: run times from models, as text, JSON, CSV, picture or timeline."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from cosched.api.parameter_values import parse_parameter_values
from cosched.cli.model.arguments import model_folders, parse_host_counts
from cosched.cli.output import JsonOption, console, emit_json, finite, write_text
from cosched.drawing.plot import Line, line_plot
from cosched.durations import format_duration
from cosched.errors import UserError
from cosched.evaluation import Application, Hardware, evaluate, load, load_hardware, parameters
from cosched.evaluation import predict as predicted
from cosched.evaluation.application import refuse_tunable
from cosched.evaluation.export.chrome import chrome_trace
from cosched.evaluation.export.paje import paje_trace
from cosched.language.vocabulary import TIME, UNITS, dimension

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.evaluation import Prediction
    from cosched.evaluation.report.sweep import PredictionCurve

__all__ = ["APPLICATION", "HARDWARE", "HOSTS", "SETTINGS", "hardware_of", "parameters_text", "predict"]

# Enough for a wavefront on 10,000 processors: a process of the user's own may take 1 GB for that, the daemon may not.
_STEPS_OF_ONE = 50_000_000
_MOST_LINES = 40
_CHROME = ".json"
_PAJE = (".paje", ".trace")

APPLICATION = typer.Argument(metavar="APP", help="Name in models/ or a .psl file.")
HARDWARE = typer.Option(help="Name in models/ or an .hmcl file; default: the model's hrduse.")
HOSTS = typer.Option(help="Numbers of hosts: 8, 1-16 or 1,2,4.")
SETTINGS = typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; 1,2,4 or 1..10:2 or 1..64:*2 sweeps it.")


def predict(
    application: Annotated[str, APPLICATION],
    hardware: Annotated[str, HARDWARE] = "",
    hosts: Annotated[str, HOSTS] = "1-16",
    settings: Annotated[list[str] | None, SETTINGS] = None,
    trace: Annotated[
        Path | None,
        typer.Option(help="Write a timeline on the most hosts: FILE.json (Perfetto) or FILE.paje (Pajé)."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw run time by number of hosts into this SVG file.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table with a row for each prediction.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the predicted run time for each number of hosts.

    With --json: {"application", "hardware", "parameters", "hosts", "seconds"}, and where the model states its error
    also "low" (a run in twenty is shorter) and "high" (one in twenty is longer); null where a number cannot be used.
    In a sweep "seconds", "low" and "high" are in the entries of a list, "sweep", each with its "parameters".
    """
    folders = model_folders()
    model = load(application, folders)
    machine = hardware_of(model, hardware, folders)
    given, counts = parse_parameter_values(settings or []), parse_host_counts(hosts)
    if as_csv and as_json:
        raise UserError("--csv and --json exclude one another: choose one")
    found = predicted(model, machine, counts, given, steps=_STEPS_OF_ONE if len(counts) == 1 else None)
    if trace is not None:
        _write_trace(trace, model, machine, found, given)
    if plot is not None:
        curves = list(found.curves())
        if len(curves) > _MOST_LINES:
            raise UserError(f"--plot would draw {len(curves)} lines: sweep over at most {_MOST_LINES} combinations")
        lines = [
            Line(parameters_text(curve.values, model) or found.application, counts, *curve[1:]) for curve in curves
        ]
        title = f"{found.application} on {found.hardware}"
        write_text(plot, line_plot(lines, title, "hosts", "predicted run time, s"))
    if as_json:
        emit_json(_document(found))
    elif as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(_rows(found))
    else:
        _print(found, model)


def hardware_of(model: Application, name: str, folders: Sequence[Path]) -> Hardware:
    """Return the hardware of that name; without a name, the model's own.

    A file beside the model comes before those of the folders.
    """
    if not (name or model.hardware):
        refuse_tunable(model)
        raise UserError(f"{model.name} names no hardware in its option hrduse: give --hardware")
    return load_hardware(name or model.hardware, folders, Path(model.file).parent)


def parameters_text(values: Mapping[str, float] | Mapping[str, float | None], model: Application) -> str:
    """Return parameters that have a value for people: `a = 1, launcher = 1.2 s`.

    Args:
        values: by name, in base units.
        model: tells which of them have a unit.
    """
    units = {item.name: item.unit for item in parameters(model)}
    return ", ".join(
        f"{name} = {_quantity_text(value, units.get(name, ''))}" for name, value in values.items() if value is not None
    )


def _quantity_text(value: float, unit: str) -> str:
    if not unit:
        return f"{value:g}"
    return format_duration(1e-6 * value) if dimension(unit) == TIME else f"{value / UNITS[unit]:g} {unit}"


def _document(found: Prediction) -> dict[str, Any]:
    head = {
        "application": found.application,
        "hardware": found.hardware,
        "parameters": found.parameters,
        "hosts": found.hosts.tolist(),
    }
    if not found.swept:
        return {**head, **_times(next(found.curves()))}
    return {**head, "sweep": [{"parameters": curve.values, **_times(curve)} for curve in found.curves()]}


def _times(curve: PredictionCurve) -> dict[str, list[float | None]]:
    columns = {"seconds": curve.seconds, "low": curve.low, "high": curve.high}
    return {name: [finite(value) for value in times.tolist()] for name, times in columns.items() if times is not None}


def _rows(found: Prediction) -> Iterator[list[object]]:
    """Yield the heading and a row for each prediction.

    A time is empty where a number of hosts cannot be used.
    """
    ends = ["low", "high"] if found.low is not None else []
    yield [*found.swept, "hosts", "seconds", *ends]
    for curve in found.curves():
        times = list(_times(curve).values())
        for count, *row in zip(found.hosts.tolist(), *times, strict=True):
            yield [
                *(f"{value:.12g}" for value in curve.values.values()),
                count,
                *("" if value is None else repr(value) for value in row),
            ]


def _print(found: Prediction, model: Application) -> None:
    shown = parameters_text(found.parameters, model)
    console.print(f"{found.application} on {found.hardware}" + (f" ({shown})" if shown else ""), markup=False)
    for values, seconds, low, high in found.curves():
        if values:
            console.print(parameters_text(values, model), markup=False)
        for place, (count, value) in enumerate(zip(found.hosts.tolist(), seconds.tolist(), strict=True)):
            text = f"{value:14.6g} s" if math.isfinite(value) else "cannot be used: the model does not cover it"
            if low is not None and high is not None and math.isfinite(value):
                text += f"  {low[place]:.6g} to {high[place]:.6g} s"
            console.print(f"{count:>7} {'host ' if count == 1 else 'hosts'}  {text}", markup=False)


def _write_trace(
    path: Path,
    model: Application,
    machine: Hardware,
    found: Prediction,
    given: Mapping[str, float | list[float]],
) -> None:
    if path.suffix not in (_CHROME, *_PAJE):
        raise UserError(
            f"--trace {path}: its name says in which form: FILE{_CHROME} for Perfetto, FILE{_PAJE[0]} for ViTE"
        )
    if found.swept:
        raise UserError("--trace shows one run: give each parameter one value")
    values = {name: value for name, value in given.items() if not isinstance(value, list)}
    count = int(found.hosts[np.isfinite(found.seconds)].max())
    evaluation = evaluate(model, machine, count, values, trace=True)
    name = f"{model.name} on {count} x {machine.name}"
    if path.suffix in _PAJE:
        write_text(path, paje_trace(evaluation, name))
    else:
        write_text(path, json.dumps(chrome_trace(evaluation, name), allow_nan=False))
