"""Expressions and cflow times on lanes: the same values as one by one, or `UnbatchableError`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.budget import UnbatchableError
from cosched.evaluation.interpreter import scalar_expressions
from cosched.language.syntax import Binary, Invoke, Name, Number, Text, Unary, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from cosched.language.syntax import Expression

    Floats = NDArray[np.float64]
    _Get = Callable[[str], float | str | Floats]
    _Invoke = Callable[[str, list[float | Floats]], float | Floats]

__all__ = ["evaluate_expression", "number"]

# Only what is correctly rounded in any library is left to numpy; the rest goes through the functions of the scalar
# evaluator, one by one.
_ARRAYS: Mapping[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": lambda a, b: _truth(a < b),
    ">": lambda a, b: _truth(a > b),
    "<=": lambda a, b: _truth(a <= b),
    ">=": lambda a, b: _truth(a >= b),
    "==": lambda a, b: _truth(a == b),
    "!=": lambda a, b: _truth(a != b),
    "/": lambda a, b: np.divide(a, b),
    "%": lambda a, b: np.mod(a, b),
    "mod": lambda a, b: np.mod(a, b),
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "max": lambda *values: _fold(np.maximum, values),
    "min": lambda *values: _fold(np.minimum, values),
}
_TRUTHS = frozenset({"<", ">", "<=", ">=", "==", "!="})  # always finite
_FLOATS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": lambda a, b: 1.0 if a < b else 0.0,
    "<=": lambda a, b: 1.0 if a <= b else 0.0,
    "==": lambda a, b: 1.0 if a == b else 0.0,
}
"""The commonest of loops, where no lanes differ."""
_SCALARS: Mapping[str, Callable[..., object]] = {**scalar_expressions.FUNCTIONS, **scalar_expressions.GUARDED}


def evaluate_expression(expression: Expression, get: _Get, invoke: _Invoke) -> float | str | Floats:
    """Return the value of an expression on all lanes.

    Args:
        expression: checked.
        get: reads a variable.
        invoke: calls a procedure of the object with the values of its arguments.

    Raises:
        UnbatchableError: a list, or a value that is not finite on some lane.
    """
    kind = type(expression)
    if kind is Number:
        return cast("Number", expression).value
    if kind is Name:
        return get(cast("Name", expression).id)
    if kind is Binary:
        return _binary(cast("Binary", expression), get, invoke)
    match expression:
        case Text(_, text):
            return text
        case Unary():
            operand = number(expression.operand, get, invoke)
            if expression.operator == "!":
                return cast("float | Floats", _truth(np.equal(operand, 0)))
            return -operand if expression.operator == "-" else operand
        case Invoke():
            values = [number(argument, get, invoke) for argument in expression.arguments]
            if expression.name in scalar_expressions.FUNCTIONS:
                return _apply(expression.name, values)
            return invoke(expression.name, values)
    raise UnbatchableError


def _binary(expression: Binary, get: _Get, invoke: _Invoke) -> float | Floats:
    if expression.operator in ("&&", "||"):
        return _logical(expression, get, invoke)
    left = evaluate_expression(expression.left, get, invoke)
    right = evaluate_expression(expression.right, get, invoke)
    if type(left) is float and type(right) is float and expression.operator in _FLOATS:
        result = _FLOATS[expression.operator](left, right)
        if math.isfinite(result):
            return result
    return _apply(expression.operator, [left, right])


def _logical(expression: Binary, get: _Get, invoke: _Invoke) -> float | Floats:
    """Return whether both sides hold, or either; where the left side decides, the right one is not evaluated."""
    left, decided = number(expression.left, get, invoke), expression.operator == "||"
    holds = np.not_equal(left, 0)
    if not isinstance(left, np.ndarray) or holds.all() or not holds.any():
        if bool(np.all(holds)) is decided:
            return float(decided)
        return cast("float | Floats", _truth(np.not_equal(number(expression.right, get, invoke), 0)))
    called = (node.name for node, _ in walk(expression.right) if isinstance(node, Invoke))
    if any(name not in scalar_expressions.FUNCTIONS for name in called):
        raise UnbatchableError  # it may assign variables of lanes that do not call it
    right = np.not_equal(number(expression.right, get, invoke), 0)
    return cast("Floats", _truth(holds | right if decided else holds & right))


def number(expression: Expression, get: _Get, invoke: _Invoke) -> float | Floats:
    """Return the value of a numeric expression on all lanes; raises as `evaluate_expression`."""
    value = evaluate_expression(expression, get, invoke)
    if isinstance(value, str):
        raise UnbatchableError
    return value


def _apply(name: str, values: list[float | Floats] | list[float | str | Floats]) -> float | Floats:
    types = set(map(type, values))
    array = np.ndarray in types
    if str in types:
        if name not in ("==", "!=") or array:
            raise UnbatchableError
        return 1.0 if (values[0] == values[1]) is (name == "==") else 0.0
    try:
        if name in _ARRAYS and (array or name not in _SCALARS):
            result = _ARRAYS[name](*values)
        elif array:
            result = _one_by_one(_SCALARS[name], values)
        else:
            result = _SCALARS[name](*values)
    except (ArithmeticError, ValueError):
        raise UnbatchableError from None
    if name in _TRUTHS:
        return cast("float | Floats", result)
    if not (math.isfinite(result) if isinstance(result, float) else np.isfinite(cast("Floats", result)).all()):
        raise UnbatchableError
    return cast("float | Floats", result)


def _one_by_one(function: Callable[..., object], values: list[float | Floats] | list[float | str | Floats]) -> Floats:
    columns = np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values))
    return np.array([function(*row) for row in zip(*(column.tolist() for column in columns), strict=True)], np.float64)


def _fold(function: np.ufunc, values: tuple[float | Floats, ...]) -> object:
    result: object = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _truth(value: object) -> object:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(bool(value))
