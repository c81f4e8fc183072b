"""`cosched model validate`: predictions held against runs that they were not made from."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from cosched.cli.connection import ServerOption
from cosched.cli.model.arguments import model_folders
from cosched.cli.model.runs_argument import (
    ApplicationOption,
    ClassOption,
    DisturbedOption,
    NumbersOption,
    ParametersOption,
    RunSource,
    TableOption,
    TasksOption,
    WaitedOption,
    cache_sizes,
    gathered_runs,
    longest_wait,
    named_hardware,
)
from cosched.cli.output import JsonOption, clean, console, emit_json, print_table
from cosched.errors import UserError
from cosched.evaluation import Application, CountError, Hardware, error, load, parameters, profile
from cosched.language.syntax import Text
from cosched.modelling.holdout import HOLDOUTS, held_out
from cosched.modelling.points import TimedRun, repeat_noise
from cosched.modelling.startup import LAUNCHER
from cosched.modelling.validation import SPLITS, Foretold, SeenBox, SplitErrors, judged, read_seen

__all__ = ["validate"]

_MOST_JUDGED = 5000  # runs, evenly from all
_JUDGED = 0.03  # the error that a quiet machine lets one judge


def validate(
    application: Annotated[str, typer.Argument(metavar="APP", help="A model's name or file; with --holdout any name.")],
    files: Annotated[list[Path] | None, typer.Argument(metavar="[RECORDS.jsonl…]", help="Records of runs.")] = None,
    records: Annotated[list[Path] | None, typer.Option("--records", metavar="FILE", help="The same.")] = None,
    table: TableOption = None,
    tasks: TasksOption = False,
    numbers: NumbersOption = "",
    only: ParametersOption = "",
    program: ApplicationOption = "",
    hardware_class: ClassOption = "",
    hardware: Annotated[str, typer.Option(help="Resource model of the hosts; default: the model's hrduse.")] = "",
    holdout: Annotated[
        str, typer.Option(metavar="WHAT", help="Fit without some runs, and foretell them: size:2x,hosts:new.")
    ] = "",
    disturbed: DisturbedOption = False,
    waited: WaitedOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Print how far predictions are off; exit 1 where the stated error is too small.

    COVERAGE is the part of runs within the stated range, which should be 90 %; WIDTH its upper end over the lower.

    With --json: {"floor", "judges", "splits": [{"split", "runs", "mean", "median", "worst", "bias", "coverage", …}]}.
    """
    longest = longest_wait(waited, disturbed=disturbed)
    source = RunSource(
        [*(files or ()), *(records or ())], table, tasks, numbers, only, program, hardware_class, server, longest
    )
    if holdout:
        machine = named_hardware(hardware or hardware_class, Path())
        runs = gathered_runs(application, source, machine)
        runs = runs[:: math.ceil(len(runs) / _MOST_JUDGED)]
        foretold = _held_out(application, runs, _holdouts(holdout), machine)
        outside = 0
    else:
        model = load(application, model_folders())
        machine = named_hardware(hardware or model.hardware, Path(model.file).parent)
        runs = gathered_runs(model.name, source, machine)
        runs = runs[:: math.ceil(len(runs) / _MOST_JUDGED)]
        if not hardware:
            _check_class(model, runs)
        covered = [run for run in runs if _covered(model, run)]
        if not covered:
            raise UserError(f"all runs are outside of the limits that {model.name} states: there is nothing to judge")
        foretold = _by_split(model, machine or Hardware("any", {}, {}), covered)
        outside = len(runs) - sum(map(len, foretold.values()))
    found = [judged(split, foretold[split]) for split in SPLITS if split in foretold]
    floor = repeat_noise(runs)
    unjudged = [each.split for each in found if each.too_small and floor is not None and floor >= _half(each)]
    if json:
        emit_json(
            {
                "floor": floor,
                "judges": floor is not None and floor <= _JUDGED,
                "outside_limits": outside,
                "splits": [{**asdict(each), "judged": each.split not in unjudged} for each in found],
            }
        )
    else:
        _print(found, floor, unjudged, outside)
    if any(each.too_small and each.split not in unjudged for each in found):
        raise typer.Exit(1)


def _check_class(model: Application, runs: Sequence[TimedRun]) -> None:
    """Refuse runs on other hosts than those of a model."""
    others = sorted({run.hardware for run in runs} - {"", model.hardware})
    if model.hardware and others:
        raise UserError(
            f"runs are on {', '.join(others)}, and {model.name} is for {model.hardware}: choose runs with --class, "
            "or other hosts for the model with --hardware"
        )


def _half(errors: SplitErrors) -> float:
    """Return the stated error on either side."""
    return float(errors.width**0.5 - 1)


def _holdouts(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if word not in HOLDOUTS:
            raise UserError(f"--holdout {word[:80]!r}: write some of {', '.join(HOLDOUTS)}")
    return found


def _held_out(
    application: str, runs: Sequence[TimedRun], what: Sequence[str], machine: Hardware | None
) -> dict[str, list[Foretold]]:
    """Return by split what was foretold; say of all that cannot be held out why.

    Raises:
        UserError: none can be.
    """
    levels = cache_sizes(machine)
    found: dict[str, list[Foretold]] = {}
    reasons: dict[str, None] = {}  # each once
    for word in what:
        try:
            found[HOLDOUTS[word]] = list(held_out(application, runs, word, levels))
        except UserError as error:
            reasons[str(error)] = None
    if not found:
        raise UserError("; ".join(reasons))
    for reason in reasons:
        sys.stderr.write(f"cosched: {clean(reason)}\n")
    return found


def _covered(model: Application, run: TimedRun) -> bool:
    """Return whether a run lies within the limits of the model's parameters."""
    return all(
        item.least <= run.parameters[item.name] <= item.most
        for item in parameters(model)
        if item.name in run.parameters
    )


def _by_split(model: Application, machine: Hardware, runs: Sequence[TimedRun]) -> dict[str, list[Foretold]]:
    option = model.root.object.option("seen")
    seen: SeenBox | None = None
    if option is not None and isinstance(option.value, Text):
        seen = read_seen(option.value.value, model.file)
    found: dict[str, list[Foretold]] = {}
    for each in _foretold(model, machine, runs):
        found.setdefault("all" if seen is None else seen.split(each.run), []).append(each)
    return found


def _foretold(model: Application, machine: Hardware, runs: Sequence[TimedRun]) -> Iterator[Foretold]:
    begins = any(item.name == LAUNCHER for item in parameters(model))
    found, uncovered = False, 0
    for run in runs:
        place = _processors_of(machine, run.processors)
        values = {**run.parameters, LAUNCHER: 0.0} if begins and run.startup is not None else run.parameters
        try:
            seconds = profile(model, place, [run.processors], values)
        except CountError:  # others of its runs it may know
            uncovered = run.processors
            continue
        found = True
        stated = error(model, place, [run.processors], values)
        if stated is None:
            raise UserError(f"{model.name} states no error, so that there is no range to judge: add option error")
        low, high = stated.around(seconds)
        yield Foretold(run, float(seconds[0]), float(low[0]), float(high[0]))
    if not found:
        raise UserError(f"{model.name} covers none of these numbers of processors, as {uncovered}: fit it to such runs")


def _processors_of(machine: Hardware, processors: int) -> Hardware:
    """Return hosts of one processor each, with the messages that so many processors send."""
    if machine.hosts or machine.processors == 1:
        return machine
    inside = processors <= machine.processors and "shm" in machine.messages
    messages = dict.fromkeys(machine.messages, machine.messages["shm"]) if inside else machine.messages
    return replace(machine, processors=1, messages=messages)


def _print(found: Sequence[SplitErrors], floor: float | None, unjudged: Sequence[str], outside: int) -> None:
    rows = [
        (
            each.split,
            str(each.runs),
            f"{each.mean:.1%}",
            f"{each.median:.1%}",
            f"{each.worst:.1%}",
            f"{each.bias:+.1%}",
            f"{each.coverage:.0%}{' too few' if each.too_small else ''}",
            f"x{each.width:.2f}",
            "" if each.other is None else f"{each.other[0]:.0%} x{each.other[1]:.2f}",
        )
        for each in found
    ]
    print_table(("SPLIT", "RUNS", "MEAN", "MEDIAN", "WORST", "BIAS", "COVERAGE", "WIDTH", "JACKKNIFE+"), rows)
    if outside:
        console.print(f"{outside} runs are outside of the limits that the model states: left out", markup=False)
    if floor is None:
        console.print("No point was run twice: how far repeats differ is not known", markup=False)
    elif floor > _JUDGED:
        console.print(
            f"floor {floor:.1%}: repeats differ by that, too much to judge errors of {_JUDGED:.0%}", markup=False
        )
    else:
        console.print(f"floor {floor:.1%}: repeats differ by that", markup=False)
    for split in unjudged:
        console.print(f"{split}: repeats differ by more than the error that is stated: not judged", markup=False)
    for each in found:
        if each.too_small and each.split not in unjudged:
            console.print(f"{each.split}: the stated error is too small: fit again with these runs", markup=False)
