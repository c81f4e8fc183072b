"""Compile expressions to closures, for one lane or many; models never become Python code.

A value is a number where all lanes agree, else an array. All numbers are floats: whole ones of any size stay small.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter.frame import fault
from cosched.evaluation.interpreter.invariance import written
from cosched.language.arithmetic import FUNCTIONS, GUARDED
from cosched.language.syntax import Binary, Element, Invoke, Name, Number, Text, Unary, Vector, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.evaluation.interpreter.frame import (
        CompiledNumber,
        CompiledValue,
        Floats,
        Frame,
        LaneNumber,
        Value,
    )
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Expression, Position, Procedure

    Invocation = Callable[[Frame, tuple[LaneNumber, ...], Position], LaneNumber]

__all__ = ["Expressions"]

_F8 = np.float64

# Written out for each operator: a call of a function in between takes longer than the operation.
_BINARY: Mapping[str, Callable[[CompiledNumber, CompiledNumber], CompiledNumber]] = {
    "+": lambda a, b: lambda f: a(f) + b(f),
    "-": lambda a, b: lambda f: a(f) - b(f),
    "*": lambda a, b: lambda f: a(f) * b(f),
    "<": lambda a, b: lambda f: 1.0 if (r := a(f) < b(f)) is True else 0.0 if r is False else r.astype(_F8),
    ">": lambda a, b: lambda f: 1.0 if (r := a(f) > b(f)) is True else 0.0 if r is False else r.astype(_F8),
    "<=": lambda a, b: lambda f: 1.0 if (r := a(f) <= b(f)) is True else 0.0 if r is False else r.astype(_F8),
    ">=": lambda a, b: lambda f: 1.0 if (r := a(f) >= b(f)) is True else 0.0 if r is False else r.astype(_F8),
}
"""Operators that cannot fail on numbers, as combinators of compiled operands."""

# Only what is correctly rounded in any library is left to numpy; the rest is computed lane by lane.
_ARRAYS: Mapping[str, Callable[..., Floats]] = {
    "/": np.divide,
    "%": np.mod,
    "mod": np.mod,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "max": lambda *values: _fold(np.maximum, values),
    "min": lambda *values: _fold(np.minimum, values),
}


class Expressions:
    """Compiles the expressions of one procedure, or of one object outside its procedures.

    Attributes:
        source: source of the expressions, for the place of faults.
        types: types of the variables of the object and of the procedure.
        own: names of the procedure's variables and parameters.
        procedures: name → call with arguments; filled as they are compiled.
        trees: the object's procedures by name.
    """

    def __init__(
        self,
        source: Source,
        types: Mapping[str, str],
        own: frozenset[str],
        procedures: Mapping[str, Invocation],
        trees: Mapping[str, Procedure],
    ) -> None:
        self.source = source
        self.types = types
        self.own = own
        self.procedures = procedures
        self.trees = trees

    def value(self, expression: Expression) -> CompiledValue:
        """Compile an expression of any type."""
        match expression:
            case Text(_, text):
                return lambda _: text
            case Name():
                return self._variable(expression.at, expression.id)
            case Vector():
                return self._vector(expression)
        return self.number(expression)

    def of_type(self, expression: Expression, wanted: str) -> CompiledValue:
        """Compile an expression for a variable of a type; a numeric one gets no list."""
        return self.number(expression) if wanted == "numeric" else self.value(expression)

    def number(self, expression: Expression) -> CompiledNumber:
        """Compile an expression that must be a number."""
        match expression:
            case Number(_, value):
                return lambda _: value
            case Name():
                return self._numeric_variable(expression.at, expression.id)
            case Unary():
                return self._unary(expression)
            case Binary():
                return self._binary(expression)
            case Element():
                return self._element(expression)
            case Invoke():
                return self._invoke(expression)
        raise AssertionError("the checker lets no text or list stand for a number")

    def _variable(self, at: Position, name: str) -> CompiledValue:
        source = self.source

        def read_own(frame: Frame) -> Value:
            try:
                return frame.locals[name]
            except KeyError:
                fault(source, at, f"variable {name} has no value yet")

        def read(frame: Frame) -> Value:
            try:
                return frame.values[name]
            except KeyError:
                fault(source, at, f"variable {name} has no value: give it one here, by a link or with --set {name}=…")

        return read_own if name in self.own else read

    def _numeric_variable(self, at: Position, name: str) -> CompiledNumber:
        read, source = self._variable(at, name), self.source
        if self.types.get(name) != "vector":
            return cast("CompiledNumber", read)  # the checker and `assign` let only numbers into it

        def read_vector(frame: Frame) -> LaneNumber:
            value = read(frame)
            if isinstance(value, tuple | str):
                fault(source, at, f"vector {name} is a list here: pick an element, {name}[1]")
            return value

        return read_vector

    def _unary(self, expression: Unary) -> CompiledNumber:
        operand = self.number(expression.operand)
        if expression.operator == "-":
            return lambda frame: -operand(frame)
        if expression.operator == "!":
            return lambda frame: 1.0 if (r := operand(frame) == 0) is True else 0.0 if r is False else r.astype(_F8)
        return operand

    def _binary(self, expression: Binary) -> CompiledNumber:
        name = expression.operator
        if name in ("==", "!="):
            return self._equal(expression)
        if name in ("&&", "||"):
            return self._logical(expression)
        left, right = self.number(expression.left), self.number(expression.right)
        if name in _BINARY:
            return _BINARY[name](left, right)
        guarded, source, at = GUARDED[name], self.source, expression.at

        def checked(frame: Frame) -> LaneNumber:
            a, b = left(frame), right(frame)
            try:
                if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                    return _lanewise(name, guarded, a, b)
                return guarded(a, b)
            except ZeroDivisionError:
                fault(source, at, "division by zero")
            except (ValueError, OverflowError):
                fault(source, at, f"{{:g}} {name} {{:g}} has no finite value", a, b)

        return checked

    def _equal(self, expression: Binary) -> CompiledNumber:
        one, other = self.value(expression.left), self.value(expression.right)
        wanted = expression.operator == "=="

        def equal(frame: Frame) -> LaneNumber:
            a, b = one(frame), other(frame)
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                if isinstance(a, str | tuple) or isinstance(b, str | tuple):
                    return 0.0 if wanted else 1.0
                return (np.equal(a, b) if wanted else np.not_equal(a, b)).astype(_F8)
            return 1.0 if (a == b) is wanted else 0.0

        return equal

    def _logical(self, expression: Binary) -> CompiledNumber:
        """Compile `&&` or `||`: where the left side decides, the right one is not evaluated."""
        left, right, decided = self.number(expression.left), self.number(expression.right), expression.operator == "||"
        assigned = cache(lambda: written([expression.right], self.own, self.trees))
        plain = all(_is_plain(node) for node, _ in walk(expression.right))

        def logical(frame: Frame) -> LaneNumber:
            first = left(frame)
            if isinstance(first, np.ndarray):
                holds = first != 0
                if plain:  # quicker for all lanes than only where it counts
                    second = np.not_equal(right(frame), 0)
                    both: Floats = (holds | second if decided else holds & second).astype(_F8)
                    return both
                index = np.flatnonzero(holds != decided)
                found = np.full(len(holds), float(decided))
                if len(index):
                    inside = frame.pick(index)
                    found[index] = np.not_equal(right(inside), 0)
                    frame.merge([(inside, index)], assigned())
                return found
            if (first != 0) is decided:
                return 1.0 if decided else 0.0
            return 1.0 if (r := right(frame) != 0) is True else 0.0 if r is False else r.astype(_F8)

        return logical

    def _element(self, expression: Element) -> CompiledNumber:
        read, index, source = self._variable(expression.at, expression.name), self.number(expression.index), self.source

        def element(frame: Frame) -> LaneNumber:
            value, position = read(frame), index(frame)
            items = value if isinstance(value, tuple) else (cast("float", value),)
            if isinstance(position, np.ndarray):
                if not ((position >= 1) & (position <= len(items)) & (position == np.floor(position))).all():
                    raise LanesDifferError
                if not isinstance(value, tuple):
                    return cast("LaneNumber", value)
                return np.array(items, _F8).take(position.astype(np.int64) - 1)
            if not (1 <= position <= len(items) and position == int(position)):
                fault(source, expression.at, f"{expression.name} has elements 1 to {len(items)}, not {{:g}}", position)
            return items[int(position) - 1]

        return element

    def _vector(self, expression: Vector) -> CompiledValue:
        items, source = [self.number(item) for item in expression.items], self.source

        def vector(frame: Frame) -> tuple[float, ...]:
            frame.run.budget.spend(2 * len(items), source, expression.at)
            found = tuple(item(frame) for item in items)
            if any(isinstance(item, np.ndarray) for item in found):
                raise LanesDifferError
            return cast("tuple[float, ...]", found)

        return vector

    def _invoke(self, expression: Invoke) -> CompiledNumber:
        name, source, at = expression.name, self.source, expression.at
        arguments = tuple(self.number(argument) for argument in expression.arguments)
        if name not in FUNCTIONS:
            procedures = self.procedures
            return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
        function = FUNCTIONS[name]

        def call(frame: Frame) -> LaneNumber:
            values = [argument(frame) for argument in arguments]
            try:
                for value in values:
                    if isinstance(value, np.ndarray):
                        return _lanewise(name, function, *values)
                return function(*values)
            except ZeroDivisionError:
                fault(source, at, f"{name}: division by zero")
            except (ValueError, OverflowError):
                fault(source, at, f"{name}({', '.join(['{:g}'] * len(values))}) has no finite value", *values)

        return call


def _is_plain(node: object) -> bool:
    """Return whether a node only computes, and fails at most for an unset variable."""
    if isinstance(node, Binary):
        return node.operator not in GUARDED
    return isinstance(node, Name | Number | Unary)


def _lanewise(name: str, function: Callable[..., float], *values: LaneNumber) -> Floats:
    """Return what an operator or a function gives on each lane.

    Raises:
        LanesDifferError: nothing finite on some lane.
    """
    if name in _ARRAYS:
        found = _ARRAYS[name](*values)
    else:
        columns = np.broadcast_arrays(*(np.asarray(value, _F8) for value in values))
        try:
            rows = zip(*(column.tolist() for column in columns), strict=True)
            found = np.array([function(*row) for row in rows], _F8)
        except (ArithmeticError, ValueError):
            raise LanesDifferError from None
    if not np.isfinite(found).all():
        raise LanesDifferError
    return found


def _fold(function: Callable[..., Floats], values: tuple[LaneNumber, ...]) -> Floats:
    found = values[0]
    for value in values[1:]:
        found = function(found, value)
    return cast("Floats", found)
