"""Operators and functions on numbers, and the expressions that are constant.

`value` folds an expression of known names; `setting_values` does it for the settings of a hardware configuration.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from cosched.language.syntax import Binary, Invoke, Name, Number, Text, Unary
from cosched.language.vocabulary import MEMORY_GROUP, MESSAGE_GROUPS, MESSAGE_SHARES, NOISE_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.language.syntax import Config, Expression, Node

__all__ = ["FUNCTIONS", "GUARDED", "UndefinedError", "constant", "setting_values", "value"]


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
"""The functions named in `cosched.language.vocabulary`."""

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BINARY: Mapping[str, Callable[[float, float], float]] = {
    **GUARDED,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


class UndefinedError(Exception):
    """An expression has no value.

    Attributes:
        node: the part that has none; None where nothing is wrong but a name is not known before an evaluation.
        message: why.
    """

    def __init__(self, node: Node | None, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


def constant(expression: Expression) -> float | None:
    """Return the value of an expression of literals, else None.

    It is None, too, where such an expression has no value.
    """
    try:
        return value(expression, {})
    except UndefinedError:
        return None


def value(expression: Expression, known: Mapping[str, float]) -> float:
    """Return the value of an expression of numbers and known names.

    Raises:
        UndefinedError: it has none, or depends on what only an evaluation knows.
    """
    match expression:
        case Number():
            return expression.value
        case Name() if expression.id in known:
            return known[expression.id]
        case Unary():
            operand = value(expression.operand, known)
            return {"-": -operand, "+": operand, "!": float(not operand)}[expression.operator]
        case Binary():
            left = value(expression.left, known)
            if expression.operator in ("&&", "||"):
                decided = bool(left) is (expression.operator == "||")
                return float(bool(left) if decided else bool(value(expression.right, known)))
            right = value(expression.right, known)
            if expression.operator in _COMPARISONS:
                return float(_COMPARISONS[expression.operator](left, right))
            return _applied(expression, _BINARY[expression.operator], f" {expression.operator} ", left, right)
        case Invoke() if expression.name in FUNCTIONS:
            values = [value(argument, known) for argument in expression.arguments]
            return _applied(expression, FUNCTIONS[expression.name], expression.name, *values)
    raise UndefinedError(None, "only an evaluation knows the value")


def _applied(node: Binary | Invoke, function: Callable[..., float], name: str, *values: float) -> float:
    try:
        return function(*values)
    except ZeroDivisionError:
        raise UndefinedError(node, "division by zero") from None
    except (ValueError, OverflowError):
        if isinstance(node, Binary):
            shown = name.join(f"{item:g}" for item in values)
        else:
            shown = f"{name}({', '.join(f'{item:g}' for item in values)})"
        raise UndefinedError(node, f"{shown} has no finite value") from None
    except TypeError:
        raise UndefinedError(None, f"{name} takes another number of arguments") from None  # reported elsewhere


def setting_values(
    config: Config, report: Callable[[Node, str], None] | None = None
) -> dict[str, dict[str, float | str]]:
    """Return the value of each setting by group; those without one are left out.

    Args:
        config: each of its settings may use any that stands before it.
        report: called with each node at fault and the message.
    """
    known: dict[str, float] = {}
    groups: dict[str, dict[str, float | str]] = {}
    for group in config.groups:
        settings = groups.setdefault(group.name, {})
        for setting in group.settings:
            name = setting.name
            if isinstance(setting.value, Text):
                settings[name] = setting.value.value
                continue
            try:
                found = value(setting.value, known)
            except UndefinedError as error:
                if report and error.node is not None:
                    report(error.node, error.message)
                continue
            settings[name] = known[name] = found
            message = _unusable_setting(group.name, name, found)
            if report and message:
                report(setting.value, message)
    return groups


def _unusable_setting(group: str, name: str, found: float) -> str:
    """Return the fault of a value, or None."""
    if group in MESSAGE_GROUPS and name.startswith(
        "DD_"
    ):  # a line may begin below 0: what it says for real sizes counts
        return "" if math.isfinite(found) else f"{name} is {found}: a coefficient is finite"
    if group == NOISE_GROUP or name in MESSAGE_SHARES:
        return "" if 0 <= found <= 1 else f"{name} is {found:g}: a part is 0 to 1, such as 3 %"
    if group != "hardware" and not 0 <= found < math.inf:
        return f"{name} is {found}: a cost is finite and not negative"
    if group in MESSAGE_GROUPS and name.endswith("_bandwidth") and found == 0:
        return f"{name} is 0: leave it out where the size costs nothing"
    if group == MEMORY_GROUP and found == 0:
        return f"{name} is 0: sizes and bandwidths of memory are more than that"
    return ""
