"""`cosched model observe`: a program runs, and a record says what it took and did."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import json as json_format
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.api.parameter_values import parse_parameter_values
from cosched.cli.connection import ServerOption
from cosched.cli.model.runs_argument import NumbersOption, parse_names
from cosched.cli.model.task_times import with_task_times
from cosched.cli.output import JsonOption, figure, print_answer
from cosched.counts import plural
from cosched.durations import parse_duration
from cosched.errors import UserError
from cosched.measurement.programs.collecting import CollectedRun, collected
from cosched.measurement.programs.observation import Observation
from cosched.measurement.programs.observing import observed
from cosched.measurement.programs.records import LARGEST, record_line
from cosched.measurement.programs.rounds import PROCESSORS, Size, rounds, sizes_of
from cosched.modelling.writing import check_name, check_text
from cosched.prediction.run_features import command_features

__all__ = ["observe"]

_LOOPS_SHOWN = 200  # characters


def observe(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND…", help="The program, as you would start it.")
    ] = None,
    application: Annotated[str, typer.Option(help="Its name; default: that of its file.")] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="A number that decides how long it runs; for each of them."),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES", help="Run it with each: n=100,200 or n=64..1024:*2; stands at {n} in the command."
        ),
    ] = None,
    times: Annotated[bool, typer.Option("--times", help="Note the time alone, no calls of MPI.")] = False,
    repeat: Annotated[int, typer.Option(help="How many undisturbed runs of each size are wanted.")] = 1,
    hardware: Annotated[
        str, typer.Option("--class", metavar="CLASS", help="Class of this machine, as `hardware measure` named it.")
    ] = "",
    collect: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Run nothing: take what tasks with --observe left there.")
    ] = None,
    numbers: NumbersOption = "",
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the record is added.")] = Path("runs.jsonl"),
    limit: Annotated[str, typer.Option(metavar="DURATION", help="After which the program is ended: 90s, 2h …")] = "1h",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Run a program, watch its MPI calls, and add a record of the run to a file.

    `cosched model fit` makes a model of such records. The program prints and returns what it always does; it runs with
    your rights, here. Each call that is watched takes it about a microsecond longer. Tasks that were submitted with
    `cosched task submit --observe` leave what was seen in a folder `observed`; `--collect observed` adds their records.

    With --sweep and --repeat all sizes are run in rounds of a random order; a run that others disturbed is tried
    again, up to three times as often. {Nproc} is the number of processes: `mpirun -np {Nproc} ./heat {n}`.
    """
    if bool(command) == (collect is not None):
        raise UserError("give a command after --, or --collect FOLDER: one of them")
    if numbers and collect is None:
        raise UserError("--numbers goes with --collect: name the numbers of a command with --set")
    if collect is not None and (sweep or repeat != 1 or times):
        raise UserError("--collect runs nothing: leave --sweep, --repeat and --times out")
    _check_names({"--application": application, "--class": hardware})
    parameters = _constants(set_ or [])
    longest = parse_duration(limit)

    def watched(size: Size) -> Observation:
        try:
            seen = observed(size.command, application, size.parameters, hardware, longest, only_times=times)
        except UserError as error:
            raise UserError(f"{size.name}: {error}" if size.name else str(error)) from error
        if seen.record.shim or not size.processes:
            return seen
        return replace(seen, record=replace(seen.record, processors=size.processes))  # what was started tells them

    if collect is not None:
        names = parse_names(numbers, "--numbers") if numbers else []
        runs = collected(collect, application, lambda words: {**_named_numbers(words, names), **parameters}, hardware)
        _collect(runs, collect, out, server, json=json)
    elif sweep or repeat != 1:
        sizes = sizes_of(command or (), _swept(sweep or []), parameters, repeat)
        _observe_rounds(rounds(sizes, repeat, watched), _Wanted(len(sizes), repeat, out), json=json)
    else:
        _add_run(watched(Size("", tuple(command or ()), parameters)), out, json=json)


def _add_run(seen: Observation, out: Path, *, json: bool) -> None:
    """Add the record of one run to a file, and print it."""
    line = record_line(seen.record)
    _add(line, out)
    document = json_format.loads(line) | {"notes": list(seen.notes), "file": str(out)}
    print_answer(json, document, lambda: [*_lines(seen), f"added to {out}"])


def _check_names(texts: Mapping[str, str]) -> None:
    """Refuse names, by their options, that no record and no model could have."""
    for option, text in texts.items():
        check_text(text, option)  # not after an hour of runs, by `fit`


def _constants(settings: Sequence[str]) -> dict[str, float]:
    """Return the parameters that all runs have in common."""
    found = {}
    for name, value in parse_parameter_values(settings).items():
        if isinstance(value, list):
            raise UserError(f"--set {name}: a run has one value of it: --sweep {name}=… gives several to {{{name}}}")
        check_name(name, "--set:")  # not after an hour of runs, by `fit`
        _check_number(value, f"--set {name}")
        found[name] = value
    return found


def _swept(settings: Sequence[str]) -> dict[str, list[float]]:
    given = parse_parameter_values(settings, "--sweep")
    for name in given.keys() - {PROCESSORS}:
        check_name(name, "--sweep:")
    found = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    for name, values in found.items():
        for value in values:
            _check_number(value, f"--sweep {name}")
    return found


def _check_number(value: float, option: str) -> None:
    if abs(value) > LARGEST:
        raise UserError(f"{option}: {value:g} is more than records hold: give {LARGEST:g} at most")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What rounds are to give: so many undisturbed runs of so many sizes, in a file."""

    sizes: int
    repeat: int
    out: Path

    @property
    def runs(self) -> int:
        """How many undisturbed runs are wanted in all."""
        return self.sizes * self.repeat

    def had(self, quiet: Mapping[str, int]) -> int:
        """Return how many of them there are, by the undisturbed runs of each size."""
        return sum(min(count, self.repeat) for count in quiet.values())


def _observe_rounds(runs: Iterable[tuple[Size, Observation]], wanted: _Wanted, *, json: bool) -> None:
    """Add the records of several runs to a file as they come, and tell of each in a line."""
    quiet: Counter[str] = Counter()
    documents: list[dict[str, Any]] = []
    notes: list[str] = []
    for size, seen in runs:
        line = record_line(seen.record)
        _add(line, wanted.out)
        quiet[size.name] += seen.record.undisturbed
        notes += [note for note in seen.notes if note not in notes]
        documents.append(json_format.loads(line) | {"notes": list(seen.notes)})
        if not json:
            said = "" if seen.record.undisturbed else "; disturbed"
            progress = f" ({wanted.had(quiet)} of {wanted.runs} wanted)"
            sys.stdout.write(f"{size.name}{': ' if size.name else ''}{_lines(seen)[0]}{said}{progress}\n")
            sys.stdout.flush()
    few = [name for name, count in quiet.items() if count < wanted.repeat]
    summary = [
        *notes,
        *(
            [
                f"others had the processors in too many runs of {plural(len(few), 'size')}: repeat them on an idle "
                "machine, or let `cosched model fit --disturbed` take what there is"
            ]
            if few
            else []
        ),
        f"added {plural(len(documents), 'record')} of {plural(wanted.sizes, 'size')} to {wanted.out}, "
        f"{quiet.total()} undisturbed",
    ]
    document = {"file": str(wanted.out), "added": len(documents), "undisturbed": quiet.total(), "runs": documents}
    print_answer(json, document, lambda: summary)


def _named_numbers(words: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Return the numbers in a command by their names."""
    if not names:
        return {}
    found = command_features(words).numbers
    if len(found) != len(names):
        raise UserError(
            f"--numbers names {plural(len(names), 'number')}, and {' '.join(words)[:80]!r} has {len(found)}: "
            "name all, in their order"
        )
    return dict(zip(names, found, strict=True))


def _collect(runs: list[CollectedRun], folder: Path, out: Path, server: str, *, json: bool) -> None:
    """Add the records of tasks to a file; remove their folders."""
    if not runs:
        raise UserError(
            f"no task has left anything in {folder}: submit some with `cosched task submit --observe`; "
            f"where jobs run as another user, `chmod 1777 {folder}` lets them write"
        )
    runs, notes = with_task_times(runs, server)
    lines: list[str] = []
    for run in runs:
        if run.seen is not None:
            _add(record_line(run.seen.record), out)
        if run.over:
            shutil.rmtree(run.folder, ignore_errors=True)
        said = [f"no record: {run.reason}"] if run.seen is None else _lines(replace(run.seen, notes=()))
        lines += [f"{run.task}: {said[0]}", *(f"    {line}" for line in said[1:])]
        notes += [note for note in (run.seen.notes if run.seen else ()) if note not in notes]  # once for all tasks
    added = sum(run.seen is not None for run in runs)
    document = {
        "file": str(out),
        "added": added,
        "notes": notes,
        "tasks": [
            {"task": run.task, "added": run.seen is not None, "reason": run.reason}
            | ({"notes": []} if run.seen is None else {"notes": list(run.seen.notes)})
            for run in runs
        ],
    }
    print_answer(json, document, lambda: [*lines, *notes, f"added {plural(added, 'record')} to {out}"])


def _add(line: str, out: Path) -> None:
    try:
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            os.write(handle, line.encode())  # at once: several may be added at the same time
        finally:
            os.close(handle)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}): give another --out") from error


def _lines(seen: Observation) -> list[str]:
    record = seen.record
    waited = (
        f"{record.delay / record.wall:.1%} of it waited for processors{', all ranks together' if record.shim else ''}"
    )
    seconds = f"{figure(record.wall, 3)} s" if record.wall >= 1 else f"{figure(1e3 * record.wall, 3)} ms"
    took = f"{seconds}, {waited}; {record.rss / (1 << 20):.0f} MiB{' a rank' if record.shim else ''}"
    if record.shim:
        ranks = f"{record.processors} rank{'s' if record.processors != 1 else ''}"
        loops = record.loops if len(record.loops) <= _LOOPS_SHOWN else f"{record.loops[:_LOOPS_SHOWN]} …"
        calls = f", {plural(record.calls, 'call')} each" if record.calls else ""
        lines = [f"{ranks}{calls}; {took}", *([f"loops: {loops}"] if loops else [])]
    else:
        lines = [f"{'one process' if record.processors == 1 else f'{record.processors} processes'}; {took}"]
    if not record.undisturbed:
        counts = "counts it, as it was a task" if record.by_task else "leaves it out"
        lines.append(f"disturbed: others had its processors meanwhile; `cosched model fit` {counts}")
    if not record.parameters:
        lines.append("no number was named: --set NAME=NUMBER says what its time depends on")
    return [*lines, *seen.notes]
