"""What operators and functions compute. All numbers are floats: whole ones of any size stay small in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.arithmetic import FUNCTIONS, GUARDED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.evaluation.frame import Numeric

__all__ = ["BINARY", "FUNCTIONS", "GUARDED"]

BINARY: Mapping[str, Callable[[Numeric, Numeric], Numeric]] = {
    "+": lambda a, b: lambda f: a(f) + b(f),
    "-": lambda a, b: lambda f: a(f) - b(f),
    "*": lambda a, b: lambda f: a(f) * b(f),
    "<": lambda a, b: lambda f: 1.0 if a(f) < b(f) else 0.0,
    ">": lambda a, b: lambda f: 1.0 if a(f) > b(f) else 0.0,
    "<=": lambda a, b: lambda f: 1.0 if a(f) <= b(f) else 0.0,
    ">=": lambda a, b: lambda f: 1.0 if a(f) >= b(f) else 0.0,
    "&&": lambda a, b: lambda f: 1.0 if a(f) and b(f) else 0.0,
    "||": lambda a, b: lambda f: 1.0 if a(f) or b(f) else 0.0,
}
"""Operators that cannot fail on numbers, as combinators of compiled operands."""
