"""What can be checked of one object by itself: names, types, procedures, opcodes, devices, options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.diagnostics import suggestion
from cosched.language.names import FUNCTIONS, HARDWARE, OPTIONS, PROCESSORS
from cosched.language.procedures import ProcedureChecker, check_declarations
from cosched.language.scope import Scope, constant
from cosched.language.syntax import Call, Text, Variables, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.language.diagnostics import Diagnostic
    from cosched.language.syntax import Assign, Declaration, Include, Node, Object, Parameter, Procedure

    _Named = Assign | Declaration | Include | Parameter | Procedure

__all__ = ["check_object"]


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
        check_declarations(item.variables, self.scope)
        self.limits()
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

    def limits(self) -> None:
        """Check the limits of parameters: constant numbers, the lower one first, the default between them."""
        inside = [declared for procedure in self.object.procedures for node, _ in walk(*procedure.body)
                  if isinstance(node, Variables) for declared in node.declarations]  # fmt: skip
        outside = [declared for group in self.object.variables if self.object.kind != "application"
                   or group.type != "numeric" for declared in group.declarations]  # fmt: skip
        for declared in (*inside, *outside):
            if declared.limits:
                self.report(
                    declared.limits[0], "only the numeric variables of an application have limits: users set those"
                )
        for declared in (item for group in self.object.variables for item in group.declarations if item.limits):
            least, most = (constant(limit) for limit in declared.limits)
            if least is None or most is None:
                self.report(declared.limits[0], "a limit is a number, with or without a unit")
            elif least > most:
                self.report(declared.limits[1], f"the upper limit of {declared.name} lies below the lower one")
            else:
                value = None if declared.value is None else constant(declared.value)
                if value is not None and declared.value is not None and not least <= value <= most:
                    self.report(declared.value, f"the default of {declared.name} lies outside its limits")

    def options(self) -> None:
        for option in self.object.options:
            wanted = OPTIONS.get(option.name)
            if wanted is None:
                self.report(option, f"option {option.name} is not known{suggestion(option.name, OPTIONS)}")
            elif wanted == "string" and not isinstance(option.value, Text):
                self.report(option, f'option {option.name} is a text: write {option.name} = "…"')
            elif option.name == "error":
                self.error(option)
            elif option.name == "decompose" and isinstance(option.value, Text):
                declared = self.object.declared()
                for name in (part.strip() for part in option.value.value.split(",")):
                    if declared.get(name) != "numeric":
                        near = suggestion(name, declared)
                        self.report(option, f"decompose: {name or 'nothing'} is no numeric variable here{near}")

    def error(self, option: Assign) -> None:
        """Check the error that an application states of itself: a part of the run time."""
        if self.object.kind != "application":
            self.report(option, f"option error belongs to the application: a {self.object.kind} has none")
        self.scope.number(option.value)
        value = constant(option.value)
        if value is not None and not 0 <= value < 1:
            self.report(option.value, "an error is a part of the run time, from 0 to less than 1: 0.1 for 10 %")

    def procedure(self, procedure: Procedure) -> None:
        self.unique("parameter", procedure.parameters)
        if procedure.name in FUNCTIONS:
            self.report(procedure, f"{procedure.name} is a built-in function: choose another name")
        if procedure.parameters and procedure.name == "init":
            self.report(procedure, "init takes no parameters: link the variables of the object")
        if procedure.name == "init" and procedure.kind == "cflow":
            self.report(procedure, "init is a `proc exec`")
        for parameter in procedure.parameters:
            if parameter.type != "numeric":
                self.report(parameter, f"parameter {parameter.name} is {parameter.type}: only numbers are passed")
        own = {parameter.name: parameter.type for parameter in procedure.parameters}
        own |= {item.name: node.type for node, _ in walk(*procedure.body) if isinstance(node, Variables)
                for item in node.declarations}  # fmt: skip
        scope = Scope({**self.scope.variables, **own}, self.procedures, self.report)
        fixed = frozenset({PROCESSORS} - set(own) - set(self.object.declared()))
        ProcedureChecker(procedure, scope, frozenset(self.includes), fixed, self.report).block(procedure.body)

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
