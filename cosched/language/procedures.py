"""What can be checked of the procedures of one object: statements, steps, usages, calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cosched.language import syntax
from cosched.language.diagnostics import suggestion
from cosched.language.names import COLLECTIVES, DEVICES, HARDWARE, PROCESSORS
from cosched.language.opcodes import OPCODES, unknown
from cosched.language.syntax import Number, OpcodeUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.language.scope import Scope
    from cosched.language.syntax import (
        Arm,
        Assign,
        Call,
        Case,
        Cflow,
        Compute,
        Exec,
        For,
        If,
        Loop,
        Measured,
        Node,
        Procedure,
        Return,
        Step,
        Usage,
        Variables,
        While,
    )

__all__ = ["ProcedureChecker", "check_declarations"]


def check_declarations(groups: Iterable[Variables], scope: Scope) -> None:
    """Check the initial values of declared variables."""
    for group in groups:
        for declared in group.declarations:
            if declared.value is not None:
                scope.assignable(declared.value, group.type)


@dataclass
class ProcedureChecker:
    """Checks the body of one procedure.

    Attributes:
        procedure: whose body it is.
        scope: what it sees.
        includes: names of the objects that an exec procedure may call.
        fixed: variables that it may not assign.
        report: called with each node at fault and the message.
    """

    procedure: Procedure
    scope: Scope
    includes: frozenset[str]
    fixed: frozenset[str]
    report: Callable[[Node, str], None]
    _kinds: Mapping[type[Node], Callable[[Any], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._kinds = {
            syntax.Variables: lambda node: check_declarations([node], self.scope),
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
            self.report(statement, f"{PROCESSORS} is set by the evaluator: link it to change it in an included object")
        self.scope.assignable(statement.value, self.scope.variable(statement, statement.name))

    def _call(self, statement: Call) -> None:
        for argument in statement.arguments or ():
            self.scope.number(argument)
        name, given = statement.name, len(statement.arguments or ())
        called = self.scope.procedures.get(name)
        if called is not None:
            self._call_procedure(statement, called, given)
        elif self.procedure.kind == "exec" and name in self.includes - {HARDWARE}:
            if given:
                self.report(statement, f"{name} takes no arguments: link its variables")
        else:
            known = [other for other, found in self.scope.procedures.items() if found.kind == self.procedure.kind]
            near = suggestion(name, [*known, *(self.includes if self.procedure.kind == "exec" else ())])
            self.report(statement, f"{name} is neither a procedure here nor included{near}")

    def _call_procedure(self, statement: Call, called: Procedure, given: int) -> None:
        if called.kind != self.procedure.kind:
            instead = f"; use its time, {called.name}(), in a step or a link" if called.kind == "cflow" else ""
            self.report(statement, f"{called.name} is a `proc {called.kind}`: "
                        f"a `proc {self.procedure.kind}` cannot call it{instead}")  # fmt: skip
        elif given != len(called.parameters):
            self.report(statement, f"{called.name} takes {len(called.parameters)} arguments, not {given}")

    def _for(self, statement: For) -> None:
        self._assign(statement.start)
        self.scope.number(statement.condition)
        self._assign(statement.advance)
        self.block(statement.body)

    def _while(self, statement: While) -> None:
        self.scope.number(statement.condition)
        self.block(statement.body)

    def _if(self, statement: If) -> None:
        self.scope.number(statement.condition)
        self.block(statement.then)
        self.block(statement.otherwise)

    def _return(self, statement: Return) -> None:
        if statement.value is not None:
            self.scope.number(statement.value)

    def _step(self, statement: Step) -> None:
        name, known = statement.device, {**COLLECTIVES, **{key: item.arguments for key, item in DEVICES.items()}}
        wanted = known.get(name)
        if wanted is None:
            self.report(statement, f"device {name} is not known{suggestion(name, known)}")
        if statement.on is not None:
            self.scope.number(statement.on)
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

    def _compute(self, statement: Compute) -> None:
        self._usage(statement.usage)

    def _loop(self, statement: Loop) -> None:
        self._usage(statement.usage)
        self.scope.number(statement.count)
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
        self.scope.number(arm.probability)
        self.block(arm.body)
        return arm.probability.value if isinstance(arm.probability, Number) else 0.0

    def _measured(self, statement: Measured) -> None:
        self.scope.number(statement.key)
        for entry in statement.entries:
            self.scope.number(entry.key)
            self.scope.number(entry.time)

    def _usage(self, usage: Usage) -> None:
        if not isinstance(usage, OpcodeUsage):
            self.scope.number(usage.time)
            return
        for entry in usage.entries:
            if entry.count is not None:
                self.scope.number(entry.count)
            if entry.opcode not in OPCODES:
                self.report(entry, unknown(entry.opcode))
