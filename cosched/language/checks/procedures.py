"""Check the procedures of one object: statements, steps, usages, calls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cosched.language import syntax
from cosched.language.arithmetic import constant
from cosched.language.diagnostics import suggestion
from cosched.language.syntax import BlockUsage, MeasuredUsage, MemoryUsage
from cosched.language.vocabulary import (
    COLLECTIVES,
    DEVICES,
    DIMENSIONLESS,
    HARDWARE_OBJECT,
    OPCODES,
    PROCESSORS,
    SIZE,
    TIME,
    unknown_opcode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.language.checks.expressions import Dimensions, NameScope
    from cosched.language.syntax import (
        Arm,
        Assign,
        Call,
        Case,
        Cflow,
        Compute,
        Exec,
        Expression,
        For,
        If,
        Loop,
        Measured,
        Node,
        OpcodeUsage,
        Procedure,
        Return,
        Step,
        Usage,
        Variables,
        While,
    )
    from cosched.language.vocabulary import Dimension

__all__ = ["ARGUMENTS", "ProcedureChecker", "arguments", "check_declarations"]

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **{name: device.arguments for name, device in DEVICES.items()},
    **COLLECTIVES,
}
"""What the `confdev` of each device takes."""

_DIMENSIONS = {"time": TIME, "bytes": SIZE}


def check_declarations(groups: Iterable[Variables], scope: NameScope, dimensions: Dimensions) -> None:
    """Check the initial values of declared variables."""
    for group in groups:
        for declared in group.declarations:
            if declared.value is not None:
                scope.assignable(declared.value, group.type)
                dimensions.of(declared.value)


def arguments(step: Step) -> Iterable[tuple[Expression, Dimension]]:
    """Yield each argument of a step's device with the dimension that it should have."""
    for confdev in step.confdevs:
        for name, given in zip(ARGUMENTS.get(step.device, ()), confdev.values, strict=False):
            yield given, _DIMENSIONS.get(name, DIMENSIONLESS)


@dataclass
class ProcedureChecker:
    """Checks the body of one procedure.

    Attributes:
        procedure: the procedure with this body.
        scope: the names that it sees.
        dimensions: dimensions of the names that it sees.
        includes: names of the objects that an exec procedure may call.
        fixed: variables that it may not assign.
        report: called with each node at fault and the message.
    """

    procedure: Procedure
    scope: NameScope
    dimensions: Dimensions
    includes: frozenset[str]
    fixed: frozenset[str]
    report: Callable[[Node, str], None]
    _kinds: Mapping[type[Node], Callable[[Any], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._kinds = {
            syntax.Variables: lambda node: check_declarations([node], self.scope, self.dimensions),
            syntax.Assign: self._assign,
            syntax.Call: self._call,
            syntax.For: self._for,
            syntax.While: self._while,
            syntax.If: self._if,
            syntax.Return: self._return,
            syntax.Step: self._step,
            syntax.Compute: self._compute,
            syntax.Loop: self._loop,
            syntax.Case: self._case,
            syntax.Measured: self._measured,
        }

    def block(self, body: Iterable[Exec | Cflow]) -> None:
        """Check statements one after the other."""
        for statement in body:
            self._kinds[type(statement)](statement)

    def _assign(self, statement: Assign) -> None:
        if statement.name in self.fixed:
            by_evaluator = f"{PROCESSORS} is set by the evaluator: link it to change it in an included object"
            by_tasks = f"{statement.name} is a control parameter: only tasks and `finally` set it"
            self.report(statement, by_evaluator if statement.name == PROCESSORS else by_tasks)
        self.scope.assignable(statement.value, self.scope.variable(statement, statement.name))
        wanted = self.dimensions.known.get(statement.name)
        if wanted is None:
            self.dimensions.of(statement.value)
        else:
            self.dimensions.expect(statement.value, wanted)

    def _number(self, expression: Expression, wanted: Dimension = DIMENSIONLESS) -> None:
        """Check an expression that must be a number of some dimension."""
        self.scope.number(expression)
        self.dimensions.expect(expression, wanted)

    def _condition(self, expression: Expression) -> None:
        self.scope.number(expression)
        self.dimensions.of(expression)

    def _call(self, statement: Call) -> None:
        for argument in statement.arguments or ():
            self._condition(argument)
        name, given = statement.name, len(statement.arguments or ())
        called = self.scope.procedures.get(name)
        if called is not None:
            self._call_procedure(statement, called, given)
        elif self.procedure.kind == "exec" and name in self.includes - {HARDWARE_OBJECT}:
            if given:
                self.report(statement, f"{name} takes no arguments: link its variables")
        elif name not in self.scope.lost:
            known = [other for other, found in self.scope.procedures.items() if found.kind == self.procedure.kind]
            near = suggestion(name, [*known, *(self.includes if self.procedure.kind == "exec" else ())])
            self.report(statement, f"{name} is neither a procedure here nor included{near}")

    def _call_procedure(self, statement: Call, called: Procedure, given: int) -> None:
        if called.kind != self.procedure.kind:
            instead = f"; use its time, {called.name}(), in a step or a link" if called.kind == "cflow" else ""
            self.report(
                statement,
                f"{called.name} is a `proc {called.kind}`: a `proc {self.procedure.kind}` cannot call it{instead}",
            )
        elif given != len(called.parameters):
            self.report(statement, f"{called.name} takes {len(called.parameters)} arguments, not {given}")

    def _for(self, statement: For) -> None:
        self._assign(statement.start)
        self._condition(statement.condition)
        self._assign(statement.advance)
        self.block(statement.body)

    def _while(self, statement: While) -> None:
        self._condition(statement.condition)
        self.block(statement.body)

    def _if(self, statement: If) -> None:
        self._condition(statement.condition)
        self.block(statement.then)
        self.block(statement.otherwise)

    def _return(self, statement: Return) -> None:
        if statement.value is not None:
            self._condition(statement.value)

    def _step(self, statement: Step) -> None:
        name = statement.device
        wanted = ARGUMENTS.get(name)
        if wanted is None:
            self.report(statement, f"device {name} is not known{suggestion(name, ARGUMENTS)}")
        if statement.on is not None:
            self._number(statement.on)
            if name in COLLECTIVES:
                self.report(statement, f"{name} takes no `on`: all processors take part")
            elif wanted is not None and DEVICES[name].group:
                self.report(statement, f"{name} takes no `on`: its processor is in the confdev")
        for confdev in statement.confdevs:
            for value in confdev.values:
                self.scope.number(value)
            if wanted is not None and len(confdev.values) != len(wanted):
                takes = ", ".join(wanted) or "nothing"
                self.report(confdev, f"confdev of {name} takes {takes}: not {len(confdev.values)} values")
        for given, dimension in arguments(statement):
            self.dimensions.expect(given, dimension)

    def _compute(self, statement: Compute) -> None:
        self._usage(statement.usage)

    def _loop(self, statement: Loop) -> None:
        self._usage(statement.usage)
        self._number(statement.count)
        self.block(statement.body)

    def _case(self, statement: Case) -> None:
        self._usage(statement.usage)
        total = 0.0
        for arm in statement.arms:
            total += self._arm(arm)
            if total > 1 + 1e-9:
                self.report(arm, f"the probabilities of the arms add up to {total:g}: at most 1")

    def _arm(self, arm: Arm) -> float:
        """Check an arm and return its probability where that is a constant, else 0."""
        self._number(arm.probability)
        self.block(arm.body)
        probability = constant(arm.probability) or 0.0
        if probability < 0:
            self.report(arm.probability, f"a probability of {probability:g} is less than 0")
        return max(probability, 0.0)

    def _measured(self, statement: Measured) -> None:
        self._condition(statement.key)
        for entry in statement.entries:
            self._condition(entry.key)
            self._time(entry.time)

    def _time(self, expression: Expression) -> None:
        self._number(expression, TIME)
        time = constant(expression)
        if time is not None and not 0 <= time < math.inf:
            self.report(expression, f"a measured time of {time:g} us: it is finite and not negative")

    def _usage(self, usage: Usage) -> None:
        if isinstance(usage, MeasuredUsage):
            self._time(usage.time)
        elif isinstance(usage, MemoryUsage):
            self._bytes(usage.volume)
            self._bytes(usage.working_set)
        elif isinstance(usage, BlockUsage):
            self._number(usage.count)
            count = constant(usage.count)
            if count is not None and not 0 <= count < math.inf:
                self.report(usage.count, f"{count:g} repetitions of {usage.name}: they are finite and not negative")
        else:
            self._operations(usage)

    def _bytes(self, expression: Expression) -> None:
        self._number(expression, SIZE)
        size = constant(expression)
        if size is not None and not 0 <= size < math.inf:
            self.report(expression, f"{size:g} bytes of memory: the number is finite and not negative")

    def _operations(self, usage: OpcodeUsage) -> None:
        for entry in usage.entries:
            if entry.count is not None:
                self._number(entry.count)
            if entry.opcode not in OPCODES:
                self.report(entry, unknown_opcode(entry.opcode))
