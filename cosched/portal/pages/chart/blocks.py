"""Blocks of the schedule's chart: tasks on their hosts, as they ran, run or are planned."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChartBlock"]


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """One task on its hosts; times are seconds since the epoch.

    `kind` is past, broken, running or planned; others is a host, or its part, that jobs hold which are not cosched's,
    from now on. `cores` is what it takes of each host where tasks share them, 0 for all.
    `at_risk` is as `cosched.portal.pages.figures.deadlines` sorts the plan. Where its end is not `known`, it is
    drawn as long as plans reckon with it. An elastic task has `lent` hosts until others need them.
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
    at_risk: bool = False
    known: bool = True
    lent: bool = False

    @property
    def late(self) -> bool:
        """Return whether it ends after its deadline."""
        return self.known and self.deadline is not None and self.end > self.deadline
