"""Units that do not fit: where a model states them, a time is no size and nothing adds a rate to either.

Numbers without a unit fit everywhere, as in the papers' models. What is not certain is not reported: a product of a
time and a size may be meant as a time for each byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.names import PROCESSORS
from cosched.language.syntax import Binary, Element, Invoke, Name, Number, Unary
from cosched.language.units import PLAIN, RATE, SIZE, TIME, TIME_A_BYTE, dimension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.language.syntax import Expression, Node, Variables
    from cosched.language.units import Dimension

__all__ = ["Dimensions", "declared", "misfit"]

_NAMES: Mapping[Dimension, str] = {
    TIME: "a time",
    SIZE: "a size in bytes",
    RATE: "a rate",
    TIME_A_BYTE: "a time a byte",
    PLAIN: "a plain number",
}
_ADDING = ("+", "-", "%", "<", ">", "<=", ">=", "==", "!=")
_COMPARING = _ADDING[3:]
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
                return PLAIN if expression.id == PROCESSORS else self.known.get(expression.id)
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
        if expression.operator in _ADDING:
            found = self._same(expression, (left, right))
            return PLAIN if expression.operator in _COMPARING else found
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
        united = [part for part in parts if part is not None and part != PLAIN]
        for part in united[1:]:
            if part != united[0]:
                if part in _NAMES and united[0] in _NAMES:
                    what = node.operator if isinstance(node, Binary) else node.name
                    self._report(node, f"{what} mixes {_NAMES[united[0]]} and {_NAMES[part]}")
                return None
        if united:
            return united[0]
        return None if None in parts else PLAIN


def misfit(found: Dimension | None, wanted: Dimension) -> str:
    """Return what is wrong with a value of one dimension where another is wanted; nothing where it fits."""
    if found is None or found in (PLAIN, wanted) or found not in _NAMES:
        return ""
    return f"{_NAMES[found]} does not fit: {_NAMES[wanted]} is needed"


def declared(groups: Iterable[Variables], dimensions: Dimensions) -> dict[str, Dimension]:
    """Return the dimension of each numeric variable whose default has a unit."""
    found: dict[str, Dimension] = {}
    for group in groups:
        for item in group.declarations:
            of = None if item.value is None or group.type != "numeric" else dimensions.of(item.value)
            if of is not None and of != PLAIN and of in _NAMES:
                found[item.name] = of
    return found
