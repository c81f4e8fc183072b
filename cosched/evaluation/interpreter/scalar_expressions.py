"""Expressions and cflow times compiled to closures, for a single host count.

Nothing of a model is ever Python code. Part of the scalar evaluator, see `scalar_statements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cosched.evaluation.budget import CountError, fail
from cosched.language.arithmetic import FUNCTIONS, GUARDED
from cosched.language.diagnostics import ModelError
from cosched.language.syntax import (
    Binary,
    Call,
    Case,
    Compute,
    Element,
    Invoke,
    Loop,
    Measured,
    MeasuredUsage,
    MemoryUsage,
    Name,
    Number,
    Text,
    Unary,
    Vector,
    walk,
)
from cosched.language.vocabulary import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.scalar_frame import CompiledNumber, CompiledValue, ScalarFrame
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Cflow, Expression, OpcodeUsage, Position, Usage

__all__ = ["BINARY_CLOSURES", "FUNCTIONS", "GUARDED", "CflowCompiler", "Expressions"]

# ── What operators and functions compute. All numbers are floats: whole ones of any size stay small in memory.


BINARY_CLOSURES: Mapping[str, Callable[[CompiledNumber, CompiledNumber], CompiledNumber]] = {
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


# ── Expressions compiled to closures: quicker than walking the tree, and nothing of a model is ever Python code.


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
        procedures: Mapping[str, Callable[[ScalarFrame, tuple[float, ...], Position], float]],
    ) -> None:
        self.source = source
        self.types = types
        self.own = own
        self.procedures = procedures

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
        """Compile an expression for a variable of the type `wanted`; a numeric one never gets a list."""
        return self.number(expression) if wanted == "numeric" else self.value(expression)

    def number(self, expression: Expression) -> CompiledNumber:
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

    def _variable(self, at: Position, name: str) -> CompiledValue:
        source = self.source

        def read_own(frame: ScalarFrame) -> float | str | tuple[float, ...]:
            try:
                return frame.locals[name]
            except KeyError:
                fail(source, at, f"variable {name} has no value yet")

        def read(frame: ScalarFrame) -> float | str | tuple[float, ...]:
            try:
                return frame.values[name]
            except KeyError:
                fail(source, at, f"variable {name} has no value: give it one here, by a link or with --set {name}=…")

        return read_own if name in self.own else read

    def _numeric_variable(self, at: Position, name: str) -> CompiledNumber:
        read, source = self._variable(at, name), self.source
        if self.types.get(name) != "vector":
            return cast("CompiledNumber", read)  # the checker and `assign` let only numbers into it

        def read_vector(frame: ScalarFrame) -> float:
            value = read(frame)
            if not isinstance(value, float):
                fail(source, at, f"vector {name} is a list here: pick an element, {name}[1]")
            return value

        return read_vector

    def _unary(self, expression: Unary) -> CompiledNumber:
        operand = self.number(expression.operand)
        if expression.operator == "-":
            return lambda frame: -operand(frame)
        if expression.operator == "!":
            return lambda frame: 0.0 if operand(frame) else 1.0
        return operand

    def _binary(self, expression: Binary) -> CompiledNumber:
        operator, source, at = expression.operator, self.source, expression.at
        if operator in ("==", "!="):
            one, other, wanted = self.value(expression.left), self.value(expression.right), operator == "=="
            return lambda frame: 1.0 if (one(frame) == other(frame)) is wanted else 0.0
        left, right = self.number(expression.left), self.number(expression.right)
        if operator in BINARY_CLOSURES:
            return BINARY_CLOSURES[operator](left, right)
        guarded = GUARDED[operator]

        def checked(frame: ScalarFrame) -> float:
            a, b = left(frame), right(frame)
            try:
                return guarded(a, b)
            except ZeroDivisionError:
                fail(source, at, "division by zero")
            except (ValueError, OverflowError):
                fail(source, at, f"{a:g} {operator} {b:g} has no finite value")

        return checked

    def _element(self, expression: Element) -> CompiledNumber:
        read, index, source = self._variable(expression.at, expression.name), self.number(expression.index), self.source

        def element(frame: ScalarFrame) -> float:
            value, position = read(frame), index(frame)
            items = value if isinstance(value, tuple) else (cast("float", value),)
            if not (1 <= position <= len(items) and position == int(position)):
                fail(source, expression.at, f"{expression.name} has elements 1 to {len(items)}, not {position:g}")
            return items[int(position) - 1]

        return element

    def _vector(self, expression: Vector) -> CompiledValue:
        items, source = [self.number(item) for item in expression.items], self.source

        def vector(frame: ScalarFrame) -> tuple[float, ...]:
            frame.run.budget.spend(2 * len(items), source, expression.at)
            return tuple(item(frame) for item in items)

        return vector

    def _invoke(self, expression: Invoke) -> CompiledNumber:
        name, source, at = expression.name, self.source, expression.at
        arguments = tuple(self.number(argument) for argument in expression.arguments)
        if name not in FUNCTIONS:
            procedures = self.procedures
            return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
        function = FUNCTIONS[name]

        def call(frame: ScalarFrame) -> float:
            values = [argument(frame) for argument in arguments]
            try:
                return function(*values)
            except ZeroDivisionError:
                fail(source, at, f"{name}: division by zero")
            except (ValueError, OverflowError):
                shown = ", ".join(f"{value:g}" for value in values)
                fail(source, at, f"{name}({shown}) has no finite value")

        return call


# ── cflow procedures compiled to the time of a piece of sequential work, in microseconds.


class CflowCompiler:
    """Compiles the statements of one cflow procedure for one hardware."""

    def __init__(self, expressions: Expressions, hardware: Hardware) -> None:
        self._expressions = expressions
        self._source = expressions.source
        self._hardware = hardware

    def block(self, body: Sequence[Cflow]) -> CompiledNumber:
        """Compile statements to the sum of their times."""
        times = [self._statement(statement) for statement in body]
        if len(times) == 1:
            return times[0]
        return lambda frame: sum(time(frame) for time in times)

    def _statement(self, statement: Cflow) -> CompiledNumber:
        match statement:
            case Compute():
                return self._usage(statement.usage)
            case Loop():
                return self._loop(statement)
            case Case():
                return self._case(statement)
            case Measured():
                return self._measured(statement)
            case Call():
                return self._call(statement)

    def _usage(self, usage: Usage) -> CompiledNumber:
        if isinstance(usage, MeasuredUsage):
            return self._expressions.number(usage.time)
        return self._memory(usage) if isinstance(usage, MemoryUsage) else self._counted(usage)

    def _memory(self, usage: MemoryUsage) -> CompiledNumber:
        volume, working_set, memory = self._bytes(usage.volume), self._bytes(usage.working_set), self._hardware.memory
        assert memory is not None, "models that use what the hardware lacks are refused before"
        return lambda frame: memory.time(volume(frame), working_set(frame))

    def _bytes(self, expression: Expression) -> CompiledNumber:
        number, source, at = self._expressions.number(expression), self._source, expression.at

        def size(frame: ScalarFrame) -> float:
            found = number(frame)
            if not found >= 0:
                fail(source, at, f"{found:g} bytes of memory: their number is not negative")
            return found

        return size

    def _counted(self, usage: OpcodeUsage) -> CompiledNumber:
        costs = self._hardware.operations
        fixed = sum(costs[entry.opcode] for entry in usage.entries if entry.count is None)
        counted = [
            (self._expressions.number(entry.count), costs[entry.opcode])
            for entry in usage.entries
            if entry.count is not None
        ]
        if not counted:
            return lambda _: fixed
        return lambda frame: fixed + sum(count(frame) * cost for count, cost in counted)

    def _loop(self, statement: Loop) -> CompiledNumber:
        head, body = self._usage(statement.usage), self.block(statement.body)
        count, source, at = self._expressions.number(statement.count), self._source, statement.count.at

        def loop(frame: ScalarFrame) -> float:
            turns = count(frame)
            if not turns >= 0:
                fail(source, at, f"a loop of {turns:g} turns: a count is not negative")
            return turns * (head(frame) + body(frame))

        return loop

    def _case(self, statement: Case) -> CompiledNumber:
        head, source = self._usage(statement.usage), self._source
        arms = [(self._expressions.number(arm.probability), self.block(arm.body), arm.at) for arm in statement.arms]

        def case(frame: ScalarFrame) -> float:
            time, total = head(frame), 0.0
            for probability, body, at in arms:
                share = probability(frame)
                total += share
                if not (share >= 0 and total <= 1 + 1e-9):
                    fail(source, at, f"a probability of {share:g} (the arms so far add up to {total:g}): at most 1")
                time += share * body(frame)
            return time

        return case

    def _measured(self, statement: Measured) -> CompiledNumber:
        number, source, at = self._expressions.number, self._source, statement.at
        key = number(statement.key)
        entries = [(number(entry.key), number(entry.time)) for entry in statement.entries]
        by_hosts = any(isinstance(node, Name) and node.id == PROCESSORS for node, _ in walk(statement.key))
        # A table by the number of hosts says which counts the program can use; any other gap is a fault.
        error = CountError if by_hosts else ModelError

        def measured(frame: ScalarFrame) -> float:
            frame.run.budget.spend(len(entries), source, at)
            wanted = key(frame)
            time = next((time for entry, time in entries if entry(frame) == wanted), None)
            if time is None:
                fail(source, at, f"nothing was measured for {wanted:g}", error)
            return time(frame)

        return measured

    def _call(self, statement: Call) -> CompiledNumber:
        procedures, name, at = self._expressions.procedures, statement.name, statement.at
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]
        return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
