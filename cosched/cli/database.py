"""`cosched database`: back up, restore and check the daemon's database."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cosched.api.times import format_optional_time
from cosched.cli.output import JsonOption, console, emit_json, print_table
from cosched.errors import SystemFault, UserError
from cosched.paths import database_file

if TYPE_CHECKING:
    from cosched.daemon.config.sections import Configuration
    from cosched.store.backups.inspection import DatabaseReport

__all__ = ["app"]

app = typer.Typer()

_FORGOTTEN = (
    "Tasks submitted since then are unknown: their jobs go on without cosched, and others get their numbers.",
    "Tasks that ended since then wait again until the daemon has found their jobs; none of these runs twice here.",
    "Tokens, accounts and reservations are as they were then: revoke and change again what was changed since.",
    "Tasks that were cancelled since are tried again: cancel them again.",
)

ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The daemon's configuration; else the usual places.", show_default=False)
]


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The copy to make, readable by its owner alone.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    config: ConfigOption = None,
) -> None:
    """Copy the database as it is now, and check the copy.

    The daemon may run meanwhile.
    """
    from cosched.store.backups.copies import back_up

    report = back_up(_there(_database(_configuration(config))), file, overwrite=force)
    console.print(f"{file}: {_summary(report)}; checked.", markup=False)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A copy made by `cosched database backup`.")],
    config: ConfigOption = None,
) -> None:
    """Put a backup in the database's place while no daemon runs.

    The replaced database is kept.
    """
    from cosched.store.backups import copies as backups
    from cosched.store.backups.inspection import inspect_database

    configuration = _configuration(config)
    database = _database(configuration)
    with _without_daemon(configuration, "stop it, restore the backup, then start it again"):
        kept = backups.restore(file, database)
        report = inspect_database(database)
    lines = [f"{database}: {_summary(report)}; restored from {file}."]
    if kept is not None:
        lines.append(f"The replaced database is kept as {kept}.")
    lines += _FORGOTTEN
    if configuration.agent.listen:
        lines.append("Tasks that went to a neighbour since run here once more: cancel those that have run there.")
    console.print("\n".join(lines), markup=False)


@app.command()
def check(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check the database and count its contents; exit code 2 if it has faults.

    The daemon may run meanwhile.
    """
    from cosched.store.backups.inspection import inspect_database

    configuration = _configuration(config)
    report = inspect_database(_there(_database(configuration)), configuration.database.keep_days)
    faults = report.faults()
    if json:
        emit_json({**asdict(report), "faults": faults})
    else:
        print_table(("SUBJECT", "FOUND"), _rows(report))
    if faults:
        raise SystemFault("; ".join(faults))


@app.command("accept-loss")
def accept_loss(config: ConfigOption = None) -> None:
    """Let the daemon go on with a database that lacks changes.

    The database's files are copied before.
    """
    from cosched.store.backups import copies as backups
    from cosched.store.backups.last_commit import lost_changes

    configuration = _configuration(config)
    database = _database(configuration)
    with _without_daemon(configuration, "it needs no loss accepted, for it works"):
        lost = lost_changes(database)
        if not lost:
            console.print(f"{database} lacks nothing that is known; nothing was done.", markup=False)
            return
        kept = backups.accept_loss(database)
    console.print(f"Accepted: {lost}.", markup=False)
    if kept is not None:
        console.print(f"The database is copied as it is now to {kept}, its WAL beside it.", markup=False)
    console.print("\n".join(_FORGOTTEN), markup=False)


@contextmanager
def _without_daemon(configuration: "Configuration", otherwise: str) -> Iterator[None]:
    """Keep daemons from the database inside the block."""
    from cosched.daemon.locks import AlreadyRunningError, DaemonLocks

    try:
        locks = DaemonLocks(configuration.domain.state, configuration.database.url)
    except AlreadyRunningError as error:
        raise UserError(f"a daemon uses {_database(configuration)}: {otherwise}") from error
    try:
        yield
    finally:
        locks.release()


def _there(database: Path) -> Path:
    """Return a database that is there; it is the configuration that names it."""
    if not database.is_file():
        raise SystemFault(
            f"there is no database {database}: a daemon makes it when it first starts; if it is elsewhere, correct "
            "--config, [domain] state or [database] url"
        )
    return database


def _configuration(config: Path | None) -> "Configuration":
    from cosched.daemon.config.loading import load_configuration

    return load_configuration(config)


def _database(configuration: "Configuration") -> Path:
    return database_file(configuration.database.url).resolve()  # its WAL is beside the file, not beside a link


def _summary(report: "DatabaseReport") -> str:
    tasks = sum(report.tasks.values())
    until = format_optional_time(report.last_change)
    return f"{tasks} {'task' if tasks == 1 else 'tasks'}{f', the last change at {until}' if until else ''}"


def _rows(report: "DatabaseReport") -> list[tuple[str, str]]:
    version = f"{report.version} of {report.newest}" if report.version != report.newest else report.version
    older = ", migrated at the daemon's next start" if report.version and report.version < report.newest else ""
    rows = [
        ("database", report.file),
        ("size", f"{_megabytes(report.bytes)}, and {_megabytes(report.wal)} of changes in its WAL"),
        ("journal", report.journal),
        ("version", f"{version}{older}"),
        ("integrity", "ok" if not report.damage else "; ".join(report.damage)),
        ("changes", report.lost or "complete, as far as is known"),
    ]
    if report.damage:
        return rows
    states = ", ".join(f"{count} {state}" for state, count in report.tasks.items())
    counts = [(name.replace("_", " "), str(count)) for name, count in report.rows.items() if name != "tasks"]
    return [
        *rows,
        ("references", "ok" if not report.dangling else f"{report.dangling} to missing rows"),
        ("last change", format_optional_time(report.last_change) or "none"),
        ("tasks", f"{report.rows.get('tasks', 0)}{f': {states}' if states else ''}"),
        ("live attempts", str(report.live_attempts)),
        *counts,
        ("retention", _retention(report)),
    ]


def _retention(report: "DatabaseReport") -> str:
    if not report.keep_days:
        return "all is kept"
    return f"ended tasks are kept for {report.keep_days:g} days, {report.due} are due to be deleted"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
