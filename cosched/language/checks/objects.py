"""Check one object by itself: names, types, procedures, opcodes, devices, options."""

from __future__ import annotations

from collections import ChainMap
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from cosched.language.arithmetic import constant
from cosched.language.checks.expressions import Dimensions, NameScope, declared
from cosched.language.checks.procedures import ProcedureChecker, arguments, check_declarations
from cosched.language.checks.tunable import check_tunable, path_faults
from cosched.language.diagnostics import Diagnostic, suggestion
from cosched.language.syntax import Assign, Call, Declaration, Name, Step, Text, Variables, walk
from cosched.language.vocabulary import (
    COUPLINGS,
    DIMENSIONLESS,
    FUNCTION_ARITIES,
    HARDWARE_OBJECT,
    OPTION_TYPES,
    PROCESSORS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Cflow, Exec, FormalParameter, Include, Node, Object, Procedure
    from cosched.language.vocabulary import Dimension

    _Named = Assign | Declaration | Include | FormalParameter | Procedure

__all__ = ["MOST_FAULTS", "Findings", "TooManyFaults", "check_object", "object_dimensions"]


def check_object(item: Object) -> list[Diagnostic]:
    """Return the faults that one object shows without its includes, at most `MOST_FAULTS`."""
    checker = _ObjectChecker(item)
    with suppress(TooManyFaults):
        checker.run()
    return sorted(checker.findings.faults)


def object_dimensions(item: Object, report: Callable[[Node, str], None] = lambda _node, _message: None) -> Dimensions:
    """Return the dimensions of an object's variables.

    A dimension is that of the default, or the one in which a step uses the variable.
    """
    cflows = {procedure.name for procedure in item.procedures if procedure.kind == "cflow"}
    found = declared(item.variables, Dimensions({}, cflows, lambda _node, _message: None))
    nodes = [node for procedure in item.procedures for node, _ in walk(*procedure.body)]
    inner = {node.name for node in nodes if isinstance(node, Assign | Declaration)}
    inner |= {parameter.name for procedure in item.procedures for parameter in procedure.parameters}
    taken: dict[str, set[Dimension]] = {}
    for step in nodes:
        for value, wanted in arguments(step) if isinstance(step, Step) else ():
            if isinstance(value, Name) and value.id not in found and value.id not in inner:
                taken.setdefault(value.id, set()).add(wanted)
    certain = {name: wanted.pop() for name, wanted in taken.items() if len(wanted) == 1}
    return Dimensions({**certain, **found}, cflows, report)


class _ObjectChecker:
    def __init__(self, item: Object) -> None:
        self.object = item
        self.findings = Findings(item.source)
        self.procedures = {procedure.name: procedure for procedure in item.procedures}
        self.includes = frozenset(include.name for include in item.includes)
        self.declared = item.declared()
        self.scope = NameScope({PROCESSORS: "numeric", **self.declared}, self.procedures, self.report, item.lost)
        self.dimensions = object_dimensions(item, self.report)

    def report(self, node: Node, message: str) -> None:
        self.findings.report(node, message)

    def run(self) -> None:
        item = self.object
        self.unique("variable", [declared for group in item.variables for declared in group.declarations])
        self.unique("procedure", item.procedures)
        self.unique("include", item.includes)
        self.unique("option", item.options)
        check_declarations(item.variables, self.scope, self.dimensions)
        self.limits()
        for link in item.links:
            if link.target not in self.includes | {HARDWARE_OBJECT} | item.lost:
                self.report(link, f"{link.target} is linked but not included{suggestion(link.target, self.includes)}")
            self.unique("linked variable", link.assigns)
            for assign in link.assigns:
                self.scope.type(assign.value)
        self.options()
        tunable = item.kind == "application" and any(procedure.kind == "tunable" for procedure in item.procedures)
        if "init" not in self.procedures and item.kind != "subtask" and not tunable and not item.lost:
            self.report(item, f"{item.kind} {item.name} has no `proc exec init`: evaluation starts there")
        for procedure in item.procedures:
            self.procedure(procedure)
        self.cycles()
        check_tunable(item, self.scope, self.dimensions)
        if not self.findings.faults and not item.lost:
            self.findings.faults += path_faults(item)

    def unique(self, what: str, nodes: Iterable[_Named]) -> None:
        seen: dict[str, Node] = {}
        for node in nodes:
            first = seen.setdefault(node.name, node)
            if first is not node:
                self.report(node, f"{what} {node.name} is already given in line {first.at.line}")

    def limits(self) -> None:
        """Check the limits of parameters: constant numbers, the lower one first, the default between them."""
        inside = [
            declared
            for procedure in self.object.procedures
            for node, _ in walk(*procedure.body)
            if isinstance(node, Variables)
            for declared in node.declarations
        ]
        outside = [
            declared
            for group in self.object.variables
            if self.object.kind != "application" or group.type != "numeric"
            for declared in group.declarations
        ]
        for item in (*inside, *outside):
            if item.limits:
                self.report(item.limits[0], "only the numeric variables of an application have limits: users set those")
        for item in (item for group in self.object.variables for item in group.declarations if item.limits):
            self.limited(item)

    def limited(self, item: Declaration) -> None:
        """Check the limits of one parameter."""
        known = self.dimensions.known.get(item.name)
        for limit in item.limits if known else ():
            self.dimensions.expect(limit, known or DIMENSIONLESS)
        least, most = (constant(limit) for limit in item.limits)
        if least is None or most is None:
            self.report(item.limits[0], "a limit is a number, with or without a unit")
        elif least > most:
            self.report(item.limits[1], f"the upper limit of {item.name} lies below the lower one")
        elif item.value is not None:
            value = constant(item.value)
            if value is not None and not least <= value <= most:
                self.report(item.value, f"the default of {item.name} lies outside its limits")

    def options(self) -> None:
        for option in self.object.options:
            wanted = OPTION_TYPES.get(option.name)
            if wanted is None:
                self.report(option, f"option {option.name} is not known{suggestion(option.name, OPTION_TYPES)}")
            elif wanted == "string" and not isinstance(option.value, Text):
                self.report(option, f'option {option.name} is a text: write {option.name} = "…"')
            elif option.name.startswith("error"):
                self.error(option)
            elif option.name == "coupling" and isinstance(option.value, Text):
                self.coupling(option, option.value)
            elif option.name == "decompose" and isinstance(option.value, Text):
                for name in (part.strip() for part in option.value.value.split(",")):
                    if self.declared.get(name) != "numeric" and name not in self.object.lost:
                        near = suggestion(name, self.declared)
                        self.report(option, f"decompose: {name or 'nothing'} is no numeric variable here{near}")

    def coupling(self, option: Assign, value: Text) -> None:
        """Check what an application says of its parts: whether they wait for one another."""
        if self.object.kind != "application":
            self.report(option, f"option coupling belongs to the application: a {self.object.kind} has none")
        if value.value not in COUPLINGS:
            self.report(value, f'a coupling is "coupled" or "independent", not "{value.value[:40]}"')

    def error(self, option: Assign) -> None:
        """Check the error that an application states of itself: a part of the run time."""
        if self.object.kind != "application":
            self.report(option, f"option {option.name} belongs to the application: a {self.object.kind} has none")
        self.scope.number(option.value)
        value, open_ended = constant(option.value), option.name == "error_above"
        if value is not None and not (value >= 0 and (value < 1 or open_ended)):
            most = "at least 0" if open_ended else "from 0 to less than 1"
            self.report(option.value, f"an error is a part of the run time, {most}: 0.1 for 10 %")

    def procedure(self, procedure: Procedure) -> None:
        self.unique("parameter", procedure.parameters)
        if procedure.name in FUNCTION_ARITIES:
            self.report(procedure, f"{procedure.name} is a built-in function: choose another name")
        if procedure.parameters and procedure.name == "init":
            self.report(procedure, "init takes no parameters: link the variables of the object")
        if procedure.name == "init" and procedure.kind != "exec":
            self.report(procedure, "init is a `proc exec`")
        if procedure.kind == "tunable":
            return
        for parameter in procedure.parameters:
            if parameter.type != "numeric":
                self.report(parameter, f"parameter {parameter.name} is {parameter.type}: only numbers are passed")
        own = {parameter.name: parameter.type for parameter in procedure.parameters}
        own |= {
            item.name: node.type
            for node, _ in walk(*procedure.body)
            if isinstance(node, Variables)
            for item in node.declarations
        }
        scope = NameScope(ChainMap(own, self.scope.variables), self.procedures, self.report, self.object.lost)
        fixed = self.object.control() - own.keys()
        if PROCESSORS not in own and PROCESSORS not in self.declared:
            fixed |= {PROCESSORS}
        checker = ProcedureChecker(procedure, scope, self.inside(procedure, own), self.includes, fixed, self.report)
        checker.block(cast("tuple[Exec | Cflow, ...]", procedure.body))

    def inside(self, procedure: Procedure, own: Iterable[str]) -> Dimensions:
        """Return the dimensions that the procedure sees: its own variables hide those of the object."""
        groups = (node for node, _ in walk(*procedure.body) if isinstance(node, Variables))
        found: dict[str, Dimension | None] = dict.fromkeys(own)
        found.update(declared(groups, self.dimensions))
        return Dimensions({**self.dimensions.known, **found}, self.dimensions.cflows, self.report)

    def cycles(self) -> None:
        """Report the call that closes each circle of cflows: its time would be infinite."""
        calls = {
            procedure.name: [node for node, _ in walk(*procedure.body) if isinstance(node, Call)]
            for procedure in self.object.procedures
            if procedure.kind == "cflow"
        }
        done: set[str] = set()
        for first in calls:
            chain = {first: iter(calls[first])} if first not in done else {}
            while chain:
                name, rest = next(reversed(chain.items()))
                call = next(rest, None)
                if call is None:
                    done.add(name)
                    del chain[name]
                elif call.name in chain:
                    circle = " → ".join([*chain, call.name][[*chain].index(call.name) :])
                    self.report(call, f"cflow {call.name} calls itself ({circle}): its time would never end")
                elif call.name in calls and call.name not in done:
                    chain[call.name] = iter(calls[call.name])


@dataclass
class Findings:
    """The faults of one source, up to a bound.

    Attributes:
        source: the source that is checked.
        faults: in the order found.
    """

    source: Source
    faults: list[Diagnostic] = field(default_factory=list)

    def report(self, node: Node, message: str) -> None:
        """Add a fault.

        Raises:
            TooManyFaults: that was the last one that is reported.
        """
        self.faults.append(self.source.fault(node.at, message))
        if len(self.faults) >= MOST_FAULTS:
            self.faults.append(self.source.fault(node.at, f"{MOST_FAULTS} faults so far: mend these first"))
            raise TooManyFaults


class TooManyFaults(Exception):  # noqa: N818  the end of a check, no error of the program
    """An object has too many faults to look for more."""


MOST_FAULTS = 200
