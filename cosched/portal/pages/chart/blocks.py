"""Blocks of the schedule's chart: tasks on their hosts, as they ran, run or are planned."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChartBlock"]


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """One task on its hosts; times are seconds since the epoch.

    `kind` is past, broken, running or planned. `cores` is what it takes of each host where tasks share them, 0 for all.
    `end_high` is when one run in twenty has not ended yet, None where no range is known.
    """

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    kind: str
    cores: int = 0
    owner: str = ""
    end_high: float | None = None

    @property
    def late(self) -> bool:
        """Return whether it ends after its deadline."""
        return self.deadline is not None and self.end > self.deadline

    @property
    def at_risk(self) -> bool:
        """Return whether it ends in time and one run in twenty would not."""
        high = self.end if self.end_high is None else self.end_high
        return self.deadline is not None and self.end <= self.deadline < high
