"""Check the control parameters and the tunable procedure of an object.

What can be said of each statement by itself is said by `check_tunable`; what only shows on a way through the procedure,
by `cosched.language.tunable_paths`, which is carried out with the parameters' defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cosched.language.arithmetic import UndefinedError, constant, value
from cosched.language.diagnostics import ModelError, suggestion
from cosched.language.syntax import (
    Assign,
    Element,
    HostsRequest,
    Invoke,
    ModelRequest,
    Name,
    TaskLoop,
    TaskSelect,
    TaskStage,
    ValueRange,
    Variables,
    Vector,
    walk,
)
from cosched.language.tunable_paths import (
    bad_deadline,
    bad_hosts,
    bad_quality,
    bad_seconds,
    bad_turns,
    tunable_paths,
)
from cosched.language.vocabulary import (
    CONTROL,
    DIMENSIONLESS,
    FUNCTION_ARITIES,
    HARDWARE_OBJECT,
    OPTION_TYPES,
    PROCESSORS,
    TIME,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.language.checks.expressions import Dimensions, NameScope
    from cosched.language.diagnostics import Diagnostic
    from cosched.language.syntax import Declaration, Expression, Node, Object, Tunable
    from cosched.language.vocabulary import Dimension

__all__ = ["check_tunable", "path_faults"]

_MICROSECONDS = 1e-6


def check_tunable(item: Object, scope: NameScope, dimensions: Dimensions) -> None:
    """Report what is wrong with the control parameters and the tunable procedure of an object.

    Args:
        item: any object.
        scope: the names that its procedures see.
        dimensions: their dimensions.
    """
    _TunableChecker(item, scope, dimensions, scope.report).run()


def path_faults(item: Object) -> list[Diagnostic]:
    """Return what shows on the ways through the tunable procedure of an object without other faults.

    They are tried with the defaults of its parameters; ways that depend on a parameter without one are left out.
    """
    if not any(procedure.kind == "tunable" for procedure in item.procedures):
        return []
    defaults: dict[str, float] = {}
    for group in item.variables:
        for declared in group.declarations if group.type == "numeric" else ():
            try:
                if declared.value is not None:
                    defaults[declared.name] = value(declared.value, defaults)
            except UndefinedError:
                continue
    try:
        tunable_paths(item, defaults, {})
    except ModelError as error:
        return list(error.diagnostics)
    return []


@dataclass
class _TunableChecker:
    """Checks one object."""

    item: Object
    scope: NameScope
    dimensions: Dimensions
    report: Callable[[Node, str], None]

    def run(self) -> None:
        item = self.item
        procedures = [procedure for procedure in item.procedures if procedure.kind == "tunable"]
        for procedure in procedures:
            if item.kind != "application":
                self.report(procedure, f"only an application is tunable: a {item.kind} has no `proc tunable`")
        for procedure in procedures[1:]:
            first = procedures[0]
            self.report(procedure, f"an application has one `proc tunable`: {first.name} in line {first.at.line} is it")
        self.local()
        declared = [one for group in item.variables if group.type == CONTROL for one in group.declarations]
        if item.kind != "application":
            for one in declared:
                self.report(one, f"control parameter {one.name}: a {item.kind} has none, link it from the application")
            return
        for one in declared:
            self.control(one, tunable=bool(procedures))
        for procedure in procedures:
            self.block(procedure.body)  # type: ignore[arg-type]  # its kind says which it has

    def local(self) -> None:
        """Report control parameters among the variables of procedures."""
        for procedure in self.item.procedures:
            for node, _ in walk(*procedure.body):
                if isinstance(node, Variables) and node.type == CONTROL:
                    self.report(node, "control parameters are variables of the application, not of a procedure")

    def control(self, one: Declaration, *, tunable: bool) -> None:
        """Check the declaration of one control parameter."""
        if one.name in OPTION_TYPES:
            self.report(one, f"control parameter {one.name} is named like an option: call it {one.name}_")
        if one.name == PROCESSORS:
            self.report(one, f"{PROCESSORS} is the number of processors: choose another name")
        if one.value is not None:
            self.number(one.value)
        if not tunable:
            self.report(one, f"control parameter {one.name} is of no use: {self.item.name} has no `proc tunable`")
        elif one.value is None and not self.set_somewhere(one.name) and one.name not in self.item.lost:
            self.report(one, f"control parameter {one.name} is set nowhere: by no task, no `finally`, no initial value")

    def set_somewhere(self, name: str) -> bool:
        """Return whether a task or a `finally` sets a control parameter, or one that is none and near it in writing."""
        nodes = [node for procedure in self.item.procedures for node, _ in walk(procedure)]
        given = {parameter.id for node in nodes if isinstance(node, TaskStage) for parameter in node.parameters}
        given |= {node.name for node in nodes if isinstance(node, Assign)}
        return name in given or any(suggestion(other, {name}) for other in given - self.item.declared().keys())

    def block(self, statements: Iterable[Tunable]) -> None:
        for statement in statements:
            match statement:
                case TaskStage():
                    self.stage(statement)
                case TaskSelect():
                    for arm in statement.arms:
                        self.number(arm.condition)
                        self.block(arm.body)
                        for assign in arm.finals:
                            self.named(assign, assign.name)
                            self.number(assign.value)
                case TaskLoop():
                    self.number(statement.count, bad=bad_turns)
                    self.block(statement.body)

    def stage(self, stage: TaskStage) -> None:
        if stage.deadline is not None:
            self.number(stage.deadline, TIME, bad_deadline)
        names = [parameter.id for parameter in stage.parameters]
        for place, parameter in enumerate(stage.parameters):
            self.named(parameter, parameter.id)
            if parameter.id in names[:place]:
                self.report(parameter, f"control parameter {parameter.id} is set twice by task {stage.name}")
        for configuration in stage.configurations:
            given = len(configuration.values)
            if given != len(names):
                wanted, has = _counted(len(names), "control parameter"), _counted(given, "value")
                self.report(configuration, f"task {stage.name} sets {wanted}: this way has {has}")
            for one in configuration.values:
                for part in (one.first, one.last, one.step) if isinstance(one, ValueRange) else (one,):
                    if part is not None:
                        self.number(part, None)
            if isinstance(configuration.request, HostsRequest):
                self.number(configuration.request.hosts, bad=bad_hosts)
                self.number(configuration.request.time, TIME, bad_seconds)
            else:
                self.request(configuration.request)
            self.number(configuration.quality, bad=bad_quality)

    def request(self, request: ModelRequest) -> None:
        """Check that the object named is included."""
        known = {include.name for include in self.item.includes} - {HARDWARE_OBJECT}
        if request.name not in known | self.item.lost:
            self.report(
                request,
                f"{request.name} is not included: a model request names a subtask{suggestion(request.name, known)}",
            )

    def named(self, node: Node, name: str) -> None:
        """Check that what is set is a control parameter."""
        known = self.item.control()
        if name not in known | self.item.lost:
            near = suggestion(name, known) or ": declare it with `var control`"
            self.report(node, f"{name} is no control parameter{near}")

    def number(
        self,
        expression: Expression,
        wanted: Dimension | None = DIMENSIONLESS,
        bad: Callable[[float], str] | None = None,
    ) -> None:
        """Check a number that is known before the task runs: of constants, parameters and control parameters."""
        self.scope.number(expression)
        if wanted is None:
            self.dimensions.of(expression)
        else:
            self.dimensions.expect(expression, wanted)
        for node, _ in walk(expression):
            if message := self.unknown(node):
                self.report(node, message)
        found = constant(expression)
        if found is not None and bad is not None:
            message = bad(found * (_MICROSECONDS if wanted == TIME else 1))
            if message:
                self.report(expression, message)

    def unknown(self, node: Node) -> str:
        """Return why a part of an expression is not known before the task runs, or an empty text."""
        can = "here stand constants, parameters and control parameters alone"
        match node:
            case Invoke() if node.name in self.scope.procedures and node.name not in FUNCTION_ARITIES:
                return f"{node.name}() is not constant: {can}"
            case Name() if node.id == PROCESSORS:
                return f"{PROCESSORS} is not constant: {can}"
            case Name() if node.id in self.assigned:
                return f"{node.id} is not constant, as a procedure assigns it: {can}"
            case Element() | Vector():
                return f"a vector is not constant: {can}"
        return ""

    @cached_property
    def assigned(self) -> set[str]:
        """Return the variables of the application that its other procedures assign."""
        return {
            node.name
            for procedure in self.item.procedures
            if procedure.kind != "tunable"
            for node, _ in walk(*procedure.body)
            if isinstance(node, Assign)
        }


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
