"""`cosched model explain`: where a predicted run time goes, and what would change it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosched.api.parameter_values import parse_parameter_values
from cosched.cli.model.arguments import model_folders, parse_host_counts
from cosched.cli.model.predict_command import APPLICATION, HARDWARE, HOSTS, hardware_of, parameters_text
from cosched.cli.output import JsonOption, console, emit_json, print_table
from cosched.errors import UserError
from cosched.evaluation import load
from cosched.evaluation.application import parameter_values
from cosched.evaluation.report.explanation import explain as explained

if TYPE_CHECKING:
    from cosched.evaluation.report.explanation import PredictionExplanation, Sensitivity

__all__ = ["explain"]

_KINDS = ("compute", "send", "receive", "network")
_PARTS = ("compute", "imbalance", "latency", "bandwidth")
_LEAST = 5e-4  # a share below this is left out of the text; JSON has them all


def explain(
    application: Annotated[str, APPLICATION],
    hardware: Annotated[str, HARDWARE] = "",
    hosts: Annotated[str, HOSTS] = "1-16",
    at: Annotated[int | None, typer.Option(help="Number of hosts to look into; default: the best of --hosts.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the parts of the run time by host count and by statement.

    Also print the effect of a tenth more of each number.

    With --json: {"application", "hardware", "parameters", "points": [{"hosts", "seconds", "compute", "imbalance",
    "latency", "bandwidth", "binds"}], "best", "at", "seconds", "bytes", "messages", "processors": [{"compute",
    "communication", "idle"}], "path": [{"file", "line", "kind", "times", "seconds", "latency"}], "work": [{"file",
    "line", "kind", "seconds"}], "sensitivity": {"parameters": […], "costs": [{"name", "value", "changed", "seconds",
    "elasticity"}]}}.
    """
    folders = model_folders()
    model = load(application, folders)
    machine = hardware_of(model, hardware, folders)
    given: dict[str, float] = {}
    for name, value in parse_parameter_values(settings or []).items():
        if isinstance(value, list):
            raise UserError(f"--set {name}: explain looks into one run: give one value")
        given[name] = value
    found = explained(model, machine, parse_host_counts(hosts), given, at)
    values = parameter_values(model, given)
    head = {"application": model.name, "hardware": machine.name, "parameters": values}
    if as_json:
        emit_json({**head, **_document(found)})
        return
    shown = parameters_text(values, model)
    console.print(f"{model.name} on {machine.name}" + (f" ({shown})" if shown else ""), markup=False)
    _print(found)


def _document(found: PredictionExplanation) -> dict[str, Any]:
    result = found.evaluation
    return {
        "points": [
            {
                "hosts": point.hosts,
                "seconds": point.seconds,
                **{part: getattr(point, part) for part in _PARTS},
                "binds": point.binds,
            }
            for point in found.points
        ],
        "best": found.best,
        "at": found.at,
        "seconds": result.seconds,
        "bytes": result.bytes_sent,
        "messages": result.messages,
        "processors": [times._asdict() for times in result.processors],
        "path": [{**part._asdict(), "kind": _KINDS[part.kind]} for part in found.path],
        "work": [
            {"file": part.file, "line": part.line, "kind": part.kind, "seconds": part.seconds} for part in found.work
        ],
        "sensitivity": {
            "parameters": [_sensitivity(item) for item in found.parameters],
            "costs": [_sensitivity(item) for item in found.costs],
        },
    }


def _sensitivity(item: Sensitivity) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("name", "value", "changed", "seconds", "elasticity")}


def _print(found: PredictionExplanation) -> None:
    total = found.evaluation.seconds
    console.print("\nWhat binds, by number of hosts", markup=False)
    print_table(
        ("hosts", "seconds", *_PARTS, "binds"),
        [
            (
                str(point.hosts),
                f"{point.seconds:.6g}",
                *(_percent(getattr(point, part), point.seconds) for part in _PARTS),
                point.binds + (" (best)" if point.hosts == found.best else ""),
            )
            for point in found.points
        ],
    )
    _print_processors(found)
    console.print(f"\nThe critical path on {_hosts(found.at)}, by step", markup=False)
    print_table(
        ("statement", "kind", "times", "seconds", "share"),
        [
            (
                _place(part.file, part.line),
                _KINDS[part.kind],
                str(part.times),
                f"{part.seconds:.6g}",
                _percent(part.seconds, total),
            )
            for part in found.path
            if part.seconds >= _LEAST * total
        ],
    )
    console.print("\nSequential work, by statement: about so much shorter if it were free", markup=False)
    print_table(
        ("statement", "kind", "seconds", "share"),
        [
            (_place(part.file, part.line), part.kind, f"{part.seconds:.6g}", _percent(part.seconds, total))
            for part in found.work
            if part.seconds >= _LEAST * total
        ],
    )
    console.print("\nPercent of run time for a percent more of", markup=False)
    print_table(
        ("number", "percent", "measured by"),
        [
            (
                item.name,
                f"{item.elasticity:.2f}",
                f"{item.value:g} → {item.changed:g}: {item.seconds:.6g} s"
                if item.value is not None and item.changed is not None
                else f"a tenth more: {item.seconds:.6g} s",
            )
            for item in (*found.parameters, *found.costs)
            if abs(item.elasticity) >= 0.005
        ],
    )


def _print_processors(found: PredictionExplanation) -> None:
    result = found.evaluation
    console.print(f"\nProcessors on {_hosts(found.at)}, seconds of {result.seconds:.6g}", markup=False)
    columns = list(zip(*result.processors, strict=True))
    rows = [
        (name, *(f"{value:.6g}" for value in (min(column), sum(column) / len(column), max(column))))
        for name, column in zip(("compute", "communication", "idle"), columns, strict=True)
    ]
    print_table(("", "least", "mean", "most"), rows)
    console.print(f"{result.messages} messages, {result.bytes_sent:.6g} bytes on the network", markup=False)


def _hosts(count: int) -> str:
    return f"{count} host{'s' if count > 1 else ''}"


def _place(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else ""
