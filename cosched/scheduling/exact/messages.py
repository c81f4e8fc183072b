"""Requests to the exact partner's process, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["ExactAnswer", "ExactRequest"]


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """A problem to work on, in place of the one before.

    Attributes:
        number: of this request, which its answers repeat.
        problem: one that is not `uncovered`; None to rest.
        plan: the shortest known, or None likewise.
        bound: the lower bound known of its makespan, in seconds.
        seconds: how long to work on it.
    """

    number: int
    problem: Problem | None = None
    plan: Plan | None = None
    bound: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """A better bound or plan for a request.

    Attributes:
        number: of the request.
        bound: a better lower bound of the makespan in seconds; None once no more answers come.
        plan: a shorter plan; None where only the bound is better.
    """

    number: int
    bound: float | None
    plan: Plan | None = None
