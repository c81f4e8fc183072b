"""Processor time of this machine that is not cosched's, from proc(5). Start at `ForeignUse`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["ForeignUse", "ProcessorSample", "part_taken"]

_PROC = Path("/proc")
_EVERY = 5.0  # seconds between two samples at least: processor time is counted in hundredths of seconds
_IDLE_COLUMNS = (3, 4)  # of the line "cpu" of proc(5) stat: idle, iowait
_COUNTED = 8  # its first columns; guests' time is in others


@dataclass(frozen=True, slots=True)
class ProcessorSample:
    """Processor time since the boot, in clock ticks.

    Attributes:
        busy: of all processors.
        idle: likewise, in which they had nothing to do.
        own: of cosched's processes and of the children that these have waited for.
    """

    busy: int
    idle: int
    own: int

    @classmethod
    def read(cls, own: Callable[[int, int, int], bool], proc: Path = _PROC) -> ProcessorSample:
        """Read the machine's counters.

        Args:
            own: returns whether a process with this number, parent and session is cosched's, or its parent is; parents
                come first.
            proc: where proc(5) is.
        """
        columns = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1 : 1 + _COUNTED]]
        idle = sum(columns[place] for place in _IDLE_COLUMNS)
        return cls(sum(columns) - idle, idle, sum(used for *process, used in _processes(proc) if own(*process)))


def _processes(proc: Path) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, parent, session and clock ticks of each process, older ones first."""
    found = []
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            try:
                words = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            begun, used = int(words[19]), sum(int(word) for word in words[11:15])
            found.append((begun, int(entry.name), int(words[1]), int(words[3]), used))
    return ((pid, parent, session, used) for _, pid, parent, session, used in sorted(found))


def part_taken(before: ProcessorSample, after: ProcessorSample, processors: int, slots: int) -> float:
    """Return which part of each slot's processor others have had between two samples, 0…1.

    As long as others leave a processor for each slot, they take nothing of the slots.

    Args:
        before: the earlier one.
        after: the later one.
        processors: of the machine.
        slots: how many cosched uses.
    """
    busy, idle = after.busy - before.busy, after.idle - before.idle
    if busy + idle <= 0:
        return 0.0
    others = max(busy - max(after.own - before.own, 0), 0)
    left = processors * (1 - others / (busy + idle))
    return min(max(1 - left / min(processors, slots), 0.0), 1.0)


class ForeignUse:
    """Watches which part of the slots' processors others have.

    What cannot be told apart counts as cosched's: others are never made more than they are.
    """

    def __init__(self, slots: int, sessions: Callable[[], Collection[int]]) -> None:
        """Set up.

        Args:
            slots: how many cosched uses of the machine.
            sessions: returns the sessions of attempts that run.
        """
        self._slots = slots
        self._sessions = sessions
        self._processors = os.cpu_count() or 1
        self._sample: ProcessorSample | None = None
        self._sampled = 0.0
        self._part = 0.0

    def part(self) -> float:
        """Return which part others have had of each slot lately, 0…1."""
        now = time.monotonic()
        if self._sample is None or now >= self._sampled + _EVERY:
            ours, sessions = {os.getpid()}, set(self._sessions())

            def own(pid: int, parent: int, session: int) -> bool:
                if parent in ours or session in sessions or pid in ours:
                    ours.add(pid)
                    return True
                return False

            sample = ProcessorSample.read(own)
            if self._sample is not None:
                self._part = part_taken(self._sample, sample, self._processors, self._slots)
            self._sample, self._sampled = sample, now
        return self._part
