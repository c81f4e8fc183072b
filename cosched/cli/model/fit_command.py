"""`cosched model fit`: a model from the runs of a program."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.cli.connection import ServerOption
from cosched.cli.model.arguments import model_folders
from cosched.cli.model.derived_fit import Learnt, fit_derived
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
    read_text,
)
from cosched.cli.output import JsonOption, print_answer, write_text
from cosched.counts import plural
from cosched.errors import UserError
from cosched.evaluation import Hardware, load
from cosched.modelling.derivation import TOOL as DERIVE
from cosched.modelling.fitting import Fitted, fit_runs
from cosched.modelling.formula_search import unseen_cache
from cosched.modelling.seals import changed_by_hand, sealed
from cosched.modelling.startup import StartUp, start_up
from cosched.modelling.writing import TOOL, check_name, model_name, model_text

__all__ = ["fit"]

_UNLIKE = 0.25  # part by which repeats differ, from which it is said what that may come from


def fit(
    application: Annotated[str, typer.Argument(metavar="APP", help="The program, as `task list` shows it.")],
    records: Annotated[list[Path] | None, typer.Argument(metavar="RECORDS.jsonl", help="Records of runs.")] = None,
    table: TableOption = None,
    tasks: TasksOption = False,
    numbers: NumbersOption = "",
    parameters: ParametersOption = "",
    program: ApplicationOption = "",
    hardware_class: ClassOption = "",
    hardware: Annotated[
        str, typer.Option(help="The hosts' resource model: a name or an .hmcl file; default: named as their class.")
    ] = "",
    derived: Annotated[
        Path | None,
        typer.Option(metavar="DERIVED.psl", help="A model of `derive`, whose costs runs tell; one is enough."),
    ] = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Costs go beside the class, in CLASS.d: the model holds for all classes.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.psl", help="Where the model goes; default: APP.psl.")
    ] = None,
    disturbed: DisturbedOption = False,
    waited: WaitedOption = "",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Make a model from runs; say how sure it is and what to run next."""
    name = out.stem if out is not None else model_name(application)
    check_name(name, "application")
    file = out or Path(f"{name}.psl")
    if blocks and derived is None:
        raise UserError("--blocks: only models of `cosched model derive` name blocks: give --derived")
    if derived is None or file.resolve() != derived.resolve():
        _check_ours(file)
    chosen = hardware_class or (Path(hardware).stem if hardware else "")
    machine = named_hardware(hardware or hardware_class, file.parent)
    if hardware and machine is None:
        raise UserError(f"there is no hardware {hardware}: `cosched hardware measure {chosen} --here` measures it")
    longest = longest_wait(waited, disturbed=disturbed)
    source = RunSource(records or (), table, tasks, numbers, parameters, program, chosen, server, longest)
    runs = gathered_runs(application, source, machine)
    if machine is None and runs[0].hardware:
        machine = named_hardware(runs[0].hardware, file.parent)
    runs, start = start_up(runs)
    if derived is not None:
        fit_derived(derived, file, Learnt(runs, machine, start), blocks=blocks, json=json)
        return
    also = set() if machine is None else {run.hosts * machine.processors for run in runs}
    fitted = fit_runs(name, runs, cache_sizes(machine))
    write_text(file, sealed(model_text(fitted, datetime.now(UTC).strftime("%Y-%m-%d"), also, start)))
    load(file, model_folders())  # what was written can be read
    remark = unseen_cache(fitted.points, cache_sizes(machine))
    document = {"file": str(file), **_figures(fitted, start), "unseen_cache": remark}
    print_answer(
        json, document, lambda: [*_lines(fitted, machine, start), *filter(None, [remark]), _written(fitted, file)]
    )


def _check_ours(file: Path) -> None:
    """Refuse to write over a model that somebody wrote by hand."""
    if file.suffix != ".psl":
        raise UserError(f"--out {file}: a model's file ends in .psl")
    if not file.parent.is_dir():
        raise UserError(f"--out {file}: there is no folder {file.parent}: make it first")
    if file.exists() and DERIVE in (text := read_text(file)) and f'tool = "{TOOL}"' not in text:
        raise UserError(f"{file} is the derived model: give --derived {file} for its costs, or choose another --out")
    if file.exists() and f'tool = "{TOOL}"' not in read_text(file):
        raise UserError(f"{file} was not written by `{TOOL}`: choose another file with --out")
    if file.exists() and changed_by_hand(read_text(file)):
        raise UserError(f"{file} was changed by hand since `{TOOL}` wrote it: choose another file with --out")


def _figures(fitted: Fitted, start: StartUp | None) -> dict[str, Any]:
    return {
        "application": fitted.application,
        "hardware": fitted.hardware,
        "runs": fitted.runs,
        "sizes": fitted.seen.sizes,
        "processors": list(fitted.seen.processors),
        "law": fitted.chosen.name,
        "formula": fitted.chosen.law.formula.psl(fitted.points.names),
        "tried": fitted.chosen.errors,
        "mean_error": fitted.mean_error,
        "worst_error": fitted.worst_error,
        "repeats": fitted.noise,
        "error": fitted.error,
        "error_beyond": fitted.error_beyond,
        "launcher": None if start is None else asdict(start),
        "next": fitted.wishes(),
    }


def _lines(fitted: Fitted, machine: Hardware | None, start: StartUp | None) -> list[str]:
    seen = fitted.seen
    counts = seen.processors
    shown = f"{counts[0]}-{counts[-1]} processors" if counts[-1] > counts[0] else plural(counts[0], "processor")
    hosts = f" of {fitted.hardware}" if fitted.hardware else ""
    repeats = "nothing was run twice" if fitted.noise is None else f"repeating a run: {fitted.noise:.1%}"
    lines = [
        f"{fitted.runs} runs, {fitted.seen.sizes} sizes, {shown}{hosts}",
        f"{fitted.chosen.name}: {fitted.chosen.law.formula.psl(fitted.points.names)}",
        f"leave-one-size-out: mean {fitted.mean_error:.1%}, worst {fitted.worst_error:.1%}; {repeats}",
        *fitted.wishes(),
    ]
    if fitted.noise is not None and fitted.noise > _UNLIKE:
        lines.append(
            f"Repeats of one size differ by {fitted.noise:.0%}, so predictions hold to a factor of "
            f"{1 + fitted.error:.2g} only: run it on an idle machine, or name with --set what else its time depends on"
        )
    if start is not None:
        lines.append(start.told())
    if fitted.hardware and machine is None:
        lines.append(
            f"There is no {fitted.hardware}.hmcl here: `cosched hardware measure {fitted.hardware} --here` writes it, "
            "else give `cosched model predict` another --hardware"
        )
    if not fitted.hardware:
        lines.append("The runs name no class of hosts: give --hardware here, or to `cosched model predict`")
    return lines


def _written(fitted: Fitted, file: Path) -> str:
    return f"wrote {file} (error {fitted.error:g}; {fitted.error_beyond:g} and more beyond what was seen)"
