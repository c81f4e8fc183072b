"""Types and names of expressions: what each may be used for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.language.diagnostics import suggestion
from cosched.language.names import FUNCTIONS
from cosched.language.syntax import Binary, Element, Invoke, Name, Number, Text, Unary, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from cosched.language.syntax import Expression, Node, Procedure

__all__ = ["Scope"]

_COMPARISONS = ("==", "!=")


@dataclass
class Scope:
    """The names one procedure or section sees.

    Attributes:
        variables: type of each visible variable.
        procedures: of the object, by name.
        report: called with each node at fault and the message.
        lost: words of what could not be read: any of them may be a name that is declared there.
    """

    variables: MutableMapping[str, str]
    procedures: Mapping[str, Procedure]
    report: Callable[[Node, str], None]
    lost: frozenset[str] = frozenset()

    def number(self, expression: Expression) -> None:
        """Check an expression whose value must be a number."""
        found = self.type(expression)
        if found == "string":
            self.report(expression, "a number is needed here, not a text")
        elif isinstance(expression, Vector):
            self.report(expression, "a number is needed here, not a list")

    def assignable(self, expression: Expression, wanted: str) -> None:
        """Check an expression whose value goes to a variable of the type `wanted`."""
        if wanted == "numeric":
            self.number(expression)
        elif (self.type(expression) == "string") != (wanted == "string"):
            self.report(expression, "a text is needed here" if wanted == "string" else "a text does not fit here")

    def type(self, expression: Expression) -> str:
        """Return the type of an expression and report what is wrong inside it."""
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
        if procedure is not None:
            fewest = most = len(procedure.parameters)
        elif name in FUNCTIONS:
            fewest, most = FUNCTIONS[name]
        else:
            if name not in self.lost:
                near = suggestion(name, [*FUNCTIONS, *self.procedures])
                self.report(expression, f"function {name} is not known{near}")
            return
        if not fewest <= given <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            self.report(expression, f"{name} takes {wanted} arguments, not {given}")
