"""What can be checked of one object by itself: names, types, procedures, opcodes, devices, options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.diagnostics import suggestion
from cosched.language.names import DEVICES, FUNCTIONS, HARDWARE, OPTIONS, PROCESSORS
from cosched.language.opcodes import OPCODES, unknown
from cosched.language.scope import Scope
from cosched.language.syntax import (
    Arm,
    Assign,
    Call,
    Case,
    Compute,
    Declaration,
    For,
    If,
    Include,
    Loop,
    Measured,
    Node,
    Number,
    OpcodeUsage,
    Parameter,
    Procedure,
    Return,
    Step,
    Text,
    Variables,
    While,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.language.diagnostics import Diagnostic
    from cosched.language.syntax import Cflow, Exec, Object, Usage

__all__ = ["check_object"]

_Named = Assign | Declaration | Include | Parameter | Procedure


def check_object(item: Object) -> list[Diagnostic]:
    """Return every fault of an object that shows without the objects it includes."""
    return _Checker(item).run()


class _Checker:
    def __init__(self, item: Object) -> None:
        self.object = item
        self.faults: list[Diagnostic] = []
        self.procedures = {procedure.name: procedure for procedure in item.procedures}
        self.includes = {include.name for include in item.includes}
        self.scope = Scope({PROCESSORS: "numeric", **item.declared()}, self.procedures, self.report)

    def report(self, node: Node, message: str) -> None:
        self.faults.append(self.object.source.fault(node.at, message))

    def run(self) -> list[Diagnostic]:
        item = self.object
        self.unique("variable", [declared for group in item.variables for declared in group.declarations])
        self.unique("procedure", item.procedures)
        self.unique("include", item.includes)
        self.unique("option", item.options)
        self.declarations(item.variables, self.scope)
        for link in item.links:
            if link.target not in self.includes | {HARDWARE}:
                self.report(link, f"{link.target} is linked but not included{suggestion(link.target, self.includes)}")
            self.unique("linked variable", link.assigns)
            for assign in link.assigns:
                self.scope.type(assign.value)
        self.options()
        if "init" not in self.procedures and item.kind != "subtask":
            self.report(item, f"{item.kind} {item.name} has no `proc exec init`: evaluation starts there")
        for procedure in item.procedures:
            self.procedure(procedure)
        self.cycles()
        return sorted(self.faults)

    def unique(self, what: str, nodes: Iterable[_Named]) -> None:
        seen: dict[str, Node] = {}
        for node in nodes:
            first = seen.setdefault(node.name, node)
            if first is not node:
                self.report(node, f"{what} {node.name} is already given in line {first.at.line}")

    def declarations(self, groups: Iterable[Variables], scope: Scope) -> None:
        for group in groups:
            for declared in group.declarations:
                if declared.value is not None:
                    scope.assignable(declared.value, group.type)

    def options(self) -> None:
        for option in self.object.options:
            wanted = OPTIONS.get(option.name)
            if wanted is None:
                self.report(option, f"option {option.name} is not known{suggestion(option.name, OPTIONS)}")
            elif wanted == "string" and not isinstance(option.value, Text):
                self.report(option, f'option {option.name} is a text: write {option.name} = "…"')
            elif option.name == "decompose" and isinstance(option.value, Text):
                declared = self.object.declared()
                for name in (part.strip() for part in option.value.value.split(",")):
                    if declared.get(name) != "numeric":
                        near = suggestion(name, declared)
                        self.report(option, f"decompose: {name or 'nothing'} is no numeric variable here{near}")

    def procedure(self, procedure: Procedure) -> None:
        self.unique("parameter", procedure.parameters)
        if procedure.name in FUNCTIONS:
            self.report(procedure, f"{procedure.name} is a built-in function: choose another name")
        if procedure.parameters and procedure.name == "init":
            self.report(procedure, "init takes no parameters: link the variables of the object")
        if procedure.name == "init" and procedure.kind == "cflow":
            self.report(procedure, "init is a `proc exec`")
        own = {parameter.name: parameter.type for parameter in procedure.parameters}
        own |= {item.name: node.type for node, _ in walk(*procedure.body) if isinstance(node, Variables)
                for item in node.declarations}  # fmt: skip
        scope = Scope({**self.scope.variables, **own}, self.procedures, self.report)
        for statement in procedure.body:
            self.statement(statement, scope, procedure.kind)

    def statement(self, statement: Exec | Cflow, scope: Scope, kind: str) -> None:
        match statement:
            case Variables():
                self.declarations([statement], scope)
            case Assign():
                self.assign(statement, scope)
            case Call():
                self.call(statement, scope, kind)
            case For():
                self.assign(statement.start, scope)
                scope.number(statement.condition)
                self.assign(statement.advance, scope)
                self.block(statement.body, scope, kind)
            case While():
                scope.number(statement.condition)
                self.block(statement.body, scope, kind)
            case If():
                scope.number(statement.condition)
                self.block(statement.then, scope, kind)
                self.block(statement.otherwise, scope, kind)
            case Return():
                if statement.value is not None:
                    scope.number(statement.value)
            case Step():
                self.step(statement, scope)
            case Compute():
                self.usage(statement.usage, scope)
            case Loop():
                self.usage(statement.usage, scope)
                scope.number(statement.count)
                self.block(statement.body, scope, kind)
            case Case():
                self.usage(statement.usage, scope)
                self.arms(statement.arms, scope)
            case Measured():
                scope.number(statement.key)
                for entry in statement.entries:
                    scope.number(entry.key)
                    scope.number(entry.time)

    def block(self, body: Iterable[Exec | Cflow], scope: Scope, kind: str) -> None:
        for statement in body:
            self.statement(statement, scope, kind)

    def assign(self, statement: Assign, scope: Scope) -> None:
        if statement.name == PROCESSORS and PROCESSORS not in self.object.declared():
            self.report(statement, f"{PROCESSORS} is set by the evaluator: link it to change it in an included object")
        wanted = scope.variable(statement, statement.name)
        scope.assignable(statement.value, wanted)

    def call(self, statement: Call, scope: Scope, kind: str) -> None:
        for argument in statement.arguments or ():
            scope.number(argument)
        name, given = statement.name, len(statement.arguments or ())
        procedure = self.procedures.get(name)
        callable_ = [other for other, found in self.procedures.items() if found.kind == kind]
        if procedure is not None and procedure.kind != kind:
            self.report(statement, f"{name} is a `proc {procedure.kind}`: a `proc {kind}` cannot call it"
                        + (f"; use its time, {name}(), in a step or a link" if kind == "exec" else ""))  # fmt: skip
        elif procedure is not None:
            if given != len(procedure.parameters):
                self.report(statement, f"{name} takes {len(procedure.parameters)} arguments, not {given}")
        elif kind == "exec" and name in self.includes - {HARDWARE}:
            if given:
                self.report(statement, f"{name} takes no arguments: link its variables")
        else:
            known = [*callable_, *(self.includes if kind == "exec" else ())]
            self.report(statement, f"{name} is neither a procedure here nor included{suggestion(name, known)}")

    def step(self, statement: Step, scope: Scope) -> None:
        device = DEVICES.get(statement.device)
        if device is None:
            self.report(statement, f"device {statement.device} is not known{suggestion(statement.device, DEVICES)}")
        if statement.on is not None:
            scope.number(statement.on)
            if device is not None and device.group:
                self.report(statement, f"{statement.device} takes no `on`: its processor is in the confdev")
        for confdev in statement.confdevs:
            for value in confdev.values:
                scope.number(value)
            if device is not None and len(confdev.values) != len(device.arguments):
                wanted = ", ".join(device.arguments)
                self.report(confdev, f"confdev of {statement.device} takes {wanted}: not {len(confdev.values)} values")

    def usage(self, usage: Usage, scope: Scope) -> None:
        if not isinstance(usage, OpcodeUsage):
            scope.number(usage.time)
            return
        for entry in usage.entries:
            if entry.count is not None:
                scope.number(entry.count)
            if entry.opcode not in OPCODES:
                self.report(entry, unknown(entry.opcode))

    def arms(self, arms: tuple[Arm, ...], scope: Scope) -> None:
        total = 0.0
        for arm in arms:
            scope.number(arm.probability)
            self.block(arm.body, scope, "cflow")
            if isinstance(arm.probability, Number):
                total += arm.probability.value
                if total > 1 + 1e-9:
                    self.report(arm, f"the probabilities of the arms add up to {total:g}: at most 1")

    def cycles(self) -> None:
        """Report each cflow that calls itself: its time would be infinite."""
        calls = {procedure.name: [node for node, _ in walk(*procedure.body) if isinstance(node, Call)]
                 for procedure in self.object.procedures if procedure.kind == "cflow"}  # fmt: skip
        for name in calls:
            reached: set[str] = set()
            waiting = [name]
            while waiting:
                for call in calls.get(waiting.pop(), ()):
                    if call.name == name:
                        self.report(call, f"cflow {name} calls itself: its time would never end")
                        waiting.clear()
                        break
                    if call.name not in reached:
                        reached.add(call.name)
                        waiting.append(call.name)
