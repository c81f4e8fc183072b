"""What a compiled expression or statement sees while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.evaluation.run import Run

__all__ = ["Block", "Frame", "Numeric", "Value", "Valued"]

Value = float | str | tuple[float, ...]


class Frame:
    """The variables of an object, those of the procedure that runs, and the run itself."""

    __slots__ = ("locals", "run", "values")

    def __init__(self, values: dict[str, Value], own: dict[str, Value], run: Run) -> None:
        self.values = values
        self.locals = own
        self.run = run


Numeric = Callable[[Frame], float]
Valued = Callable[[Frame], Value]
# None: go on with the next statement; a value: the procedure returns it.
Block = Callable[[Frame], "float | None"]
