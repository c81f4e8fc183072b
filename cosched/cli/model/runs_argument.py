"""Runs that `cosched model fit` and `validate` are given: records, a table, or finished tasks."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from cosched.cli.connection import connect
from cosched.cli.model.arguments import model_folders
from cosched.cli.output import clean
from cosched.errors import UserError
from cosched.evaluation import Hardware, load_hardware
from cosched.language.library import find
from cosched.measurement.programs.records import read_records
from cosched.modelling.observed import observed_runs
from cosched.modelling.points import TimedRun
from cosched.modelling.tables import checked_seconds, read_table
from cosched.modelling.writing import check_name, check_text

__all__ = [
    "ApplicationOption",
    "ClassOption",
    "DisturbedOption",
    "NumbersOption",
    "ParametersOption",
    "RunSource",
    "TableOption",
    "TasksOption",
    "WaitedOption",
    "cache_sizes",
    "gathered_runs",
    "longest_wait",
    "named_hardware",
    "parse_names",
    "read_text",
]

TableOption = Annotated[
    Path | None, typer.Option("--table", metavar="RUNS.csv", help="Runs, a line each: nx,ny,hosts,seconds.")
]
TasksOption = Annotated[bool, typer.Option("--tasks", help="Your finished tasks of this application.")]
NumbersOption = Annotated[
    str, typer.Option(metavar="NAMES", help="What the numbers in the tasks' commands are: nx,ny,steps.")
]
ApplicationOption = Annotated[
    str, typer.Option("--application", metavar="NAME", help="The program, as `task list` shows it; default: APP.")
]
ParametersOption = Annotated[
    str, typer.Option("--parameters", metavar="NAMES", help="Only these parameters count; default: all.")
]
DisturbedOption = Annotated[
    bool, typer.Option("--disturbed", help="Also records of runs that waited for processors, however long.")
]
WaitedOption = Annotated[
    str,
    typer.Option(
        metavar="PERCENT",
        help="Records of runs that waited less than so much of their time; default: 0.5, of tasks any.",
    ),
]
ClassOption = Annotated[str, typer.Option("--class", metavar="CLASS", help="Only runs on this class of hosts.")]

_MOST_TASKS = 1000
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class RunSource:
    """The source of runs, as typed.

    Attributes:
        records: files of records.
        table: a CSV file.
        tasks: whether finished tasks are asked for.
        numbers: names of the numbers in their commands.
        parameters: names of those that count; empty for all.
        application: what the tasks are of, where that is not the name of the model.
        hardware: class of the hosts; empty for any.
        server: the daemon.
        waited: part of their time that runs may have waited for processors; see `longest_wait`.
    """

    records: Sequence[Path] = ()
    table: Path | None = None
    tasks: bool = False
    numbers: str = ""
    parameters: str = ""
    application: str = ""
    hardware: str = ""
    server: str = ""
    waited: float | None = None


def longest_wait(percent: str, *, disturbed: bool) -> float | None:
    """Return the part of its time below which a run may have waited for processors to count.

    None: as `observed_runs` has it.

    Args:
        percent: as typed; empty for what is usual.
        disturbed: whether all runs count.

    Raises:
        UserError: both were given, or it is no percentage.
    """
    if not percent:
        return math.inf if disturbed else None
    if disturbed:
        raise UserError("--disturbed takes all runs: leave --waited out, or --disturbed")
    try:
        part = float(percent.removesuffix("%")) / 100
    except ValueError:
        part = math.nan
    if not 0 < part < math.inf:
        raise UserError(f"--waited {percent[:80]!r}: write a percentage above 0, such as 5%")
    return part


def gathered_runs(application: str, source: RunSource, machine: Hardware | None) -> list[TimedRun]:
    """Return the runs of an application from all that was named.

    Args:
        application: its name.
        source: where they are.
        machine: the hosts, for how many processors each has; one where that is not known.

    Raises:
        UserError: what is wrong with a file, or with what was typed.
    """
    per_host = 1 if machine is None else machine.processors
    found: list[TimedRun] = []
    if source.table is not None:
        found += read_table(read_text(source.table), str(source.table), per_host)
    if source.tasks:
        found += _task_runs(source.application or application, source, per_host)
    if source.records:
        found += _observed_runs(application, source)
    if source.table is None and not source.tasks and not source.records:
        raise UserError("name runs: files of records, --table RUNS.csv, or --tasks for finished ones")
    if source.hardware:
        found = [run for run in found if run.hardware in ("", source.hardware)]
        found = [replace(run, hardware=source.hardware) for run in found]
        if not found:
            raise _no_run_on(source.hardware)
    return _restricted(found, source.parameters) if source.parameters else found


def _no_run_on(hardware: str) -> UserError:
    return UserError(f"no run is on hosts of class {hardware}")


def _observed_runs(application: str, source: RunSource) -> list[TimedRun]:
    records = [record for file in source.records for record in read_records(read_text(file), str(file))]
    if source.hardware:  # another class may have another build, or others' work on its processors
        records = [record for record in records if record.hardware in ("", source.hardware)]
        if not records:
            raise _no_run_on(source.hardware)
    found = observed_runs(records, source.application or application, source.waited)
    for remark in found.remarks:
        sys.stderr.write(f"cosched: {clean(remark)}\n")
    return list(found.runs)


def _restricted(runs: list[TimedRun], text: str) -> list[TimedRun]:
    names = parse_names(text, "--parameters")
    for run in runs:
        for name in names:
            if name not in run.parameters:
                raise UserError(f"--parameters: a run has no {name}: it has {', '.join(run.parameters) or 'none'}")
    return [replace(run, parameters={name: run.parameters[name] for name in names}) for run in runs]


def parse_names(text: str, option: str) -> list[str]:
    """Return names that are separated by commas.

    Raises:
        UserError: one is no name, or named twice.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        check_name(name, f"{option}:")
        if names.count(name) > 1:
            raise UserError(f"{option}: {name} is named twice")
    return names


def _task_runs(application: str, source: RunSource, per_host: int) -> list[TimedRun]:
    names = parse_names(source.numbers, "--numbers") if source.numbers else []
    with connect(source.server) as client:
        found = client.learnt_runs(application, _MOST_TASKS)
    if not found:
        raise UserError(f"no task of {application} has completed: `cosched model history {application}` lists them")
    newest = found[0]
    kind = (len(newest.numbers), newest.program_digest)
    alike = [run for run in found if (len(run.numbers), run.program_digest) == kind]
    if len(names) != len(newest.numbers):
        shown = " ".join(f"{number:g}" for number in newest.numbers)
        raise UserError(
            f"the commands of {application} have {len(newest.numbers)} numbers ({shown}): name them in this order: "
            "--numbers nx,ny,steps"
        )
    return [
        TimedRun(
            dict(zip(names, run.numbers, strict=True)),
            run.hosts * per_host,
            checked_seconds(run.seconds, f"task {run.task}"),
            run.hosts,
            run.hardware,
        )
        for run in alike
    ]


def named_hardware(name: str, beside: Path) -> Hardware | None:
    """Return the hardware of that name or path; without a name, or where a name is not found, None.

    Raises:
        UserError: its file has faults.
    """
    if not name:
        return None
    folders = model_folders()
    path = Path(name) if name.endswith(".hmcl") else find(name, ".hmcl", folders, beside)
    return None if path is None else load_hardware(path, folders)


def cache_sizes(machine: Hardware | None) -> tuple[float, ...]:
    """Return the bytes of each cache of hosts; none where they are not known."""
    return () if machine is None or machine.memory is None else tuple(machine.memory.sizes)


def read_text(file: Path) -> str:
    """Return the text of a file with runs.

    Raises:
        UserError: it cannot be read, or is too long.
    """
    check_text(str(file), "file")
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UserError(f"{file} has more than {_MOST_BYTES >> 20} MiB: keep the newest runs")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): give a file with runs") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is no text: give a file with runs") from error
