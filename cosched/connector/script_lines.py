"""Lines of the shell scripts that run attempts: variables, the host file, the preparation and the command."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState
from cosched.connector.launches import process_environment
from cosched.connector.parallel import command_lines

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.jobs import JobReport, Launch

__all__ = ["export_lines", "host_file_lines", "prepared_command", "with_preparation_failure"]

_PREPARATION_FAILED = "unprepared"  # name of the mark that a failed preparation leaves, before its rank
_PREPARED_COMMAND = """\
{prepare}
prepared=$?
if [ "$prepared" -ne 0 ]; then
    echo "cosched: the preparation ended with exit code $prepared" >&2
    (echo "$prepared" > {mark}"$COSCHED_RANK") 2> /dev/null
    exit "$prepared"
fi
{command}"""
_HOST_FILE_LINES = """\
export COSCHED_HOST_FILE={folder}/hosts."$COSCHED_RANK"
(IFS=,; set -f; printf '%s\\n' $COSCHED_HOSTS > "$COSCHED_HOST_FILE")"""


def prepared_command(launch: Launch, folder: str) -> str:
    """Return the shell lines that run the launch's preparation, if any, then its command.

    Args:
        launch: the attempt.
        folder: place for the mark of a preparation that fails, as a word of the shell's (quoted).

    Raises:
        UserError: the program's name begins with a dash.
    """
    if not launch.prepare:
        return command_lines(launch)
    return _PREPARED_COMMAND.format(
        prepare=shlex.join(launch.prepare), command=command_lines(launch), mark=f"{folder}/{_PREPARATION_FAILED}."
    )


def with_preparation_failure(report: JobReport, folder: Path) -> JobReport:
    """Return a failed attempt's report with the failed preparation as reason, where it was that.

    Args:
        report: report of the attempt.
        folder: folder of the attempt; the mark is in it or in a folder of the process's own.
    """
    if report.state is not JobState.FAILED:
        return report
    marks = sorted([*folder.glob(f"{_PREPARATION_FAILED}.*"), *folder.glob(f"*/{_PREPARATION_FAILED}.*")])
    if not marks:
        return report
    rank = marks[0].name.rpartition(".")[2]
    return replace(report, reason=f"the preparation on rank {rank} ended with exit code {report.exit_code}")


def export_lines(launch: Launch) -> str:
    """Return the shell lines that set the launch's variables.

    Without the rank of a process, and without hosts that the manager is still to choose.
    """
    left_out = ("COSCHED_RANK",) if launch.hosts else ("COSCHED_RANK", "COSCHED_HOSTS")
    return "\n".join(
        f"export {name}={shlex.quote(value)}"
        for name, value in process_environment(launch).items()
        if name not in left_out
    )


def host_file_lines(folder: str) -> str:
    """Return the shell lines that write COSCHED_HOST_FILE from COSCHED_HOSTS, for the process of COSCHED_RANK.

    Args:
        folder: place for the file, as a word of the shell's (quoted).
    """
    return _HOST_FILE_LINES.format(folder=folder)
