"""Find and kill processes safely, by number, start time and boot.

The system uses numbers again.
"""

from __future__ import annotations

import functools
import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosched_local.runner import kill

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RunnerClaim", "has_ended", "kill_all"]

_PROC = Path("/proc")
_NONE = -1  # number of no session


@dataclass(frozen=True, slots=True)
class RunnerClaim:
    """The one process that looks after an attempt.

    Attributes:
        pid: process number; 0 where no process holds the claim.
        begun: start time in clock ticks since boot (field 22 of proc(5) stat).
        boot: which boot of the machine.
    """

    pid: int
    begun: int
    boot: str

    @classmethod
    def read(cls, text: str) -> RunnerClaim:
        """Read the line that `cosched_local.runner.claim_text` writes."""
        pid, begun, boot = text.split()
        return cls(int(pid), int(begun), boot)

    @property
    def alive(self) -> bool:
        """Return whether that very process runs; a zombie does not."""
        if self.boot != _boot():
            return False
        stat = _stat(self.pid)
        return stat is not None and stat.state not in "ZX" and stat.begun == self.begun

    def open(self) -> int | None:
        """Return a pidfd, which becomes readable when the process ends; None if it has ended."""
        try:
            handle = os.pidfd_open(self.pid)
        except (OSError, ValueError):
            return None
        if self.alive:
            return handle
        os.close(handle)
        return None

    def send(self, number: signal.Signals) -> None:
        """Signal the process if it still is that very one."""
        handle = self.open()
        if handle is None:
            return
        try:
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass  # it ended while we opened it
        finally:
            os.close(handle)


def has_ended(handle: int) -> bool:
    """Return whether the process behind a pidfd has ended."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    begun: int


@functools.cache  # this process does not outlive a boot
def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _stat(pid: int) -> _Stat | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return _Stat(fields[0], int(fields[19]))


def kill_all(attempt: str, claim: RunnerClaim) -> bool:
    """Kill every process of an attempt after its runner; return True when none is left.

    They are known by the runner's session, and where they left it by the attempt's UUID in their environment.
    """
    if claim.pid == 0 or claim.boot != _boot():
        return True
    # The system reuses no number of a living session; if a process has this one, the session was not ours.
    stat = _stat(claim.pid)
    session = claim.pid if stat is None or stat.begun == claim.begun else _NONE
    mark = f"COSCHED_ATTEMPT={attempt}".encode()
    left = False
    for pid in _process_numbers():
        left |= kill(pid, session, mark)
    return not left


def _process_numbers() -> Iterator[int]:
    own = os.getpid()
    with os.scandir(_PROC) as entries:
        numbers = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return (number for number in numbers if number != own)
