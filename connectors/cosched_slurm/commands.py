"""Slurm's commands run with argument vectors and a time limit; errors say whether to retry.

Start at `SlurmCommands`; `run_command` runs one process; `refusal_error` reads Slurm's words where it takes no job.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError
from cosched_slurm.cluster.nodes import parse_reservation
from cosched_slurm.past_jobs import SACCT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched_slurm.cluster.nodes import NodeReservation
    from cosched_slurm.owners import OwnerAccount
    from cosched_slurm.slurm_settings import SlurmSettings

__all__ = [
    "FIXED_VARIABLES",
    "PASSED_VARIABLES",
    "QUEUE_FULL",
    "CommandResult",
    "InterferenceError",
    "SlurmCommands",
    "queue_full_message",
    "refusal_error",
    "run_command",
]

QUEUE_FULL = re.compile(rb"(sleeping and|temporarily disabled,) retrying\s*$", re.MULTILINE)
"""sbatch's words before it waits, up to two minutes, for room in the controller's queue (`MaxJobCount`)."""
# Errors that no second try changes; any other may be the controller's state of the moment.
_FINAL_WORDS = (
    "invalid",
    "not available",
    "more processors",
    "permission",
    "denied",
    "not permitted",
    "unrecognized",
    "unable to open file",
    "violates",
    "dependency problem",
    "unknown user",
)
_CLOSED_FOR_NOW = "inactive or drain"  # a partition, as for its maintenance: "Required partition not available (…)"
_FEW_CORES = "cpu count per node can not be satisfied"
_ASK_FOR_FEWER = (
    ": its nodes have fewer cores than it starts ranks on each: ask for fewer ranks on a host (--processes-per-host) "
    "or for more hosts"
)
_QUEUE_FULL_WORDS = ("resource temporarily unavailable", "temporarily unable to accept", "job queue full")
_POLICY = "violates accounting/qos policy"
# AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit, MaxSubmitJobsPerAccount, …
_SUBMIT_LIMIT = re.compile(r"SubmitJob")
_OTHER_LIMIT = re.compile(r"\b(?:Assoc|QOS|Max)[A-Z]\w+")


def refusal_error(context: str, words: str, *, submitting: bool) -> ConnectorError:
    """Return the error that Slurm's answer means.

    Args:
        context: the program that failed, for people.
        words: the answer, in one line.
        submitting: whether it was asked to take a job.
    """
    small = words.lower()
    if submitting and (_is_submit_limit(words) or any(word in small for word in _QUEUE_FULL_WORDS)):
        return ConnectorError(queue_full_message(words), transient=True, refused=True)
    final = submitting and any(word in small for word in _FINAL_WORDS) and _CLOSED_FOR_NOW not in small
    hint = _ASK_FOR_FEWER if _FEW_CORES in small else ""
    return ConnectorError(f"{context}: {words}{hint}", transient=not final)


def queue_full_message(words: str) -> str:
    """Return the message for a job that finds no room now."""
    return f"Slurm takes no more jobs for now: {words}"


def _is_submit_limit(words: str) -> bool:
    """Return whether a limit on submitted jobs is reached, named by Slurm or not.

    It passes as jobs end.
    """
    if _POLICY not in words.lower():
        return False
    return bool(_SUBMIT_LIMIT.search(words)) or not _OTHER_LIMIT.search(words)


_READ_BYTES = 65536
_MOST_WRITTEN = 1 << 18  # bytes that another user's command may write
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command that has ended.

    Attributes:
        code: its exit code.
        output: its standard output.
        error_text: its standard error, in one line.
        interrupted: whether it was ended because of its error text.
        seconds: time for which it lived after the error text, at most.
    """

    code: int
    output: str
    error_text: str
    interrupted: bool
    seconds: float


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    limit: float,
    until: re.Pattern[bytes] | None = None,
    user: OwnerAccount | None = None,
) -> CommandResult:
    """Run a command without input.

    Args:
        command: argument vector, a path first.
        environment: all of its variables.
        limit: seconds that it may take.
        until: pattern in its standard error at which it is ended.
        user: user that it runs as, in place of this process's own.

    Raises:
        TimeoutError: it took longer and was ended.
        InterferenceError: its user stopped it or wrote too much, and it was ended.
        OSError: it cannot be started.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command if user is None else [sys.executable, "-I", "-S", "-c", _BECOME_USER, *_numbers(user), *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is not for it
        cwd=None if user is None else "/",  # the daemon's own folder may be closed to this user
    )
    with process:
        try:
            output, errors, silent = _read_pipes(process, began + limit, until, anothers=user is not None)
            interrupted = until is not None and until.search(errors) is not None
            if not interrupted:
                process.wait(max(0.0, began + limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            process.kill()
        process.wait()
    words = " ".join(errors.decode(errors="replace").split())
    return CommandResult(
        process.returncode, output.decode(errors="replace"), words, interrupted, time.monotonic() - silent
    )


# Popen would change the user itself, and wait for the command's begin: for ever, where the user stops it before.
_BECOME_USER = """\
import os, sys
uid, gid, groups = sys.argv[1:4]
os.setgroups([int(number) for number in groups.split()])
os.setresgid(int(gid), int(gid), int(gid))
os.setresuid(int(uid), int(uid), int(uid))
os.execv(sys.argv[4], sys.argv[4:])
"""


def _numbers(user: OwnerAccount) -> list[str]:
    return [str(user.uid), str(user.gid), " ".join(map(str, user.groups))]


def _read_pipes(
    process: subprocess.Popen[bytes], end: float, until: re.Pattern[bytes] | None, *, anothers: bool
) -> tuple[bytes, bytes, float]:
    """Read both pipes until the process closes them, or its standard error holds `until`.

    Another user's process can be stopped by that user, who can write into its pipes and keep them open: it is waited
    for no longer than it works.

    Returns:
        Output, errors, and a time (monotonic) at which the last part of them had not been written yet.

    Raises:
        TimeoutError: neither happened in time.
        InterferenceError: it is another user's, who stopped it or wrote too much.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    read = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    output, errors = read.values()
    poll = select.poll()
    for pipe in read:
        poll.register(pipe, select.POLLIN)
    left = len(read)
    silent = time.monotonic()
    while left and not (until is not None and until.search(errors)):
        asked = time.monotonic()
        ended = anothers and process.poll() is not None
        ready = poll.poll(0 if ended else max(0.0, min(end - asked, _POLL_SECONDS)) * 1000)
        if not ready:
            silent = asked
        if not ready and ended:
            break
        if asked >= end and (anothers or not ready):
            raise TimeoutError
        if anothers:
            _check_untouched(process.pid, len(output) + len(errors))
        for pipe, _ in ready:
            block = os.read(pipe, _READ_BYTES)
            read[pipe] += block
            if not block:
                poll.unregister(pipe)
                left -= 1
    return bytes(output), bytes(errors), silent


class InterferenceError(OSError):
    """The user as whom a command runs has stopped it or written into its pipes."""


def _check_untouched(pid: int, written: int) -> None:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # it has just ended
        state = ""
    if state in ("T", "t"):
        raise InterferenceError("it was stopped by its user")
    if written > _MOST_WRITTEN:
        raise InterferenceError(f"it wrote more than {_MOST_WRITTEN >> 10} KiB")


PASSED_VARIABLES = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SLURM_CONF")
# 0: Slurm does not cut off indices of arrays. %s: times of sacct are seconds since the epoch.
FIXED_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}


class SlurmCommands:
    """Run Slurm's commands with the daemon's user, language and time zone alone.

    Args:
        settings: the connector's.
        all_users: whether jobs of cosched may be other users'.

    Attributes:
        calls: number of runs of each.
        largest_array: most jobs of one array.
    """

    largest_array = 1000  # elements at most: Slurm's own limit is one more, unless it is configured

    def __init__(self, settings: SlurmSettings, *, all_users: bool = False) -> None:
        self._settings = settings
        self._own = () if all_users else ("--me",)
        self.calls: Counter[str] = Counter()
        self._accounts = True
        self._nodes: tuple[str, ...] = ("scontrol", "show", "nodes", "--all", "--json")

    def path(self, program: str) -> str:
        """Return the path of a command.

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

    def submit(self, options: Sequence[str], user: OwnerAccount | None = None) -> str:
        """Run sbatch and return the job's number.

        Args:
            options: options of sbatch; the last one is the script.
            user: owner of the job, in place of the daemon's user. sbatch then has only this user's rights.

        Raises:
            ConnectorError: refused, or the answer was lost (`transient`).
        """
        answer = self._run("sbatch", "--parsable", *options, until=QUEUE_FULL, user=user).strip().partition(";")[0]
        if not answer.isdecimal():
            raise ConnectorError(f"sbatch answered {answer[:80]!r} and no job number", transient=True)
        return answer

    def test_submission(self, options: Sequence[str]) -> None:
        """Ask Slurm whether it would take a job with these options of sbatch; none is made.

        Raises:
            ConnectorError: it would not, or did not answer (`transient`).
        """
        self._run("sbatch", "--test-only", *options, "--wrap=true", until=QUEUE_FULL)

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs; those that have ended already are left as they are."""
        if jobs:
            self._run("scancel", "--quiet", *jobs)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs that the controller remembers, ended ones too; 22.05 adds other users' jobs."""
        return self._listed("jobs", "squeue", *self._own, "--all", "--states=all", "--json")

    def all_users_jobs(self) -> list[dict[str, Any]]:
        """Return the waiting and running jobs of all users."""
        return self._listed("jobs", "squeue", "--all", "--json")

    def every_job(self) -> list[dict[str, Any]]:
        """Return the jobs of all users that the controller remembers, ended ones too."""
        return self._listed("jobs", "squeue", "--all", "--states=all", "--json")

    def update(self, jobs: Sequence[str], *changes: str) -> None:
        """Change jobs that wait.

        Raises:
            ConnectorError: Slurm refused at least one change; those before it stand.
        """
        self._run("scontrol", "update", f"jobid={','.join(jobs)}", *changes)

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes."""
        try:
            return self._listed("nodes", *self._nodes)
        except ConnectorError as error:
            if "unrecognized option" not in str(error):
                raise
            self._nodes = ("sinfo", "--all", "--json")  # 22.05 has the list in this command alone
            return self._listed("nodes", *self._nodes)

    def reservation(self, name: str) -> NodeReservation:
        """Return a reservation; a missing one is a transient error."""
        return parse_reservation(self._run("scontrol", "--oneliner", "show", "reservation", name))

    def partitions(self) -> str:
        """Return a line for each partition, hidden ones too."""
        return self._run("scontrol", "--all", "--oneliner", "show", "partition")

    def topology(self) -> str:
        """Return a line for each switch of the topology; none where Slurm has no tree of switches."""
        return self._run("scontrol", "--oneliner", "show", "topology")

    def accounting(self, age: int) -> list[str] | None:
        """Return a line of `SACCT_FIELDS` for each recent job; None without accounting.

        Recent are the last `age` seconds.
        """
        return self._accounted(f"--starttime=now-{age}")

    def accounted_job(self, number: str, submitted: int) -> list[str] | None:
        """Return the same of the jobs that have had a number since an epoch time, with when each was submitted."""
        return self._accounted(f"--jobs={number}", "--duplicates", f"--starttime=uts{submitted}", more=",Submit")

    def _accounted(self, *which: str, more: str = "") -> list[str] | None:
        if not self._accounts:
            return None
        form = ("--allocations", "--noheader", "--parsable2", f"--format={','.join(SACCT_FIELDS)}{more}")
        try:
            return self._run("sacct", *form, *which).splitlines()
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
            raise ConnectorError(f"{command[0]} failed{_reasons(faults)}: is slurmctld well?", transient=True)
        if not usable:
            raise ConnectorError(f"{command[0]} gave no list of {key}: {output[:80]!r}", transient=True)
        return list(rows)

    def _run(
        self,
        program: str,
        *arguments: str,
        until: re.Pattern[bytes] | None = None,
        user: OwnerAccount | None = None,
    ) -> str:
        environment = {key: os.environ[key] for key in PASSED_VARIABLES if key in os.environ} | FIXED_VARIABLES
        if user is not None:
            environment |= {"HOME": user.home, "USER": user.name, "LOGNAME": user.name}
        if self._settings.config is not None:
            environment["SLURM_CONF"] = str(self._settings.config)
        limit = self._settings.timeout
        self.calls[program] += 1
        try:
            done = run_command([self.path(program), *arguments], environment, limit, until, user)
        except TimeoutError:
            message = f"{program} did not answer within {limit:.0f} s: is slurmctld well?"
            raise ConnectorError(message, transient=True) from None
        except InterferenceError as error:
            owner = "its user" if user is None else user.name
            message = f"{program}, run as {owner}, was ended: {error}; the task is looked for and tried again"
            raise ConnectorError(message, transient=True) from error
        except OSError as error:
            raise ConnectorError(f"{program} cannot be started: {error.strerror}", transient=True) from error
        if done.interrupted:
            # It sleeps a second at least before it tries again: ended before that, it has tried once.
            raise ConnectorError(queue_full_message(done.error_text), transient=True, refused=done.seconds < 1.0)
        if done.code:
            words = done.error_text or " ".join(done.output.split())[:200] or f"exit code {done.code}"
            raise refusal_error(f"{program} failed", words, submitting=program == "sbatch")
        return done.output


def _reasons(faults: object) -> str:
    """Return what Slurm's JSON says of its faults, after a colon; empty where it names none."""
    rows = [fault for fault in faults if isinstance(fault, dict)] if isinstance(faults, list) else []
    words = dict.fromkeys(str(row.get("description") or row.get("error") or "") for row in rows)
    named = [each for each in words if each not in ("", "Unspecified error")]
    return f": {', '.join(named)[:200]}" if named else ""
