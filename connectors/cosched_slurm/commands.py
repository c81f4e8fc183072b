"""Slurm's commands: argument vectors, a time limit, and errors that say whether to try again."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError
from cosched_slurm.accounting import FIELDS
from cosched_slurm.refusals import NO_ROOM, full, refusal
from cosched_slurm.reservations import reservation
from cosched_slurm.running import run

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from cosched_slurm.reservations import Reservation
    from cosched_slurm.settings import SlurmSettings

__all__ = ["KEPT", "SET", "Commands"]

KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SLURM_CONF")
# 0: indices of arrays are not cut off. %s: times of sacct are seconds since the epoch.
SET = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}


class Commands:
    """Runs Slurm's commands in an environment that holds nothing of ours but who we are.

    Args:
        settings: the connector's.
        everybodys: whether jobs of cosched may be other users'.

    Attributes:
        calls: how often each was run.
        largest_array: how many jobs may be one array.
    """

    largest_array = 1000  # elements at most: Slurm's own limit is one more, unless it is configured

    def __init__(self, settings: SlurmSettings, *, everybodys: bool = False) -> None:
        self._settings = settings
        self._own = () if everybodys else ("--me",)
        self.calls: Counter[str] = Counter()
        self._accounts = True
        self._nodes: tuple[str, ...] = ("scontrol", "show", "nodes", "--all", "--json")

    def path(self, program: str) -> str:
        """Return where a command is.

        Raises:
            ConnectorError: it is not where it is looked for.
        """
        where = self._settings.bin
        found = shutil.which(program, path=str(where)) if where else shutil.which(program)
        if found is None:
            place = where or "PATH"
            raise ConnectorError(
                f"there is no program {program} in {place}: install Slurm's client commands or set "
                "the key bin of [connector.slurm]",
                transient=True,
            )
        return found

    def submit(self, options: Sequence[str]) -> str:
        """Run sbatch and return the job's number.

        Raises:
            ConnectorError: refused, or the answer was lost (`transient`).
        """
        answer = self._run("sbatch", "--parsable", *options, until=NO_ROOM).strip().partition(";")[0]
        if not answer.isdecimal():
            raise ConnectorError(f"sbatch answered {answer[:80]!r} and no job number", transient=True)
        return answer

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs; those that have ended already are left as they are."""
        if jobs:
            self._run("scancel", "--quiet", *jobs)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs that the controller remembers, those that ended included; 22.05 adds other users'."""
        return self._listed("jobs", "squeue", *self._own, "--all", "--states=all", "--json")

    def everybodys_jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of all users that wait or run."""
        return self._listed("jobs", "squeue", "--all", "--json")

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes."""
        try:
            return self._listed("nodes", *self._nodes)
        except ConnectorError as error:
            if "unrecognized option" not in str(error):
                raise
            self._nodes = ("sinfo", "--all", "--json")  # in 22.05 it is this command that tells
            return self._listed("nodes", *self._nodes)

    def reservation(self, name: str) -> Reservation:
        """Return a reservation; one that is not there (any more) is an error that may pass."""
        return reservation(self._run("scontrol", "--oneliner", "show", "reservation", name))

    def accounting(self, age: int) -> list[str] | None:
        """Return a line of `FIELDS` for each job of the last so many seconds; None where Slurm keeps no accounting."""
        if not self._accounts:
            return None
        form = ("--allocations", "--noheader", "--parsable2", f"--format={','.join(FIELDS)}", f"--starttime=now-{age}")
        try:
            return self._run("sacct", *form).splitlines()
        except ConnectorError as error:
            if "storage is disabled" not in str(error) and "no program sacct" not in str(error):
                raise
            self._accounts = False
            return None

    def close(self) -> None:
        """Nothing is held."""

    def _listed(self, key: str, *command: str) -> list[dict[str, Any]]:
        output = self._run(*command)
        try:
            document = json.loads(output)
            faults = document.get("errors")
            rows = document[key]
            usable = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        except (ValueError, KeyError, TypeError, AttributeError):
            faults, rows, usable = None, [], False
        if faults:
            raise ConnectorError(f"{command[0]} reports {str(faults)[:200]}", transient=True)
        if not usable:
            raise ConnectorError(f"{command[0]} gave no list of {key}: {output[:80]!r}", transient=True)
        return list(rows)

    def _run(self, program: str, *arguments: str, until: re.Pattern[bytes] | None = None) -> str:
        environment = {key: os.environ[key] for key in KEPT if key in os.environ} | SET
        if self._settings.config is not None:
            environment["SLURM_CONF"] = str(self._settings.config)
        limit = self._settings.timeout
        self.calls[program] += 1
        try:
            done = run([self.path(program), *arguments], environment, limit, until)
        except TimeoutError:
            message = f"{program} did not answer within {limit:.0f} s: is slurmctld well?"
            raise ConnectorError(message, transient=True) from None
        except OSError as error:
            raise ConnectorError(f"{program} cannot be started: {error.strerror}", transient=True) from error
        if done.interrupted:
            # It sleeps a second at least before it tries again: ended before that, it has tried once.
            raise ConnectorError(full(done.words), transient=True, refused=done.seconds < 1.0)
        if done.code:
            words = done.words or " ".join(done.output.split())[:200] or f"exit code {done.code}"
            raise refusal(f"{program} failed", words, submitting=program == "sbatch")
        return done.output
