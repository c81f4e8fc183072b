"""`cosched model tunable`: the ways through a tunable application, as the arbitrator is offered them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosched.api.parameter_values import parse_parameter_values
from cosched.cli.model.arguments import model_folders
from cosched.cli.model.predict_command import APPLICATION, hardware_of, parameters_text
from cosched.cli.output import JsonOption, console, emit_json, finite, print_table
from cosched.durations import format_duration
from cosched.errors import UserError
from cosched.evaluation import load
from cosched.language.tunable_paths import PathLoop
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.modelled import modelled_chains
from cosched.scheduling.tunable.or_graph import or_graph
from cosched.scheduling.tunable.tasks import TunableTask, admit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.evaluation import Application
    from cosched.language.tunable_paths import PathElement, PathStage, Values
    from cosched.scheduling.tunable.modelled import ModelledChain, ModelledTask
    from cosched.scheduling.tunable.or_graph import GraphStage

__all__ = ["MOST_STAGE_HOSTS", "tunable"]

MOST_STAGE_HOSTS = 16
"""Hosts that a stage may have where its model says how many it can use, unless the user says otherwise."""
_MOST_HOSTS = 4096
_SHOWN = 50  # rows of a table; JSON has all


def tunable(
    application: Annotated[str, APPLICATION],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; a control parameter: only ways with it."),
    ] = None,
    hosts: Annotated[
        int, typer.Option(help="Most hosts of a stage whose model says how many it can use.", min=1, max=_MOST_HOSTS)
    ] = MOST_STAGE_HOSTS,
    hardware: Annotated[str, typer.Option(help="For such stages: name or .hmcl file; default: hrduse.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Print the stages of a tunable application, what may follow each, and the ways through it.

    With --json: {"application", "parameters", "control", "graph": [{"number", "task", "line", "turns", "first", "last",
    "sets", "hosts", "seconds", "deadline", "quality", "then"}], "chains": [{"quality", "seconds", "host_seconds",
    "in_time", "values", "stages": [{"task", "sets", "hosts", "seconds", "deadline", "quality"} | {"turns",
    "stages"}]}]}; "then" are the numbers of the stages that may follow, "chains" are the ways, and "in_time" says
    whether idle hosts meet all deadlines; null is no deadline.
    """
    folders = model_folders()
    model = load(application, folders)
    given: dict[str, float] = {}
    for name, value in parse_parameter_values(settings or []).items():
        if isinstance(value, list):
            raise UserError(f"--set {name}: give one value")
        given[name] = value
    machine = hardware_of(model, hardware, folders) if hardware or model.hardware else None
    found = modelled_chains(model, machine, given, hosts)
    graph = or_graph([chain.path for chain in found.chains])
    if as_json:
        emit_json(
            {
                "application": model.name,
                "parameters": dict(found.parameters),
                "control": dict(found.control),
                "graph": [_node(node) for node in graph],
                "chains": [_chain(chain) for chain in found.chains],
            }
        )
        return
    _print(model, found, graph)


def _node(node: GraphStage) -> dict[str, Any]:
    return {
        "number": node.number,
        "line": node.stage.at.line,
        "turns": node.turns,
        "first": node.first,
        "last": node.last,
        **_stage(node.stage),
        "then": list(node.then),
    }


def _stage(stage: PathStage) -> dict[str, Any]:
    return {
        "task": stage.name,
        "sets": dict(stage.sets),
        "hosts": stage.hosts,
        "seconds": stage.seconds,
        "deadline": finite(stage.deadline),
        "quality": stage.quality,
    }


def _chain(found: ModelledChain) -> dict[str, Any]:
    stages = found.chain.stages
    return {
        "quality": found.chain.quality,
        "seconds": math.fsum(stage.seconds for stage in stages),
        "host_seconds": math.fsum(stage.hosts * stage.seconds for stage in stages),
        "in_time": _in_time(found),
        "values": dict(found.path.values),
        "stages": _elements(found.path.elements),
    }


def _elements(elements: Sequence[PathElement]) -> list[dict[str, Any]]:
    return [
        {"turns": element.turns, "stages": _elements(element.elements)}
        if isinstance(element, PathLoop)
        else _stage(element)
        for element in elements
    ]


def _in_time(found: ModelledChain) -> bool:
    """Tell whether a way meets its deadlines where it has all hosts that it wants."""
    most = max(stage.hosts for stage in found.chain.stages)
    return admit(Holes([0.0] * most), TunableTask("alone", 0.0, (found.chain,))) is not None


def _print(model: Application, found: ModelledTask, graph: Sequence[GraphStage]) -> None:
    values = parameters_text({**found.parameters, **found.control}, model)
    ways = len(found.chains)
    console.print(
        f"{model.name}: {ways} way{'s' if ways > 1 else ''}" + (f" ({values})" if values else ""), markup=False
    )
    console.print("\nStages, and what may follow each", markup=False)
    rows = [
        (
            str(node.number),
            node.stage.name,
            f"{node.turns} times" if node.turns > 1 else "",
            _values(node.stage.sets),
            str(node.stage.hosts),
            format_duration(node.stage.seconds),
            "" if math.isinf(node.stage.deadline) else format_duration(node.stage.deadline),
            f"{node.stage.quality:g}",
            " or ".join([*map(str, node.then), *(["the end"] if node.last and node.then else [])]),
        )
        for node in graph[:_SHOWN]
    ]
    print_table(("", "task", "runs", "sets", "hosts", "time", "deadline", "quality", "then"), rows)
    _more(len(graph))
    console.print("\nWays, each stage as hosts × time", markup=False)
    lines = [
        (
            str(number),
            _shown(chain.path.elements),
            _values(chain.path.values),
            f"{chain.chain.quality:g}",
            format_duration(math.fsum(stage.seconds for stage in chain.chain.stages)),
            "" if _in_time(chain) else "never in time",
        )
        for number, chain in enumerate(found.chains[:_SHOWN], start=1)
    ]
    print_table(("", "stages", "values", "quality", "time", " "), lines)
    _more(ways)


def _more(count: int) -> None:
    if count > _SHOWN:
        console.print(f"… and {count - _SHOWN} more: --json prints all", markup=False)


def _values(values: Values) -> str:
    return " ".join(f"{name}={number:g}" for name, number in values)


def _shown(elements: Sequence[PathElement]) -> str:
    return ", ".join(
        f"{element.turns} times ({_shown(element.elements)})"
        if isinstance(element, PathLoop)
        else f"{element.hosts} × {format_duration(element.seconds)}"
        for element in elements
    )
