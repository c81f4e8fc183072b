"""The time of sequential work: cflow procedures compiled to closures that give microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.budget import CountError, LanesDifferError
from cosched.evaluation.interpreter.frame import every, fault
from cosched.language.arithmetic import FUNCTIONS
from cosched.language.diagnostics import ModelError
from cosched.language.syntax import (
    BlockUsage,
    Call,
    Case,
    Compute,
    Invoke,
    Loop,
    Measured,
    MeasuredUsage,
    MemoryUsage,
    Name,
    walk,
)
from cosched.language.vocabulary import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.expressions import Expressions
    from cosched.evaluation.interpreter.frame import CompiledNumber, Floats, Frame, LaneNumber
    from cosched.language.syntax import Cflow, Expression, OpcodeUsage, Usage

__all__ = ["CflowCompiler"]


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

        def total(frame: Frame) -> LaneNumber:
            found: LaneNumber = 0.0
            for time in times:
                found = found + time(frame)  # not in place: it may be a variable's array
            return found

        return total

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
        if isinstance(usage, BlockUsage):
            return self._block(usage)
        return self._memory(usage) if isinstance(usage, MemoryUsage) else self._counted(usage)

    def _block(self, usage: BlockUsage) -> CompiledNumber:
        number, source, at = self._expressions.number(usage.count), self._source, usage.count.at
        cost, name = self._hardware.blocks[usage.name], usage.name

        def block(frame: Frame) -> LaneNumber:
            count = number(frame)
            if not every(count >= 0):
                fault(source, at, f"{{:g}} repetitions of {name}: their number is not negative", count)
            return count * cost

        return block

    def _memory(self, usage: MemoryUsage) -> CompiledNumber:
        volume, working_set, memory = self._bytes(usage.volume), self._bytes(usage.working_set), self._hardware.memory
        assert memory is not None, "models that use what the hardware lacks are refused before"
        return lambda frame: memory.time(volume(frame), working_set(frame))

    def _bytes(self, expression: Expression) -> CompiledNumber:
        number, source, at = self._expressions.number(expression), self._source, expression.at

        def size(frame: Frame) -> LaneNumber:
            found = number(frame)
            if not every(found >= 0):
                fault(source, at, "{:g} bytes of memory: their number is not negative", found)
            return found

        return size

    def _counted(self, usage: OpcodeUsage) -> CompiledNumber:
        costs = self._hardware.operations
        fixed = sum((costs[entry.opcode] for entry in usage.entries if entry.count is None), 0.0)
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

        def loop(frame: Frame) -> LaneNumber:
            turns = count(frame)
            if not every(turns >= 0):
                fault(source, at, "a loop of {:g} turns: a count is not negative", turns)
            return turns * (head(frame) + body(frame))

        return loop

    def _case(self, statement: Case) -> CompiledNumber:
        head, source = self._usage(statement.usage), self._source
        arms = [(self._expressions.number(arm.probability), self.block(arm.body), arm.at) for arm in statement.arms]

        def case(frame: Frame) -> LaneNumber:
            time = head(frame)
            total: LaneNumber = 0.0
            for probability, body, at in arms:
                share = probability(frame)
                total = total + share
                if not (every(share >= 0) and every(total <= 1 + 1e-9)):
                    message = "a probability of {:g} (the arms so far add up to {:g}): at most 1"
                    fault(source, at, message, share, total)
                time = time + share * body(frame)
            return time

        return case

    def _measured(self, statement: Measured) -> CompiledNumber:
        number, source, at = self._expressions.number, self._source, statement.at
        key = number(statement.key)
        entries = [(number(entry.key), number(entry.time)) for entry in statement.entries]
        by_hosts = any(isinstance(node, Name) and node.id == PROCESSORS for node, _ in walk(statement.key))
        # A table by the number of hosts says which counts the program can use; any other gap is a fault.
        error = CountError if by_hosts else ModelError
        # What a procedure does must not happen on lanes that do not get as far in the table.
        calls = any(isinstance(node, Invoke) and node.name not in FUNCTIONS for node, _ in walk(statement))

        def measured(frame: Frame) -> LaneNumber:
            frame.run.budget.spend(len(entries), source, at)
            wanted = key(frame)
            found = None
            for entry, time in entries:
                same = entry(frame) == wanted
                if isinstance(same, np.ndarray):
                    if calls:
                        raise LanesDifferError
                    return _on_lanes(entries, frame, wanted)
                if same:
                    found = time
                    break
            if found is None:
                fault(source, at, "nothing was measured for {:g}", wanted, error=error)
            return found(frame)

        return measured

    def _call(self, statement: Call) -> CompiledNumber:
        procedures, name, at = self._expressions.procedures, statement.name, statement.at
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]
        return lambda frame: procedures[name](frame, tuple(argument(frame) for argument in arguments), at)


def _on_lanes(entries: Sequence[tuple[CompiledNumber, CompiledNumber]], frame: Frame, wanted: LaneNumber) -> Floats:
    """Return the time of each lane's first entry in a table of measured times."""
    found, waiting = np.zeros(frame.lanes.size), np.ones(frame.lanes.size, np.bool_)
    for entry, time in entries:
        index = np.flatnonzero(waiting & (entry(frame) == wanted))
        if len(index):
            found[index] = time(frame.pick(index))
            waiting[index] = False
    if waiting.any():
        raise LanesDifferError
    return found
