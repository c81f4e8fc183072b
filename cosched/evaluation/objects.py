"""Objects compiled for one hardware, and evaluated: links, init, calls downwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cosched.evaluation.cflow import CflowCompiler
from cosched.evaluation.expressions import Expressions
from cosched.evaluation.frame import Frame
from cosched.evaluation.invariance import weight
from cosched.evaluation.run import Run
from cosched.evaluation.statements import ExecCompiler
from cosched.language.names import HARDWARE, PROCESSORS
from cosched.language.syntax import Call, Variables, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.evaluation.frame import Block, Numeric, Value, Valued
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.places import Places
    from cosched.evaluation.steps import Steps
    from cosched.language.linker import Linked
    from cosched.language.syntax import Cflow, Exec, Link, Position, Procedure

__all__ = ["CompiledObject"]


class CompiledObject:
    """An object and those below it, ready to be evaluated any number of times.

    Args:
        linked: the object and what it includes.
        hardware: whose costs are compiled in.
        places: numbers the steps of all of them.
        others: objects compiled so far; an object that two others include is compiled once.
    """

    def __init__(
        self, linked: Linked, hardware: Hardware, places: Places, others: dict[Linked, CompiledObject]
    ) -> None:
        others[linked] = self
        self.object = item = linked.object
        self.source = item.source
        self.types = {PROCESSORS: "numeric", **item.declared()}
        self.below = {
            name: others.get(other) or CompiledObject(other, hardware, places, others)
            for name, other in linked.includes.items()
        }
        self.hardware = hardware
        self.places = places
        self._procedures: dict[str, Callable[[Frame, tuple[float, ...], Position], float]] = {}
        self._expressions = Expressions(self.source, self.types, frozenset(), self._procedures)
        self.initial: list[tuple[str, Valued | None]] = [
            (declared.name, None if declared.value is None else self._expressions.of_type(declared.value, group.type))
            for group in item.variables
            for declared in group.declarations
        ]
        for procedure in item.procedures:
            self._procedures[procedure.name] = self._procedure(procedure)
        self._links: dict[str, list[tuple[str, Valued, Position]]] = {}
        for link in item.links:
            self._link(link)
        self._automatic = self._templates()

    def start(self, run: Run, given: Mapping[str, Value]) -> Frame:
        """Return a frame with every variable that has a value before `init`: given, or as declared."""
        frame = Frame({PROCESSORS: float(run.processors), **given}, {}, run)
        for name, value in self.initial:
            if value is not None and name not in given and name != PROCESSORS:
                frame.values[name] = value(frame)
        return frame

    def run(self, frame: Frame) -> list[Steps]:
        """Run `init`, then the templates of a subtask that calls none itself."""
        run = frame.run
        if "init" in self._procedures:
            self._procedures["init"](frame, (), self.object.at)
        for name in self._automatic:
            self._enter(name, frame, self.object.at)
        run.flush()
        return run.program

    def linked(self, target: str, frame: Frame) -> dict[str, Value]:
        """Return the variables that this object sets in an included one."""
        return {name: value(frame) for name, value, _ in self._links.get(target, ())}

    def option(self, name: str) -> tuple[Numeric, Position] | None:
        """Return a numeric option, if this object has it."""
        found = self.object.option(name)
        return None if found is None else (self._expressions.number(found.value), found.value.at)

    def hardware_processors(self) -> tuple[Valued, Position] | None:
        """Return what this object links as the number of processors, if it does."""
        found = [(value, at) for name, value, at in self._links.get(HARDWARE, ()) if name == PROCESSORS]
        return found[-1] if found else None

    def _link(self, link: Link) -> None:
        target = self.below.get(link.target)
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
        if self.object.kind != "subtask" or calls & set(self.below):
            return []
        return [name for name, other in self.below.items() if other.object.kind == "partmp"]

    def _enter(self, name: str, frame: Frame, at: Position) -> None:
        """Evaluate an included object after what this one did so far."""
        run, below = frame.run, self.below[name]
        run.budget.spend(20, self.source, at)
        run.flush()
        given = self.linked(name, frame)
        programs = run.programs
        key = (id(below), tuple(given.items()))
        program = programs.known.get(key)
        if program is None:
            program = programs.known[key] = below.run(below.start(Run(programs, run.depth), given))
        run.budget.spend(len(program), self.source, at)
        run.program.extend(program)

    def _procedure(self, procedure: Procedure) -> Callable[[Frame, tuple[float, ...], Position], float]:
        locals_ = {parameter.name: parameter.type for parameter in procedure.parameters}
        locals_ |= {
            item.name: node.type
            for node, _ in walk(*procedure.body)
            if isinstance(node, Variables)
            for item in node.declarations
        }
        expressions = Expressions(self.source, {**self.types, **locals_}, frozenset(locals_), self._procedures)
        body: Block | Numeric
        if procedure.kind == "cflow":
            cflow = CflowCompiler(expressions, self.hardware)
            body = cflow.block(cast("tuple[Cflow, ...]", procedure.body))
        else:
            exec_ = ExecCompiler(expressions, self.hardware, self.places, self._enter)
            body = exec_.block(cast("tuple[Exec, ...]", procedure.body))
        return self._callable(procedure, body)

    def _callable(self, procedure: Procedure, body: Block | Numeric) -> Callable[..., float]:
        names = tuple(parameter.name for parameter in procedure.parameters)
        cost, source = 4 * weight(procedure), self.source  # a call costs more than a turn

        def call(frame: Frame, arguments: tuple[float, ...], at: Position) -> float:
            frame.run.budget.spend(cost, source, at)
            frame.run.enter(source, at)
            own: dict[str, Value] = dict(zip(names, arguments, strict=True))
            result = body(Frame(frame.values, own, frame.run)) or 0.0
            frame.run.depth -= 1
            return result

        return call
