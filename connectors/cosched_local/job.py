"""One attempt that has not ended: starts its runner and follows it.

Start at `LocalJob`; `start_runner` spawns the process that looks after the attempt (`cosched_local.runner`).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState, Launch, LaunchMode
from cosched.connector.launches import process_environment
from cosched.connector.mailboxes import make_mailbox
from cosched.connector.parallel import OPENMPI_HOST_FILE, launcher_environment, process_count
from cosched.connector.script_lines import prepared_command
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched_local import runner
from cosched_local.processes import has_ended, kill_all

if TYPE_CHECKING:
    from cosched_local.spool import LocalSpool

__all__ = ["MAILBOX", "LocalJob", "reap", "start_runner"]

# Variables that a job gets of the daemon's own environment; the rest may hold the daemon's secrets.
_PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_NO_LIMIT = "inf"
_AGENT = """\
#!/bin/sh
# Called by MPI's launchers as `agent HOST WORD...`: all local slots are of this machine. Each has a folder of its own
# for what Open MPI keeps on a host: in one, ranks of several slots would take each other's memory, and a daemon that
# begins would remove what another has just made, which then ends without a word.
slot="${0%/*}/slot.$1"
mkdir -p "$slot" && export OMPI_MCA_btl_vader_backing_directory="$slot" OMPI_MCA_btl_sm_backing_directory="$slot"
export OMPI_MCA_orte_tmpdir_base="$slot" PRTE_MCA_prte_tmpdir_base="$slot"
shift
exec /bin/sh -c "$*"
"""
MAILBOX = "mailbox"
"""Name of the mailbox in an attempt's folder."""

_HOST_FILE = "hosts"  # name of the file with the names of the attempt's hosts
_RUNNER_PATIENCE = 5.0  # seconds beyond the grace that a runner may take to end its job, before it is killed itself
_NEVER = float("inf")
# Children belong to the process, not to the connector object that started them: another may be closed before they end.
_runner_pids: set[int] = set()


def start_runner(launch: Launch, folder: Path, grace: float) -> int:
    """Start the runner in a session of its own and return its pid.

    Raises:
        OSError: the machine cannot start one more process, or the command is longer than it takes (E2BIG).
    """
    limit = _NO_LIMIT if launch.time_limit is None else str(launch.time_limit)
    marks = shlex.quote(str(folder))
    extras = launch.prepare or launch.stdin or SHIM_VARIABLE in launch.environment
    plain = not extras and launch.launch in (LaunchMode.EACH, LaunchMode.ONCE)
    command = launch.command if plain else ("/bin/sh", "-c", prepared_command(launch, marks))
    arguments = [
        sys.executable,
        "-I",
        "-S",
        str(Path(runner.__file__)),
        str(folder),
        launch.directory or str(folder),
        str(process_count(launch)),
        limit,
        str(grace),
        *command,
    ]
    variables = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    log = (os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = os.posix_spawn(
        sys.executable,
        arguments,
        {**variables, **_launcher_variables(launch, folder), **process_environment(launch), **_places(launch, folder)},
        setsid=True,
        setsigmask=(),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "runner.log"), *log),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    _runner_pids.add(pid)
    return pid


def _places(launch: Launch, folder: Path) -> dict[str, str]:
    """Write the host file, and return the variables that tell of the hosts."""
    hosts = _hosts(launch)
    (folder / _HOST_FILE).write_text("".join(f"{host}\n" for host in hosts))
    places = {"COSCHED_HOSTS": ",".join(hosts), "COSCHED_HOST_FILE": str(folder / _HOST_FILE)}
    if launch.mailbox:
        make_mailbox(folder / MAILBOX)
        places["COSCHED_MAILBOX"] = str(folder / MAILBOX)
    return places


def _hosts(launch: Launch) -> tuple[str, ...]:
    return launch.hosts or (os.uname().nodename,) * launch.count


def _launcher_variables(launch: Launch, folder: Path) -> dict[str, str]:
    """Write the files of MPI's launchers, and return the variables that name them.

    They are for a program that is launched once.
    """
    if not launch.launch.once:
        return {}
    agent, listed = folder / "agent", folder / OPENMPI_HOST_FILE
    agent.write_text(_AGENT)
    agent.chmod(0o700)
    # Where the manager chooses, all are this machine, which Open MPI takes in one line alone.
    processes = Counter(_hosts(launch))
    lines = [f"{host} slots={count * launch.processes_per_host}\n" for host, count in processes.items()]
    listed.write_text("".join(lines))
    return launcher_environment(str(agent), str(folder / _HOST_FILE), str(listed))


def reap() -> None:
    """Reap ended runners of this process, so that none stays as a zombie."""
    for pid in list(_runner_pids):
        try:
            gone = os.waitpid(pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:  # another thread waited for it, or it was started before a fork
            gone = True
        if gone:
            _runner_pids.discard(pid)


class LocalJob:
    """An attempt's files, runner and latest report; the spool can restore all of them.

    Attributes:
        launch: launch of the attempt.
        report: report of the last `look`.
        handle: pidfd of the runner; None while there is none.
        parts: the parts of its slots that it takes; empty for the whole, and before it starts.
    """

    def __init__(self, spool: LocalSpool, launch: Launch, grace: float) -> None:
        self.launch = launch
        self.report = JobReport(launch.attempt, JobState.QUEUED, launch.attempt[:8])
        self.handle: int | None = None
        self._spool = spool
        self._grace = grace
        self._pid: int | None = None  # of the runner we started
        self._claim = spool.claim(launch.attempt)
        self._give_up = _NEVER
        self.parts = spool.parts(launch.attempt)
        self._follow()
        order = spool.stop(launch.attempt)
        if order is not None:  # an earlier daemon may have died before it saw to it
            self.stop(*order)

    @property
    def waiting(self) -> bool:
        """Return whether no runner was started for it and it has not ended."""
        return self._pid is None and self._claim is None

    @property
    def session(self) -> int | None:
        """The session that its runner leads; None while there is none."""
        return self._pid if self._claim is None else self._claim.pid

    @property
    def stopping(self) -> bool:
        """Return whether it was ordered to end."""
        return self._give_up != _NEVER

    @property
    def changes_soon(self) -> bool:
        """Return whether it will change soon without a sign from the handle."""
        return not self.waiting and (self.report.state is JobState.QUEUED or self.stopping)

    def set_waiting_reason(self, reason: str) -> None:
        """Report that the attempt waits, and why."""
        self.report = JobReport(self.launch.attempt, JobState.QUEUED, self.launch.attempt[:8], reason=reason)

    def start(self, parts: str = "") -> None:
        """Start a runner, which claims the attempt and runs it.

        `parts` is what it takes of its slots, as `parts_text` has it; empty for the whole.

        Raises:
            OSError: the machine has no room for one more process.
        """
        if parts:
            self._spool.write_parts(self.launch.attempt, parts)
            self.parts = parts
        self._pid = start_runner(self.launch, self._spool.folder(self.launch.attempt), self._grace)
        with contextlib.suppress(ProcessLookupError):
            self.handle = os.pidfd_open(self._pid)
        self.set_waiting_reason("")

    def stop(self, state: JobState, reason: str) -> None:
        """Order the attempt to end in this state, even before it begins.

        `look` returns True when it has ended.

        The order is on disk before a process tries for the claim, so the one that gets it knows the order.

        Raises:
            OSError: it cannot be written; a cancel ends what runs all the same.
        """
        try:
            self._spool.write_stop(self.launch.attempt, state, reason)
        except OSError:
            # What runs may be what fills the disk. Without an order its runner ends it as one that was cancelled.
            if state is JobState.REMOVED and self._claim is not None:
                self._claim.send(signal.SIGTERM)
            raise
        if self._claim is None:
            self._spool.fence(self.launch.attempt)
            self._claim = self._spool.claim(self.launch.attempt)
            self._follow()
        if self._claim is not None:
            self._claim.send(signal.SIGTERM)
        self._give_up = min(self._give_up, time.monotonic() + self._grace + _RUNNER_PATIENCE)

    def look(self) -> bool:
        """Update the report; return whether the attempt has ended without leaving a process."""
        if self.handle is not None and not has_ended(self.handle):
            self._look_at_start()
            return False
        self.release()
        if self._claim is None:
            self._claim = self._spool.claim(self.launch.attempt)
            if self._claim is None:
                words = self._spool.runner_log_tail(self.launch.attempt)
                self.stop(JobState.EVICTED, f"its runner ended before it began: {words}")
            self._follow()
            return self.handle is None and self._look_at_end()
        return self._look_at_end()

    def release(self) -> None:
        """Close the handle; the job goes on."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def _follow(self) -> None:
        """Watch the runner that holds the claim, also one that an earlier daemon started."""
        if self._claim is not None and self._claim.pid != self._pid:
            self.release()
            self.handle = self._claim.open()

    def _look_at_start(self) -> None:
        attempt = self.launch.attempt
        if self.report.state is JobState.QUEUED:
            started = self._spool.started(attempt)
            if started is not None:
                self.report = JobReport(attempt, JobState.RUNNING, attempt[:8], started)
        if self._claim is None:
            self._claim = self._spool.claim(attempt)
            self._follow()
        if time.monotonic() > self._give_up and self._claim is not None:
            self._claim.send(signal.SIGKILL)

    def _look_at_end(self) -> bool:
        """Read the end that the runner wrote, or write it in the runner's place.

        Processes that the runner left behind are killed.
        """
        attempt = self.launch.attempt
        claim = self._claim
        end = self._spool.end(attempt)
        cut_short = end is None or end.state in (JobState.REMOVED, JobState.EVICTED)
        # The launcher's daemons are in groups of their own: none outlives a program that is launched once.
        if claim is not None and (cut_short or self.launch.launch.once):
            self._give_up = 0.0
            if not kill_all(attempt, claim):
                return False
        if end is None:
            words = self._spool.runner_log_tail(attempt)
            state, reason = self._spool.stop(attempt) or (JobState.EVICTED, f"its runner was lost: {words}")
            end = self._spool.write_end(attempt, state, reason.rstrip(": "))
        self.report = end
        return True
