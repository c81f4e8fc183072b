"""Objects compiled for one hardware, and evaluated: variables, links, `init`, calls downwards.

Start at `CompiledObject`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.budget import LanesDifferError, TooManyStepsError
from cosched.evaluation.clocks.steps import Steps
from cosched.evaluation.interpreter.cflow_statements import CflowCompiler
from cosched.evaluation.interpreter.device_steps import StepCompiler
from cosched.evaluation.interpreter.exec_statements import ExecCompiler
from cosched.evaluation.interpreter.expressions import Expressions
from cosched.evaluation.interpreter.frame import Frame, ObjectRun
from cosched.evaluation.interpreter.invariance import NO_INVARIANCE, find_invariance, weight
from cosched.evaluation.interpreter.step_cache import recall, remember
from cosched.language.syntax import Call, Variables, walk
from cosched.language.vocabulary import HARDWARE_OBJECT, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.frame import CompiledBlock, CompiledNumber, CompiledValue, LaneNumber, Value
    from cosched.evaluation.interpreter.step_cache import StepTemplate
    from cosched.evaluation.sites import Sites
    from cosched.language.linker import Linked
    from cosched.language.syntax import Cflow, Exec, Link, Position, Procedure

    Invocation = Callable[[Frame, tuple[LaneNumber, ...], Position], LaneNumber]

__all__ = ["CompiledObject"]


class CompiledObject:
    """An object and its includes, ready to be evaluated any number of times.

    Args:
        linked: the object and what it includes.
        hardware: the hardware whose costs are compiled in.
        sites: numbers the steps of all of them.
        others: objects compiled so far; an object that two others include is compiled once.
    """

    def __init__(self, linked: Linked, hardware: Hardware, sites: Sites, others: dict[Linked, CompiledObject]) -> None:
        others[linked] = self
        self.object = item = linked.object
        self.source = item.source
        self.types = {PROCESSORS: "numeric", **item.declared()}
        self.included = {
            name: others.get(other) or CompiledObject(other, hardware, sites, others)
            for name, other in linked.includes.items()
        }
        self.hardware = hardware
        self.sites = sites
        self._invariance = NO_INVARIANCE if linked.includes else find_invariance(item)
        self._procedures: dict[str, Invocation] = {}
        self._trees = {procedure.name: procedure for procedure in item.procedures}
        self._expressions = Expressions(self.source, self.types, frozenset(), self._procedures, self._trees)
        self.initial: list[tuple[str, CompiledValue | None]] = [
            (
                declared.name,
                None
                if declared.value is None
                else self._expressions.of_type(declared.value, self.types[declared.name]),
            )
            for group in item.variables
            for declared in group.declarations
        ]
        for procedure in item.procedures:
            if procedure.kind != "tunable":  # whose stages are planned, not carried out
                self._procedures[procedure.name] = self._procedure(procedure)
        self._links: dict[str, list[tuple[str, CompiledValue, Position]]] = {}
        for link in item.links:
            self._link(link)
        self._automatic = self._templates()
        self._deferred = cache(self._compile_deferred)

    def start(self, run: ObjectRun, given: Mapping[str, Value]) -> Frame:
        """Return a frame with every variable that has a value before `init`.

        Values are given, or as declared.
        """
        hosts = run.lanes.hosts
        processors = float(hosts[0]) if len(hosts) == 1 else hosts.astype(np.float64)
        frame = Frame({PROCESSORS: processors, **given}, {}, run, run.lanes)
        for name, value in self.initial:
            if value is not None and name not in given and name != PROCESSORS:
                frame.values[name] = value(frame)
        return frame

    def program(self, frame: Frame) -> list[Steps]:
        """Return what the object does, as segments in order.

        Where loops are expanded, the steps of an object that calls no other are found before if all that decides them
        was the same; their amounts alone are computed anew.
        """
        if not frame.run.expand or self.included:
            return self._carry_out(frame)
        key = self._key(frame)
        templates = recall(key)
        if templates is None:
            self._carry_out(frame)
            templates = frame.run.templates
            remember(key, templates, self.object)
        if any(len(template) > frame.run.whole.most_steps for template in templates):
            raise TooManyStepsError
        return [self._filled(template, frame) for template in templates]

    def option(self, name: str) -> tuple[CompiledNumber, Position] | None:
        """Return a numeric option, if this object has it."""
        found = self.object.option(name)
        return None if found is None else (self._expressions.number(found.value), found.value.at)

    def hardware_processors(self) -> tuple[CompiledValue, Position] | None:
        """Return what this object links as the number of processors, if it does."""
        found = [(value, at) for name, value, at in self._links.get(HARDWARE_OBJECT, ()) if name == PROCESSORS]
        return found[-1] if found else None

    def _carry_out(self, frame: Frame) -> list[Steps]:
        """Run `init`, then the templates of a subtask that calls none itself."""
        if "init" in self._procedures:
            self._procedures["init"](frame, (), self.object.at)
        for name in self._automatic:
            self._enter(name, frame, self.object.at)
        frame.run.flush()
        return frame.run.program

    def _key(self, frame: Frame) -> Hashable:
        """Return all that decides which steps the object has."""
        shaping = (frame.values.get(name) for name in self._invariance.shaping)
        return (
            id(self.object),
            self.hardware if self._invariance.priced else tuple(self.hardware.messages),
            self._first_site(),
            frame.lanes.hosts.tobytes(),
            *(value.tobytes() if isinstance(value, np.ndarray) else value for value in shaping),
        )

    def _first_site(self) -> int:
        confdevs = self._invariance.confdevs
        return self.sites.number(confdevs[0]) if confdevs else 0

    def _filled(self, template: StepTemplate, frame: Frame) -> Steps:
        """Return steps with their deferred amounts, for the variables of this object."""
        amounts, size, deferred = template.amounts.copy(), frame.lanes.size, self._deferred()
        for column, (site, index) in enumerate(template.deferred):
            amount = deferred[site](frame if len(index) == size else frame.pick(index))
            if not (np.all(np.greater_equal(amount, 0)) and np.all(np.isfinite(amount))):
                raise LanesDifferError
            amounts[column * size + index] = amount
        return Steps(template.shape, amounts)

    def _compile_deferred(self) -> Mapping[int, CompiledNumber]:
        """Compile the amounts that no step depends on, by site.

        They read only variables of the object.
        """
        confdevs, deferred = self._invariance.confdevs, self._invariance.deferred
        return {
            self.sites.number(confdev): self._expressions.number(deferred[id(confdev)])
            for confdev in confdevs
            if id(confdev) in deferred
        }

    def _link(self, link: Link) -> None:
        target = self.included.get(link.target)
        entries = self._links.setdefault(link.target, [])
        for assign in link.assigns:
            wanted = "numeric" if target is None else target.types[assign.name]
            entries.append((assign.name, self._expressions.of_type(assign.value, wanted), assign.at))

    def _templates(self) -> list[str]:
        calls = {
            node.name
            for procedure in self.object.procedures
            for node, _ in walk(*procedure.body)
            if isinstance(node, Call)
        }
        if self.object.kind != "subtask" or calls & set(self.included):
            return []
        return [name for name, other in self.included.items() if other.object.kind == "partmp"]

    def _enter(self, name: str, frame: Frame, at: Position) -> None:
        """Evaluate an included object after what this one did so far."""
        run, included = frame.run, self.included[name]
        if frame.lanes is not run.lanes:
            raise LanesDifferError  # its steps come after those of lanes that do not call it
        run.budget.spend(20, self.source, at)
        run.flush()
        given = {name: value(frame) for name, value, _ in self._links.get(name, ())}
        values = ((name, value.tobytes() if isinstance(value, np.ndarray) else value) for name, value in given.items())
        key = (id(included), *values)
        known = run.whole.known
        program = known.get(key)
        if program is None:
            program = known[key] = included.program(included.start(run.inner(), given))
        run.budget.spend(len(program), self.source, at)
        run.program.extend(program)

    def _procedure(self, procedure: Procedure) -> Invocation:
        locals_ = {parameter.name: parameter.type for parameter in procedure.parameters}
        locals_ |= {
            item.name: node.type
            for node, _ in walk(*procedure.body)
            if isinstance(node, Variables)
            for item in node.declarations
        }
        types = {**self.types, **locals_}
        expressions = Expressions(self.source, types, frozenset(locals_), self._procedures, self._trees)
        body: CompiledBlock
        if procedure.kind == "cflow":
            body = CflowCompiler(expressions, self.hardware).block(cast("tuple[Cflow, ...]", procedure.body))
        else:
            steps = StepCompiler(expressions, self.hardware, self.sites, self._invariance.deferred)
            compiler = ExecCompiler(expressions, steps, self._enter, self.object.links)
            body = compiler.block(cast("tuple[Exec, ...]", procedure.body))
        return self._invocation(procedure, body)

    def _invocation(self, procedure: Procedure, body: CompiledBlock) -> Invocation:
        names = tuple(parameter.name for parameter in procedure.parameters)
        cost, source = 4 * weight(procedure), self.source  # a call costs more than a turn

        def call(frame: Frame, arguments: tuple[LaneNumber, ...], at: Position) -> LaneNumber:
            run = frame.run
            run.budget.spend(cost, source, at)
            run.enter(source, at)
            own: dict[str, Value] = dict(zip(names, arguments, strict=True))
            result = body(Frame(frame.values, own, run, frame.lanes))
            run.depth -= 1
            return 0.0 if result is None else result

        return call
