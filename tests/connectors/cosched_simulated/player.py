"""Plays the hosts of a simulated pool: runs what its jobs are to run, and writes into the pool when and how it ended.

    python -m tests.connectors.cosched_simulated.player

plays those of the pool whose spool it was told last, as a line on its standard input; an empty line lets go of it.
Each line is answered with one. The contract of all connectors judges by what programs do. The pool needs settings with
which no job ends by itself: `UNENDING`.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState
from cosched.connector.launches import process_environment
from cosched.connector.script_lines import prepared_command, with_preparation_failure
from cosched_simulated.database import PoolDatabase
from cosched_simulated.pool import JobOutcome

if TYPE_CHECKING:
    from cosched.connector import Launch
    from cosched_simulated.pool import SimulatedJob

UNENDING = {"unpredicted": 1e7, "grace": 1e7}
_PAUSE = 0.01


class Processes:
    """The processes of one attempt."""

    def __init__(self, launch: Launch, folder: Path) -> None:
        self._live: list[subprocess.Popen[bytes]] = []
        self._fault = ""
        self._code = 0
        self._folder = folder
        folder.mkdir(parents=True)
        command = ["/bin/sh", "-c", prepared_command(launch, str(folder))] if launch.prepare else launch.command
        for rank in range(launch.count):
            try:
                self._start(launch, list(command), rank)
            except OSError as error:
                self._code = 127 if isinstance(error, FileNotFoundError) else 126
                self._fault = f"cannot start {command[0]!r}: {error.strerror}"
                self.kill()
                break

    def _start(self, launch: Launch, command: list[str], rank: int) -> None:
        hosts = launch.hosts or ("chosen",) * launch.count
        host_file = self._folder / f"hosts.{rank}"
        host_file.write_text("".join(f"{host}\n" for host in hosts))
        variables = {
            "PATH": os.environ["PATH"],
            **process_environment(launch),
            "COSCHED_HOSTS": ",".join(hosts),
            "COSCHED_HOST_FILE": str(host_file),
            "COSCHED_RANK": str(rank),
        }
        with (
            Path(launch.stdin or os.devnull).open("rb") as given,
            (self._folder / f"out.{rank}").open("wb") as out,
            (self._folder / f"err.{rank}").open("wb") as err,
        ):
            self._live.append(
                subprocess.Popen(
                    command,
                    env=variables,
                    cwd=launch.directory or self._folder,
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            )

    def kill(self) -> None:
        for process in self._live:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)

    def outcome(self, attempt: str) -> JobOutcome | None:
        """Return how they ended; None while one lives."""
        if any(process.poll() is None for process in self._live):
            return None
        codes = (process.returncode if process.returncode >= 0 else 128 - process.returncode for process in self._live)
        code = self._code or next(filter(None, codes), 0)
        state = JobState.FAILED if code else JobState.COMPLETED
        report = JobReport(attempt, state, exit_code=code, reason=self._fault)
        return JobOutcome(state, code, with_preparation_failure(report, self._folder).reason)


class Hosts:
    """The hosts of one pool."""

    def __init__(self, spool: Path) -> None:
        self._database = PoolDatabase(spool / "pool.db")
        self._attempts = spool / "attempts"
        self._processes: dict[str, Processes] = {}

    def look(self) -> None:
        """Start what has started, kill what was stopped, and say what has ended."""
        with self._database.transaction() as transaction:
            for job in transaction.pool.jobs:
                if job.state is JobState.RUNNING:
                    outcome = self._look_at(job, transaction.launch(job.attempt))
                    if outcome is not None:
                        transaction.change(
                            replace(job, outcome=job.outcome if job.stopped else outcome, ends=time.time())
                        )

    def _look_at(self, job: SimulatedJob, launch: Launch | None) -> JobOutcome | None:
        """Return how the job has ended; None while it runs."""
        assert launch is not None
        processes = self._processes.get(job.attempt)
        if processes is None:
            if job.stopped:
                return job.outcome
            processes = self._processes[job.attempt] = Processes(launch, self._attempts / job.attempt)
        if job.stopped:
            processes.kill()
        return processes.outcome(job.attempt)

    def close(self) -> None:
        for processes in self._processes.values():
            processes.kill()
        self._database.close()


def main() -> None:
    hosts: Hosts | None = None
    while True:
        if select.select([sys.stdin], [], [], _PAUSE)[0]:
            line = sys.stdin.readline()
            if hosts is not None:
                hosts.close()
            if not line:
                return
            hosts = Hosts(Path(line.strip())) if line.strip() else None
            print(flush=True)
        if hosts is not None:
            hosts.look()


if __name__ == "__main__":
    main()
