"""Limits and errors of an evaluation: how much work, and where it failed.

Models come from users, and some never end: `Budget.spend` ends those with an error at a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Position

__all__ = ["DEEPEST_CALLS", "DEFAULT_STEPS", "Budget", "CountError", "LanesDifferError", "TooManyStepsError", "fail"]


class CountError(ModelError):
    """The model is sound but does not cover this number of hosts."""


def fail(source: Source, at: Position, message: str, error: type[ModelError] = ModelError) -> NoReturn:
    """End the evaluation with a fault at a position."""
    raise error([source.fault(at, message)])


DEFAULT_STEPS = 10_000_000
"""Steps one evaluation may take: a few seconds, and some 200 MB at the very most."""

DEEPEST_CALLS = 40
"""Deepest nesting of procedure calls."""


class Budget:
    """Counts down the steps that are left.

    A step is about one statement, or one use of a device.
    """

    __slots__ = ("left", "total")

    def __init__(self, steps: int = DEFAULT_STEPS) -> None:
        self.total = steps
        self.left = steps

    def spend(self, steps: int, source: Source, at: Position) -> None:
        """Spend steps; end the evaluation with an error at a position when none are left."""
        self.left -= steps
        if self.left < 0:
            fail(source, at, f"stopped here after {self.total} steps: does this end? Fewer turns or steps are needed")


class LanesDifferError(Exception):
    """Lanes cannot go on together: each number of hosts is to be evaluated by itself."""


class TooManyStepsError(LanesDifferError):
    """More steps than may be held at a time: fewer lanes may do."""
