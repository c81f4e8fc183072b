"""Expressions compiled to closures: quicker than walking the tree, and nothing of a model is ever Python code."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cosched.evaluation.faults import fail
from cosched.evaluation.functions import BINARY, FUNCTIONS, GUARDED
from cosched.language.syntax import Binary, Element, Invoke, Name, Number, Text, Unary, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.evaluation.frame import Frame, Numeric, Valued
    from cosched.language.source import Source
    from cosched.language.syntax import Expression, Position

__all__ = ["Expressions"]


class Expressions:
    """Compiles the expressions of one procedure, or of one object outside its procedures.

    Attributes:
        source: for the place of faults.
        types: of the variables of the object and of the procedure.
        own: names of the procedure's variables and parameters.
        procedures: name → call with arguments; filled as they are compiled.
    """

    def __init__(
        self,
        source: Source,
        types: Mapping[str, str],
        own: frozenset[str],
        procedures: Mapping[str, Callable[[Frame, tuple[float, ...], Position], float]],
    ) -> None:
        self.source = source
        self.types = types
        self.own = own
        self.procedures = procedures

    def value(self, expression: Expression) -> Valued:
        """Compile an expression of any type."""
        match expression:
            case Text(_, text):
                return lambda _: text
            case Name():
                return self._variable(expression.at, expression.id)
            case Vector():
                return self._vector(expression)
        return self.number(expression)

    def of_type(self, expression: Expression, wanted: str) -> Valued:
        """Compile an expression for a variable of the type `wanted`; a numeric one never gets a list."""
        return self.number(expression) if wanted == "numeric" else self.value(expression)

    def number(self, expression: Expression) -> Numeric:
        """Compile an expression whose value is a number."""
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

    def _variable(self, at: Position, name: str) -> Valued:
        source = self.source

        def read_own(frame: Frame) -> float | str | tuple[float, ...]:
            try:
                return frame.locals[name]
            except KeyError:
                fail(source, at, f"variable {name} has no value yet")

        def read(frame: Frame) -> float | str | tuple[float, ...]:
            try:
                return frame.values[name]
            except KeyError:
                fail(source, at, f"variable {name} has no value: give it one here, by a link or with --set {name}=…")

        return read_own if name in self.own else read

    def _numeric_variable(self, at: Position, name: str) -> Numeric:
        read, source = self._variable(at, name), self.source
        if self.types.get(name) != "vector":
            return cast("Numeric", read)  # the checker and `assign` let only numbers into it

        def read_vector(frame: Frame) -> float:
            value = read(frame)
            if not isinstance(value, float):
                fail(source, at, f"vector {name} is a list here: pick an element, {name}[1]")
            return value

        return read_vector

    def _unary(self, expression: Unary) -> Numeric:
        operand = self.number(expression.operand)
        if expression.operator == "-":
            return lambda frame: -operand(frame)
        if expression.operator == "!":
            return lambda frame: 0.0 if operand(frame) else 1.0
        return operand

    def _binary(self, expression: Binary) -> Numeric:
        operator, source, at = expression.operator, self.source, expression.at
        if operator in ("==", "!="):
            one, other, wanted = self.value(expression.left), self.value(expression.right), operator == "=="
            return lambda frame: 1.0 if (one(frame) == other(frame)) is wanted else 0.0
        left, right = self.number(expression.left), self.number(expression.right)
        if operator in BINARY:
            return BINARY[operator](left, right)
        guarded = GUARDED[operator]

        def checked(frame: Frame) -> float:
            a, b = left(frame), right(frame)
            try:
                return guarded(a, b)
            except ZeroDivisionError:
                fail(source, at, "division by zero")
            except (ValueError, OverflowError):
                fail(source, at, f"{a:g} {operator} {b:g} has no finite value")

        return checked

    def _element(self, expression: Element) -> Numeric:
        read, index, source = self._variable(expression.at, expression.name), self.number(expression.index), self.source

        def element(frame: Frame) -> float:
            value, position = read(frame), index(frame)
            items = value if isinstance(value, tuple) else (cast("float", value),)
            if not (1 <= position <= len(items) and position == int(position)):
                fail(source, expression.at, f"{expression.name} has elements 1 to {len(items)}, not {position:g}")
            return items[int(position) - 1]

        return element

    def _vector(self, expression: Vector) -> Valued:
        items, source = [self.number(item) for item in expression.items], self.source

        def vector(frame: Frame) -> tuple[float, ...]:
            frame.run.budget.spend(2 * len(items), source, expression.at)
            return tuple(item(frame) for item in items)

        return vector

    def _invoke(self, expression: Invoke) -> Numeric:
        name, source, at = expression.name, self.source, expression.at
        arguments = tuple(self.number(argument) for argument in expression.arguments)
        if name not in FUNCTIONS:
            procedures = self.procedures
            return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
        function = FUNCTIONS[name]

        def call(frame: Frame) -> float:
            values = [argument(frame) for argument in arguments]
            try:
                return function(*values)
            except ZeroDivisionError:
                fail(source, at, f"{name}: division by zero")
            except (ValueError, OverflowError):
                shown = ", ".join(f"{value:g}" for value in values)
                fail(source, at, f"{name}({shown}) has no finite value")

        return call
