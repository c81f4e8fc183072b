"""`cosched domain`: state, schedule, past runs, accuracy of predictions and log."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.api.deadlines import parse_since
from cosched.api.documents import GroupUseView, LearntRunView, PlacementView, ResourceUseView
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, LimitOption, OffsetOption, clean, emit_json, figure, percentage, print_table
from cosched.counts import plural
from cosched.durations import format_duration, parse_duration
from cosched.errors import UserError
from cosched.sizes import format_memory

__all__ = ["app"]

app = typer.Typer()

_MOST_RUNS = 1000  # of an application
_SHORTEST, _LONGEST = 60.0, 10_000 * 86400.0  # of the past, seconds


@app.command()
def status(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show the domain's state: hosts, tasks by state, and faults."""
    with connect(server) as client:
        found = client.status()
    if json:
        emit_json(asdict(found))
        return
    tasks = ", ".join(f"{count} {state}" for state, count in found.tasks.items() if count) or "none"
    expected = ((found.late, "expected to be late"), (found.at_risk, "at risk of being late"))
    late = "".join(f"; {count} {words}" for count, words in expected if count)
    lines = [
        f"domain:  {found.domain} ({found.connector}, policy {found.policy}, cosched {found.version})",
        f"hosts:   {found.hosts_up} up, {found.hosts_down} down",
        f"tasks:   {tasks}{late}",
        *([] if found.as_of in (None, found.time) else [f"as of:   {format_optional_time(found.as_of)}"]),
        *(f"fault:   {fault}" for fault in found.faults),
    ]
    sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))


@app.command()
def health(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show what each part of the daemon does, and what to do where it does not; for administrators.

    The exit code is 0 where nothing is broken, else 2.
    """
    with connect(server) as client:
        found = client.health()
    if json:
        emit_json(asdict(found))
    else:
        for check in found.checks:
            sys.stdout.write(clean(f"{check.state + ':':7} {check.part}. {check.finding}") + "\n")
            sys.stdout.write(clean(f"        → {check.advice}") + "\n" if check.advice else "")
        for mistake in found.mistakes:
            sys.stdout.write(clean(f"mistake {format_optional_time(mistake.time)}: {mistake.what}") + "\n")
    if any(check.state == "broken" for check in found.checks):
        raise typer.Exit(2)


@app.command()
def schedule(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show the schedule in force: running and planned tasks, and its quality."""
    with connect(server) as client:
        plan = client.plan()
    if json:
        emit_json(asdict(plan))
        return
    rows = [
        (
            place.task,
            place.name,
            place.owner,
            place.application,
            "lent" if place.lent else place.state if place.running else "planned",
            f"{len(place.hosts)}{f'x{place.cores}' if place.cores else ''}",
            format_optional_time(place.start),
            format_optional_time(place.end),
            format_optional_time(place.deadline),
            format_duration(place.in_hand),
        )
        for place in sorted(plan.placements, key=_as_read)
    ]
    print_table(("TASK", "NAME", "OWNER", "APPLICATION", "IS", "HOSTS", "START", "END", "DEADLINE", "IN HAND"), rows)
    gap = ""
    if plan.gap is not None and plan.bound is not None:
        above = f"{percentage(plan.gap)} above the bound of {format_duration(plan.bound)}"
        gap = f", {above}, {plan.evaluations} plans tried"
    if plan.optimal:
        gap = f", optimal: no plan of the waiting tasks is shorter, {plan.evaluations} plans tried"
    for each in plan.licences:
        held = f" (tasks {', '.join(each.tasks)})" if each.tasks else ""
        waits = f", {plural(each.waiting, 'task')} waiting" if each.waiting else ""
        sys.stderr.write(clean(f"cosched: {each.name}: {each.in_use} of {each.total} in use{held}{waits}") + "\n")
    unforeseen = f", without {plural(plan.unforeseen, 'run')} that nobody predicted" if plan.unforeseen else ""
    sys.stderr.write(f"cosched: makespan {format_duration(plan.makespan)}{unforeseen}{gap}\n")


def _as_read(place: PlacementView) -> tuple[int, int, str]:
    """Return what rows are sorted by: the second of the start, as it is shown, and the task's number."""
    return int(place.start), len(place.task), place.task


@app.command()
def search(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show the progress of the search, oldest first."""
    with connect(server) as client:
        found = client.search()
    if json:
        emit_json([asdict(point) for point in found])
        return
    rows = [
        (
            format_optional_time(point.time),
            format_optional_time(point.end),
            "" if point.gap is None else percentage(point.gap),
            str(point.evaluations),
        )
        for point in found
    ]
    print_table(("TIME", "END OF ALL", "GAP", "PLANS TRIED"), rows)


@app.command()
def runs(
    last: Annotated[str, typer.Option(metavar="DURATION", help="Only what ended in the last 30m, 8h, 2d …")] = "1h",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List past runs with their hosts, newest first."""
    with connect(server) as client:
        found = client.runs(max(time.time() - parse_duration(last, "--last"), 0.0))
    if json:
        emit_json([asdict(run) for run in found])
        return
    rows = [
        (
            run.task,
            run.name,
            run.application,
            run.state,
            format_optional_time(run.start),
            format_duration(run.end - run.start),
            ", ".join(run.hosts),
        )
        for run in found
    ]
    print_table(("TASK", "NAME", "APPLICATION", "STATE", "STARTED", "RAN", "HOSTS"), rows)


@app.command()
def usage(
    by: Annotated[str, typer.Option(metavar="user|group|application", help="What is told apart.")] = "user",
    since: Annotated[str, typer.Option(metavar="DURATION|TIME", help="30d, 12h, 2026-11-01 …")] = "30d",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show who has had the hosts; your own tasks alone, unless you are an operator.

    What still runs counts until now. Tasks that are kept no longer ([database] keep_days) count no more.
    """
    if by not in ("user", "group", "application"):
        raise UserError(f"--by is {by!r}: write user, group or application")
    with connect(server) as client:
        found = client.usage(by, parse_since(since, time.time()))
    if json:
        emit_json([asdict(entry) for entry in found])
        return
    total = sum(entry.host_seconds for entry in found) or 1.0
    rows = [
        (
            entry.name,
            str(entry.tasks),
            str(entry.runs),
            figure(entry.host_seconds / 3600, 3),
            f"{entry.host_seconds / total:.1%}",
            str(entry.on_time or ""),
            str(entry.late or ""),
        )
        for entry in found
    ]
    print_table((by.upper(), "TASKS", "RUNS", "HOST HOURS", "SHARE", "ON TIME", "LATE"), rows)


@app.command()
def utilisation(
    last: Annotated[str, typer.Option(metavar="DURATION", help="How far back: 1h, 8h, 7d …")] = "1d",
    by: Annotated[str, typer.Option(metavar="class|user", help="What is told apart.")] = "class",
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show how much of the hosts tasks had, have and are to have: where they share them, of cores, memory and GPUs.

    A task that has a host for itself has all of it. Only operators see other users' names.
    """
    if by not in ("class", "user"):
        raise UserError(f"--by is {by!r}: write class or user")
    if not _SHORTEST <= (past := parse_duration(last, "--last")) <= _LONGEST:
        raise UserError(f"--last is {last!r}: write a time from 1m to 10000d")
    with connect(server) as client:
        found = client.utilisation(past, by)
    if json:
        emit_json(asdict(found))
        return
    rows = []
    for each in found.resources:
        total = format_memory(round(each.total)) if each.resource == "memory" else f"{each.total:g}"
        rows += [(each.resource, total, "together", *_parts(each))]
        rows += [("", "", group.name, *_parts(group)) for group in each.groups]
    print_table(("RESOURCE", "TOTAL", by.upper(), f"LAST {last}", "NOW", "PLANNED"), rows)
    if not found.complete:
        sys.stderr.write("cosched: there were more runs in this time than are counted: the oldest are left out\n")
    sys.stderr.write(f"cosched: planned is from now until {format_optional_time(found.planned_until)}\n")


def _parts(use: ResourceUseView | GroupUseView) -> tuple[str, str, str]:
    """Return the parts of a resource that were, are and are to be in use."""
    return f"{use.past:.1%}", f"{use.now:.1%}", f"{use.planned:.1%}"


@app.command()
def accuracy(
    sources: Annotated[bool, typer.Option("--sources", help="By what models and users say alone.")] = False,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Show the accuracy of predictions, by application and hardware.

    With --sources: errors of your newest runs, of all users' for operators, by what model or user said alone and by
    what was predicted in the end, and how many of them were within the range that was shown.
    """
    with connect(server) as client:
        found = client.accuracy()
        if sources:
            names = dict.fromkeys(entry.application for entry in found)
            errors = [row for name in names for row in _source_errors(name, client.learnt_runs(name, _MOST_RUNS))]
            if json:
                emit_json(errors)
                return
            said = [
                (
                    row["application"],
                    row["source"],
                    str(row["runs"]),
                    f"{row['median']:.1%}",
                    f"{row['mean']:.1%}",
                    "" if row["within"] is None else f"{row['within']:.0%}",
                )
                for row in errors
            ]
            print_table(("APPLICATION", "SAID BY", "RUNS", "MEDIAN ERROR", "MEAN ERROR", "90 % RANGE HELD"), said)
            return
    if json:
        emit_json([asdict(entry) for entry in found])
        return
    rows = [
        (
            entry.application,
            entry.hardware,
            str(len(entry.ratios)),
            f"{statistics.median(entry.ratios):.3f}",
            f"{min(entry.ratios):.3f}",
            f"{max(entry.ratios):.3f}",
            f"{entry.factor:.3f}",
            "" if entry.contention is None else f"+{entry.contention:.0%} ({entry.contention_runs} runs)",
        )
        for entry in found
        if entry.ratios
    ]
    headings = ("APPLICATION", "PREDICTED ON", "RUNS", "MEDIAN", "LEAST", "MOST", "CORRECTION", "BESIDE OTHERS")
    print_table(headings, rows)


def _source_errors(application: str, runs: Sequence[LearntRunView]) -> list[dict[str, Any]]:
    """Return errors of what was foretold of runs, as parts of their seconds."""
    said = {
        "model or user alone": [(run.stated, run.seconds) for run in runs],
        "as predicted": [(run.predicted, run.seconds) for run in runs],
    }
    ranged = [run.low <= run.seconds <= run.high for run in runs if run.low is not None and run.high is not None]
    within = {"as predicted": statistics.fmean(ranged)} if ranged else {}
    found = []
    for source, pairs in said.items():
        errors = [abs(foretold / seconds - 1) for foretold, seconds in pairs if foretold]
        if errors:
            median, mean = statistics.median(errors), statistics.fmean(errors)
            found.append(
                {
                    "application": application,
                    "source": source,
                    "runs": len(errors),
                    "median": median,
                    "mean": mean,
                    "within": within.get(source),
                }
            )
    return found


@app.command()
def record(
    file: Annotated[Path, typer.Argument(help="Where to save it.")] = Path("cosched-recording.jsonl"),
    with_names: Annotated[
        bool, typer.Option("--with-names", help="Keep owners, applications, commands and reasons as they are.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="Read the folder that this configuration names; ask no daemon.")
    ] = None,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Save the daemon's last events as a file that `cosched replay` runs; for administrators.

    Where no daemon runs, its folder is read. Environments, addresses and users' own job files are never in it.
    """
    from cosched.cli.recording import recorded_bytes, save_recording

    saved = save_recording(recorded_bytes(server, config), file, with_names=with_names)
    if json:
        emit_json(asdict(saved))
        return
    names = "names as they are" if with_names else "names replaced"
    sys.stdout.write(f"{saved.events} events, {names}, saved in {clean(str(file))}: `cosched replay` runs them\n")


@app.command()
def log(
    limit: LimitOption = 100,
    offset: OffsetOption = 0,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """List the log, newest first."""
    with connect(server) as client:
        found = client.log(limit, offset)
    if json:
        emit_json([asdict(line) for line in found])
        return
    print_table(
        ("TIME", "WHAT", "TASK", "DETAIL"),
        [(format_optional_time(line.time), line.kind, line.task, line.detail) for line in found],
    )
