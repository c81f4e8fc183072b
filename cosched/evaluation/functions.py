"""What operators and functions compute. All numbers are floats: whole ones of any size stay small in memory."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

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

GUARDED: Mapping[str, Callable[[float, float], float]] = {
    "/": operator.truediv,
    "%": operator.mod,
    "^": math.pow,
}
"""Operators that fail for some operands. The remainder has the sign of the divisor: -1 % 4 is 3."""

FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": lambda x: float(math.ceil(x)),
    "exp": math.exp,
    "floor": lambda x: float(math.floor(x)),
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "mod": operator.mod,
    "pow": math.pow,
    "sqrt": math.sqrt,
}
"""The functions named in `cosched.language.names`."""
