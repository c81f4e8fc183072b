"""Weights of the objective, and the objectives that users choose by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ObjectiveName", "Weights"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the objective's terms; each term is a number of order one.

    Attributes:
        makespan: weight of makespan ÷ lower bound.
        idle: weight of the front-weighted idle share.
        lateness: weight of mean lateness ÷ lower bound.
        deadlines_first: fewer missed deadlines are always better; the weighted terms decide between equals.
        slowdown: weight of mean bounded slowdown ÷ the least that it can be.
    """

    makespan: float = 1.0
    idle: float = 0.2
    lateness: float = 5.0
    deadlines_first: bool = False
    slowdown: float = 0.0


class ObjectiveName(StrEnum):
    """Weights of the objective's parts."""

    BALANCED = "balanced"
    DEADLINES_FIRST = "deadlines-first"
    MAKESPAN = "makespan"
    SLOWDOWN = "slowdown"
    TARDINESS = "tardiness"

    @property
    def weights(self) -> Weights:
        """The weights of a named objective."""
        if self is ObjectiveName.MAKESPAN:
            return Weights(makespan=1.0, idle=0.0, lateness=0.0)
        if self is ObjectiveName.SLOWDOWN:
            return Weights(makespan=0.0, idle=0.0, lateness=0.0, slowdown=1.0)
        if self is ObjectiveName.TARDINESS:  # the makespan decides between plans that are as late
            return Weights(makespan=0.001, idle=0.0, lateness=1.0)
        return Weights(deadlines_first=self is ObjectiveName.DEADLINES_FIRST)
