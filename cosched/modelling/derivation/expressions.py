"""Arithmetic that PSL and Python write alike: `floor(nx / 4) + 2`, evaluated exactly.

`source_bounds` finds such expressions in what a source assigns and loops over.
"""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from cosched.language.vocabulary import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Value", "evaluate", "source_bounds"]

Value = Fraction | float
"""Exact wherever it can be: a logarithm of no power of two is a float."""

_MOST_BOUNDS = 20
_LONGEST = 60
_DEEPEST = 6
_LARGEST = 10**15
_LARGEST_DIVISOR = 10**6
_MOST_DIVISORS = 6
_NUMBER = re.compile(r"(?:\d+(?:[uUlL]*)|(?P<name>[A-Za-z_]\w*))")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)\s*([^=;,!#\n]+?)\s*(?=[;,!#\n]|$)", re.MULTILINE)
_DEFINED = re.compile(r"^\s*#\s*define\s+([A-Za-z_]\w*)\s+(\(?[\w\s()+*/-]+?\)?)\s*(?:/[/*].*)?$", re.MULTILINE)
_COMPARED = re.compile(r"(?:<=?|>=?)\s*([\w(][\w\s()+*/%-]*?)\s*(?=;|&&|\|\||\)\s*[{\n])")
_FORTRAN_LOOP = re.compile(r"(?i)^\s*do\s+(?:concurrent\s*\()?\w+\s*=\s*([^,\n!]+),\s*([^,\n!]+)", re.MULTILINE)
_PYTHON_RANGE = re.compile(r"\brange\(([^\n:]*)\)")
_ARGUMENT = re.compile(
    r"\b([A-Za-z_]\w*)\s*=\s*(?:int\s*\(|ato[il]+\s*\(|strto\w+\s*\()\s*(?:sys\.)?argv\s*\[\s*(\d)\s*\]"
)
_COMMUNICATOR_SIZE = re.compile(r"(?i)\bMPI_Comm_size\s*\(\s*\w+\s*,\s*&?\s*(\w+)")
_DIVISORS = re.compile(r"[/%]\s*(\d{1,6})\b|\bmod\s*\([^(),]*,\s*(\d{1,6})\s*\)", re.IGNORECASE)


def evaluate(text: str, values: Mapping[str, int]) -> Value:
    """Return the value of an expression.

    Raises:
        ValueError: it is none, or has no value here.
    """
    try:
        return _value(ast.parse(text.replace("^", "**"), mode="eval").body, values)
    except (SyntaxError, KeyError, ZeroDivisionError, OverflowError, TypeError) as error:
        raise ValueError(f"{text} has no value") from error


def _value(node: ast.expr, values: Mapping[str, int]) -> Value:
    match node:
        case ast.Constant(value=int() as number):
            return Fraction(number)
        case ast.Name(id=name):
            return Fraction(values[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(operator, _value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _applied(name, [_value(each, values) for each in arguments])
    raise ValueError(f"{ast.unparse(node)} is no arithmetic")


def _combined(operator: ast.operator, left: Value, right: Value) -> Value:
    match operator:
        case ast.Add():
            found = left + right
        case ast.Sub():
            found = left - right
        case ast.Mult():
            found = left * right
        case ast.Div():
            found = left / right
        case ast.Mod():
            found = left % right
        case ast.Pow() if float(right) in range(_DEEPEST + 1):
            found = left ** int(right)
        case _:
            raise ValueError("an operator of no count")
    if abs(float(found)) > _LARGEST:
        raise ValueError("too large")
    return found


def _applied(name: str, arguments: Sequence[Value]) -> Value:
    match name:
        case "floor" if len(arguments) == 1:
            return Fraction(math.floor(arguments[0]))
        case "ceil" if len(arguments) == 1:
            return Fraction(math.ceil(arguments[0]))
        case "log2" if len(arguments) == 1:
            return _log2(arguments[0])
        case "min" if arguments:
            return min(arguments)
        case "max" if arguments:
            return max(arguments)
    raise ValueError(f"{name} is no function of counts")


def _log2(value: Value) -> Value:
    if value <= 0:
        raise ValueError("a logarithm of nothing")
    if isinstance(value, Fraction) and value.denominator == 1 and value.numerator & (value.numerator - 1) == 0:
        return Fraction(value.numerator.bit_length() - 1)
    return math.log2(value)


def source_bounds(text: str, parameters: Sequence[str]) -> list[str]:
    """Return expressions in the parameters that a source computes or loops to, shortest first.

    Args:
        text: of all sources; C, Fortran or Python.
        parameters: in the order of the program's arguments.
    """
    known = _known_variables(text, parameters)
    texts = [value for found in (_COMPARED.findall(text), *_FORTRAN_LOOP.findall(text)) for value in found]
    texts += [part for inside in _PYTHON_RANGE.findall(text) for part in inside.split(",")]
    bounds = {found for each in texts if (found := _resolved(each, known))} | set(known.values())
    telling = [each for each in bounds if each not in parameters and any(_mentions(each, name) for name in parameters)]
    telling.sort(key=lambda each: (len(each), each))
    return list(dict.fromkeys([*telling[:_MOST_BOUNDS], *_quotients(text, known)]))[: 2 * _MOST_BOUNDS]


def _known_variables(text: str, parameters: Sequence[str]) -> dict[str, str]:
    """Return variables of a source with what they are in terms of the parameters.

    A variable that it reads from `argv[k]` is the k-th argument, another of a parameter's name that parameter; the
    size of a communicator is the number of processes.

    Args:
        text: of all sources.
        parameters: `Nproc` among them is no argument of the program.
    """
    known = {name: name for name in parameters}
    arguments = [name for name in parameters if name != PROCESSORS]
    for name, place in _ARGUMENT.findall(text):
        if 1 <= int(place) <= len(arguments):
            known[name] = arguments[int(place) - 1]
    if PROCESSORS in parameters:
        known |= dict.fromkeys(_COMMUNICATOR_SIZE.findall(text), PROCESSORS)
    found = [*_DEFINED.findall(text), *_ASSIGNED.findall(text)]
    for _ in range(3):  # what is assigned from what was assigned
        for name, value in found:
            if name not in known and (meaning := _resolved(value, known)):
                known[name] = meaning
    return known


def _quotients(text: str, known: Mapping[str, str]) -> Iterable[str]:
    """Yield quotients and remainders of parameters by the divisors that the source has."""
    names = [name for name, same in known.items() if name == same]
    numbers = [*(one or other for one, other in _DIVISORS.findall(text)), *known.values()]
    divisors = {int(number) for number in numbers if number.isdigit() and 1 < int(number) < _LARGEST_DIVISOR}
    for divisor in sorted(divisors)[:_MOST_DIVISORS]:
        for name in names:
            yield f"floor({name} / {divisor})"
            yield f"ceil({name} / {divisor})"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _resolved(text: str, known: Mapping[str, str]) -> str | None:
    """Return a source's expression in the words of PSL; None where it is more than arithmetic in the parameters."""
    text = re.sub(r"\(\s*(?:int|long|size_t|double|unsigned)\s*\)", "", text).replace("//", "/").strip()
    if len(text) > _LONGEST:
        return None
    try:
        found = _written(ast.parse(re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text), mode="eval").body, known)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found if len(found) <= _LONGEST else None


def _written(node: ast.expr, known: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return str(number)
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.BinOp(left=left, op=operator, right=right):
            one, other = (_within(_written(side, known)) for side in (left, right))
            whole: dict[type[ast.operator], Callable[[], str]] = {
                ast.Add: lambda: f"{one} + {other}",
                ast.Sub: lambda: f"{one} - {other}",
                ast.Mult: lambda: f"{one} * {other}",
                ast.Div: lambda: f"floor({one} / {other})",
                ast.Mod: lambda: f"{one} % {other}",
            }
            if type(operator) in whole:
                return whole[type(operator)]()
    raise ValueError("more than arithmetic")


def _within(text: str) -> str:
    return text if re.fullmatch(r"\w+|floor\([^()]*\)", text) else f"({text})"
