"""cflow procedures compiled to the time of a piece of sequential work, in microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.faults import CountError, fail
from cosched.language.diagnostics import ModelError
from cosched.language.names import PROCESSORS
from cosched.language.syntax import (
    Call,
    Case,
    Compute,
    Loop,
    Measured,
    MeasuredUsage,
    MemoryUsage,
    Name,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.evaluation.expressions import Expressions
    from cosched.evaluation.frame import Frame, Numeric
    from cosched.evaluation.hardware import Hardware
    from cosched.language.syntax import Cflow, Expression, OpcodeUsage, Usage

__all__ = ["CflowCompiler"]


class CflowCompiler:
    """Compiles the statements of one cflow procedure for one hardware."""

    def __init__(self, expressions: Expressions, hardware: Hardware) -> None:
        self._expressions = expressions
        self._source = expressions.source
        self._hardware = hardware

    def block(self, body: Sequence[Cflow]) -> Numeric:
        """Compile statements to the sum of their times."""
        times = [self._statement(statement) for statement in body]
        if len(times) == 1:
            return times[0]
        return lambda frame: sum(time(frame) for time in times)

    def _statement(self, statement: Cflow) -> Numeric:
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

    def _usage(self, usage: Usage) -> Numeric:
        if isinstance(usage, MeasuredUsage):
            return self._expressions.number(usage.time)
        return self._memory(usage) if isinstance(usage, MemoryUsage) else self._counted(usage)

    def _memory(self, usage: MemoryUsage) -> Numeric:
        volume, working_set, memory = self._bytes(usage.volume), self._bytes(usage.working_set), self._hardware.memory
        assert memory is not None, "models that use what the hardware lacks are refused before"
        return lambda frame: memory.time(volume(frame), working_set(frame))

    def _bytes(self, expression: Expression) -> Numeric:
        number, source, at = self._expressions.number(expression), self._source, expression.at

        def size(frame: Frame) -> float:
            found = number(frame)
            if not found >= 0:
                fail(source, at, f"{found:g} bytes of memory: their number is not negative")
            return found

        return size

    def _counted(self, usage: OpcodeUsage) -> Numeric:
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

    def _loop(self, statement: Loop) -> Numeric:
        head, body = self._usage(statement.usage), self.block(statement.body)
        count, source, at = self._expressions.number(statement.count), self._source, statement.count.at

        def loop(frame: Frame) -> float:
            turns = count(frame)
            if not turns >= 0:
                fail(source, at, f"a loop of {turns:g} turns: a count is not negative")
            return turns * (head(frame) + body(frame))

        return loop

    def _case(self, statement: Case) -> Numeric:
        head, source = self._usage(statement.usage), self._source
        arms = [(self._expressions.number(arm.probability), self.block(arm.body), arm.at) for arm in statement.arms]

        def case(frame: Frame) -> float:
            time, total = head(frame), 0.0
            for probability, body, at in arms:
                share = probability(frame)
                total += share
                if not (share >= 0 and total <= 1 + 1e-9):
                    fail(source, at, f"a probability of {share:g} (the arms so far add up to {total:g}): at most 1")
                time += share * body(frame)
            return time

        return case

    def _measured(self, statement: Measured) -> Numeric:
        number, source, at = self._expressions.number, self._source, statement.at
        key = number(statement.key)
        entries = [(number(entry.key), number(entry.time)) for entry in statement.entries]
        by_hosts = any(isinstance(node, Name) and node.id == PROCESSORS for node, _ in walk(statement.key))
        # A table by the number of hosts says which counts the program can use; any other gap is a fault.
        error = CountError if by_hosts else ModelError

        def measured(frame: Frame) -> float:
            frame.run.budget.spend(len(entries), source, at)
            wanted = key(frame)
            time = next((time for entry, time in entries if entry(frame) == wanted), None)
            if time is None:
                fail(source, at, f"nothing was measured for {wanted:g}", error)
            return time(frame)

        return measured

    def _call(self, statement: Call) -> Numeric:
        procedures, name, at = self._expressions.procedures, statement.name, statement.at
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]
        return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
