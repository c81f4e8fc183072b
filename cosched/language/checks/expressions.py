"""Types, names and units of expressions: what each may be used for.

`NameScope` knows names and types; `Dimensions` says which units do not fit. Numbers without a unit fit everywhere.
What is not certain is not reported: a product of a time and a size may be meant as a time for each byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.language.diagnostics import suggestion
from cosched.language.syntax import Binary, Element, Invoke, Name, Number, Text, Unary, Vector
from cosched.language.vocabulary import (
    DIMENSIONLESS,
    FUNCTION_ARITIES,
    PROCESSORS,
    RATE,
    SIZE,
    TIME,
    TIME_A_BYTE,
    dimension,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping

    from cosched.language.syntax import Expression, Node, Procedure, Variables
    from cosched.language.vocabulary import Dimension

__all__ = ["Dimensions", "NameScope", "declared", "misfit"]


_NAMES: Mapping[Dimension, str] = {
    TIME: "a time",
    SIZE: "a size in bytes",
    RATE: "a rate",
    TIME_A_BYTE: "a time a byte",
    DIMENSIONLESS: "a plain number",
}
_ADDING_OPERATORS = ("+", "-", "%", "<", ">", "<=", ">=", "==", "!=")
_COMPARING_OPERATORS = _ADDING_OPERATORS[3:]
_ALIKE = ("abs", "ceil", "floor", "max", "min", "mod")


class Dimensions:
    """Finds the dimension of expressions and reports sums and comparisons that mix them.

    Args:
        known: dimension of each variable that has a certain one.
        cflows: names of the procedures whose result is a time.
        report: called with each node at fault and the message.
    """

    def __init__(
        self, known: Mapping[str, Dimension | None], cflows: Iterable[str], report: Callable[[Node, str], None]
    ) -> None:
        self.known = known
        self.cflows = frozenset(cflows)
        self._report = report

    def expect(self, expression: Expression, wanted: Dimension) -> None:
        """Report an expression that has another dimension than the one wanted."""
        message = misfit(self.of(expression), wanted)
        if message:
            self._report(expression, f"{message} here")

    def of(self, expression: Expression) -> Dimension | None:
        """Return the dimension of an expression, None where it is not certain."""
        match expression:
            case Number():
                return dimension(expression.unit)
            case Name():
                return DIMENSIONLESS if expression.id == PROCESSORS else self.known.get(expression.id)
            case Unary():
                return None if expression.operator == "!" else self.of(expression.operand)
            case Binary():
                return self._binary(expression)
            case Element():
                self.of(expression.index)
            case Invoke():
                return self._invoke(expression)
        return None

    def _binary(self, expression: Binary) -> Dimension | None:
        left, right = self.of(expression.left), self.of(expression.right)
        if expression.operator in _ADDING_OPERATORS:
            found = self._same(expression, (left, right))
            return DIMENSIONLESS if expression.operator in _COMPARING_OPERATORS else found
        if left is None or right is None:
            return None
        if expression.operator == "*":
            return left[0] + right[0], left[1] + right[1]
        return (left[0] - right[0], left[1] - right[1]) if expression.operator == "/" else None

    def _invoke(self, expression: Invoke) -> Dimension | None:
        arguments = [self.of(argument) for argument in expression.arguments]
        if expression.name in self.cflows:
            return TIME
        return self._same(expression, arguments) if expression.name in _ALIKE else None

    def _same(self, node: Binary | Invoke, found: Iterable[Dimension | None]) -> Dimension | None:
        """Return the one dimension of operands that should be alike; plain numbers are of any."""
        parts = list(found)
        united = [part for part in parts if part is not None and part != DIMENSIONLESS]
        for part in united[1:]:
            if part != united[0]:
                if part in _NAMES and united[0] in _NAMES:
                    what = node.operator if isinstance(node, Binary) else node.name
                    self._report(node, f"{what} mixes {_NAMES[united[0]]} and {_NAMES[part]}")
                return None
        if united:
            return united[0]
        return None if None in parts else DIMENSIONLESS


def misfit(found: Dimension | None, wanted: Dimension) -> str:
    """Return the fault of a value with the wrong dimension, or an empty text."""
    if found is None or found in (DIMENSIONLESS, wanted) or found not in _NAMES:
        return ""
    return f"{_NAMES[found]} does not fit: {_NAMES[wanted]} is needed"


def declared(groups: Iterable[Variables], dimensions: Dimensions) -> dict[str, Dimension]:
    """Return the dimensions of numeric variables with a unit in their default."""
    found: dict[str, Dimension] = {}
    for group in groups:
        for item in group.declarations:
            of = None if item.value is None or group.type != "numeric" else dimensions.of(item.value)
            if of is not None and of != DIMENSIONLESS and of in _NAMES:
                found[item.name] = of
    return found


_COMPARISONS = ("==", "!=")


@dataclass
class NameScope:
    """The names one procedure or section sees.

    Attributes:
        variables: type of each visible variable.
        procedures: procedures of the object, by name.
        report: called with each node at fault and the message.
        lost: words of what could not be read: any of them may be a name that is declared there.
    """

    variables: MutableMapping[str, str]
    procedures: Mapping[str, Procedure]
    report: Callable[[Node, str], None]
    lost: frozenset[str] = frozenset()

    def number(self, expression: Expression) -> None:
        """Check an expression that must be a number."""
        found = self.type(expression)
        if found == "string":
            self.report(expression, "a number is needed here, not a text")
        elif isinstance(expression, Vector):
            self.report(expression, "a number is needed here, not a list")

    def assignable(self, expression: Expression, wanted: str) -> None:
        """Check an expression that is assigned to a variable of the type `wanted`."""
        if wanted == "numeric":
            self.number(expression)
        elif (self.type(expression) == "string") != (wanted == "string"):
            self.report(expression, "a text is needed here" if wanted == "string" else "a text does not fit here")

    def type(self, expression: Expression) -> str:
        """Return the type of an expression and report the faults inside it."""
        match expression:
            case Text():
                return "string"
            case Name():
                return self.variable(expression, expression.id)
            case Vector():
                for item in expression.items:
                    self.number(item)
                return "vector"
        self._numeric(expression)
        return "numeric"

    def _numeric(self, expression: Number | Unary | Binary | Element | Invoke) -> None:
        match expression:
            case Number():
                if not math.isfinite(expression.value):
                    self.report(expression, "the number is too large")
            case Unary():
                self.number(expression.operand)
            case Binary():
                self._binary(expression)
            case Element():
                self.number(expression.index)
                if self.variable(expression, expression.name) != "vector":
                    self.report(expression, f"{expression.name} is not a vector: it has no elements")
            case Invoke():
                self._invoke(expression)

    def variable(self, node: Node, name: str) -> str:
        """Return the type of a variable, reporting one that is not declared."""
        if name in self.variables:
            return self.variables[name]
        if name in self.procedures:
            self.report(node, f"{name} is a procedure: write {name}()")
        elif name not in self.lost:
            self.report(node, f"variable {name} is not declared{suggestion(name, self.variables)}")
        # One report a name and scope: the rest would say the same.
        self.variables[name] = "vector"
        return "vector"

    def _binary(self, expression: Binary) -> None:
        left, right = self.type(expression.left), self.type(expression.right)
        if expression.operator in _COMPARISONS and "string" in (left, right):
            if left != right:
                self.report(expression, "a text compares only with a text")
        elif "string" in (left, right) or isinstance(expression.left, Vector) or isinstance(expression.right, Vector):
            self.report(expression, f"{expression.operator} works on numbers only")

    def _invoke(self, expression: Invoke) -> None:
        for argument in expression.arguments:
            self.number(argument)
        name, given = expression.name, len(expression.arguments)
        procedure = self.procedures.get(name)
        if procedure is not None and procedure.kind == "tunable":
            self.report(expression, f"{name} is a `proc tunable`: nothing calls it")
            return
        if procedure is not None:
            fewest = most = len(procedure.parameters)
        elif name in FUNCTION_ARITIES:
            fewest, most = FUNCTION_ARITIES[name]
        else:
            if name not in self.lost:
                near = suggestion(name, [*FUNCTION_ARITIES, *self.procedures])
                self.report(expression, f"function {name} is not known{near}")
            return
        if not fewest <= given <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            self.report(expression, f"{name} takes {wanted} arguments, not {given}")
