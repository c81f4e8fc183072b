"""The spool of the local connector: the only memory of its attempts and hosts.

    SPOOL/lock                 held while a connector of a process works on this spool
    SPOOL/offline/HOST         a host that was taken off; the first line of the file is the reason
    SPOOL/attempts/UUID/       launch.json, and the runner's files (see `cosched_local.runner`)

A claim that no process holds is a fence: the attempt ended before it began, as its `stop` says. Without launch.json it
was cancelled before it was submitted.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState
from cosched.connector.launches import launch_from_json, launch_to_json
from cosched.connector.script_lines import with_preparation_failure
from cosched.connector.spool import offline_hosts, read_job_file
from cosched_local.processes import RunnerClaim
from cosched_local.runner import claim, write_durably, write_end

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from cosched.connector import Launch

__all__ = ["LocalSpool"]

_LARGEST_FILE = 128 << 20  # bytes; a launch is the largest, of a request of 16 MiB at most
_FENCE_CLAIM = "0 0 fence\n"  # a claim that no process holds


class LocalSpool:
    """Reads and writes the spool. Every write is whole or absent after a crash."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._attempts = root / "attempts"
        self._offline = root / "offline"

    def create(self) -> None:
        """Make the folders; readable by their owner alone, for they hold users' environments and output."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._attempts.mkdir(mode=0o700, exist_ok=True)  # the spool may have been made by others, open to all
        self._offline.mkdir(exist_ok=True)

    def folder(self, attempt: str) -> Path:
        """Return the attempt's own folder, where its output is."""
        return self._attempts / attempt

    def attempts(self) -> list[str]:
        """Return all attempts in the order in which they were submitted."""
        with os.scandir(self._attempts) as entries:
            names = [entry.name for entry in entries]
        return sorted(names, key=lambda name: (self._modified(name, "launch.json") or 0.0, name))

    def write_launch(self, launch: Launch) -> None:
        """Write down the launch."""
        folder = self.folder(launch.attempt)
        folder.mkdir(exist_ok=True)
        aside = folder / "launch.new"
        write_durably(str(aside), launch_to_json(launch))
        aside.rename(folder / "launch.json")

    def launch(self, attempt: str) -> Launch | None:
        """Return an attempt's launch; None where nothing was submitted (yet)."""
        text = self._read(attempt, "launch.json")
        return launch_from_json(text) if text else None

    def write_parts(self, attempt: str, text: str) -> None:
        """Write down which parts of its slots an attempt takes."""
        aside = self.folder(attempt) / "parts.new"
        write_durably(str(aside), text)
        aside.rename(self.folder(attempt) / "parts")

    def parts(self, attempt: str) -> str:
        """Return the parts of its slots that an attempt takes; empty where it has them for itself."""
        return self._read(attempt, "parts")

    def claim(self, attempt: str) -> RunnerClaim | None:
        """Return the claim on the attempt; None where it has none."""
        text = self._read(attempt, "claim")
        return RunnerClaim.read(text) if text else None

    def fence(self, attempt: str) -> bool:
        """Take the attempt so that no runner can; return False if a runner has it."""
        return claim(str(self.folder(attempt)), _FENCE_CLAIM)

    def started(self, attempt: str) -> float | None:
        """Return when the last of the attempt's processes had started."""
        text = self._read(attempt, "started")
        return float(text) if text else None

    def end(self, attempt: str) -> JobReport | None:
        """Return the attempt's end; None while it lives, or if the machine failed.

        A cancel that comes after an eviction makes it REMOVED; one that comes after another end changes nothing.
        """
        end = self._written_end(attempt)
        if end is None:
            claim = self.claim(attempt)
            if claim is None or claim.pid != 0:
                return None
            end = JobReport(attempt, JobState.EVICTED, attempt[:8])
        if end.state is JobState.EVICTED:
            state, reason = self.stop(attempt) or (end.state, end.reason)
            end = replace(end, state=state, reason=reason)
        return end

    def _written_end(self, attempt: str) -> JobReport | None:
        first, _, reason = self._read(attempt, "end").partition("\n")
        words = first.split()
        if len(words) != 4:
            return None
        state, started, finished, code = words
        end = JobReport(
            attempt,
            JobState(state),
            attempt[:8],
            _float(started),
            _float(finished),
            None if code == "None" else int(code),
            reason.strip(),
        )
        return with_preparation_failure(end, self.folder(attempt))

    def write_end(self, attempt: str, state: JobState, reason: str) -> JobReport:
        """Write the end of an attempt that has no runner, or none any more."""
        started = self.started(attempt)
        now = max(time.time(), started or 0.0)
        write_end(str(self.folder(attempt)), state, started=started, finished=now, code=None, reason=reason)
        return JobReport(attempt, state, attempt[:8], started, now, None, reason)

    def stop(self, attempt: str) -> tuple[JobState, str] | None:
        """Return the state in which the attempt was ordered to end, and why."""
        state, _, reason = self._read(attempt, "stop").partition("\n")
        return (JobState(state), reason) if state else None

    def write_stop(self, attempt: str, state: JobState, reason: str) -> None:
        """Order the attempt to end; a cancel replaces an eviction, else the first order stands."""
        before = self.stop(attempt)
        if before is None or (before[0] is JobState.EVICTED and state is JobState.REMOVED):
            self.folder(attempt).mkdir(exist_ok=True)
            aside = self.folder(attempt) / "stop.new"
            aside.write_text(f"{state}\n{reason}")
            aside.rename(self.folder(attempt) / "stop")

    def runner_log_tail(self, attempt: str) -> str:
        """Return the last line that the runner wrote about itself, or an empty text."""
        lines = self._read(attempt, "runner.log").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def offline(self) -> dict[str, str]:
        """Return the hosts that are taken off, each with its reason."""
        return offline_hosts(self._offline)

    def prune(self, older_than: float, live: Collection[str] = ()) -> None:
        """Delete the folders of attempts that ended before this time; `live` ones, whose end was not seen yet, stay."""
        for attempt in self.attempts():
            if attempt in live or self.folder(attempt).stat().st_mtime >= older_than:
                continue
            if self.end(attempt) is not None:
                shutil.rmtree(self.folder(attempt), ignore_errors=True)

    def _modified(self, attempt: str, name: str) -> float | None:
        try:
            return (self.folder(attempt) / name).stat().st_mtime
        except FileNotFoundError:
            return None

    def _read(self, attempt: str, name: str) -> str:
        return read_job_file(self.folder(attempt) / name, _LARGEST_FILE) or ""


def _float(text: str) -> float | None:
    return None if text == "None" else float(text)
