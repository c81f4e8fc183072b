"""Statements and objects compiled to closures that record steps, for a single host count.

It defines what a model means, and its errors name lines; start at `CompiledObject`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from cosched.evaluation.budget import fail
from cosched.evaluation.interpreter.invariance import repeatable, weight
from cosched.evaluation.interpreter.scalar_expressions import CflowCompiler, Expressions
from cosched.evaluation.interpreter.scalar_frame import ScalarFrame, ScalarRun
from cosched.language.syntax import Assign, Call, For, If, Return, Step, Variables, While, walk
from cosched.language.vocabulary import DEVICES, HARDWARE_OBJECT, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.scalar_frame import CompiledBlock, CompiledNumber, CompiledValue, ScalarValue
    from cosched.evaluation.sites import Sites
    from cosched.language.diagnostics import Source
    from cosched.language.linker import Linked
    from cosched.language.syntax import Cflow, Confdev, Exec, Link, Position, Procedure

__all__ = ["CompiledObject", "ExecCompiler", "compile_step"]

# ── Steps compiled: each use of a device becomes operations of the processors.


# Making an operation costs more memory than repeating one, and the budget bounds memory as well.
_NEW_OPERATION = 10


def compile_step(step: Step, expressions: Expressions, hardware: Hardware, places: Sites) -> CompiledBlock:
    """Compile a step to a closure that hands its operations to the recorder."""
    device = DEVICES[step.device]
    if not device.group:
        uses = [_compile_cpu(step, confdev, expressions, places.number(confdev)) for confdev in step.confdevs]
    else:
        source = expressions.source
        if device.group not in hardware.messages:
            fail(source, step.at, f"hardware {hardware.name} gives no costs of {device.group} messages")
        uses = [
            _compile_message(confdev, expressions, device.sends, places.number(confdev)) for confdev in step.confdevs
        ]
    if len(uses) == 1:
        return uses[0]

    def several(frame: ScalarFrame) -> None:
        for use in uses:
            use(frame)

    return several


def _compile_cpu(step: Step, confdev: Confdev, expressions: Expressions, place: int) -> Callable[[ScalarFrame], None]:
    source, at = expressions.source, step.at
    time = expressions.number(confdev.values[0])
    on = None if step.on is None else expressions.number(step.on)

    def cpu(frame: ScalarFrame) -> None:
        run, cost = frame.run, time(frame)
        if not 0 <= cost < math.inf:
            fail(source, confdev.at, f"a time of {cost:g} us: it must be finite and not negative")
        if on is None:
            processors = range(run.processors)
        else:
            processor = _processor(on(frame), run.processors, source, at)
            if processor is None:
                fail(source, at, "processor 0 stands for no processor: it cannot compute")
            processors = range(processor, processor + 1)
        run.budget.spend(_NEW_OPERATION * len(processors), source, at)
        run.recorder.compute(processors, cost, place)

    return cpu


def _compile_message(
    confdev: Confdev, expressions: Expressions, sends: bool, place: int
) -> Callable[[ScalarFrame], None]:
    source, at = expressions.source, confdev.at
    origin, destination, length = (expressions.number(value) for value in confdev.values)

    def message(frame: ScalarFrame) -> None:
        run, size = frame.run, length(frame)
        sender = _processor(origin(frame), run.processors, source, at)
        receiver = _processor(destination(frame), run.processors, source, at)
        if not 0 <= size < math.inf:
            fail(source, at, f"a message of {size:g} bytes: the size must be finite and not negative")
        run.budget.spend(_NEW_OPERATION, source, at)
        if sender is None or receiver is None:
            return
        if sends:
            run.recorder.send(sender, receiver, size, place)
        else:
            run.recorder.receive(sender, receiver, size, place)

    return message


def _processor(value: float, processors: int, source: Source, at: Position) -> int | None:
    """Return a processor counted from 0, or None for 0: no neighbour."""
    if not 0 <= value <= processors or value != int(value):
        fail(source, at, f"processor {value:g} does not exist: they are numbered 1 to {processors}")
    return int(value) - 1 if value else None


# ── exec procedures compiled to closures that emit steps.


class ExecCompiler:
    """Compiles the statements of one exec procedure for one hardware.

    Args:
        expressions: of the procedure.
        hardware: gives the costs of messages.
        places: numbers its steps.
        enter: evaluates an included object, by its name.
    """

    def __init__(
        self,
        expressions: Expressions,
        hardware: Hardware,
        places: Sites,
        enter: Callable[[str, ScalarFrame, Position], None],
    ) -> None:
        self._expressions = expressions
        self._source = expressions.source
        self._hardware = hardware
        self._places = places
        self._enter = enter

    def block(self, body: Sequence[Exec]) -> CompiledBlock:
        """Compile statements; the result stops at a `return`."""
        statements = tuple(self._statement(statement) for statement in body)
        if len(statements) == 1:
            return statements[0]

        def run(frame: ScalarFrame) -> float | None:
            for statement in statements:
                result = statement(frame)
                if result is not None:
                    return result
            return None

        return run

    def _statement(self, statement: Exec) -> CompiledBlock:
        match statement:
            case Variables():
                return self._variables(statement)
            case Assign():
                return self._assign(statement)
            case Call():
                return self._call(statement)
            case For():
                return self._for(statement)
            case While():
                return self._while(
                    statement.condition.at,
                    self._expressions.number(statement.condition),
                    self.block(statement.body),
                    weight(statement),
                )
            case If():
                return self._if(statement)
            case Return():
                return self._return(statement)
            case Step():
                return compile_step(statement, self._expressions, self._hardware, self._places)

    def _variables(self, statement: Variables) -> CompiledBlock:
        return self.block(
            [
                Assign(declared.at, declared.name, declared.value)
                for declared in statement.declarations
                if declared.value is not None
            ]
        )

    def _assign(self, statement: Assign) -> CompiledBlock:
        name = statement.name
        value = self._expressions.of_type(statement.value, self._expressions.types[name])
        own = name in self._expressions.own

        def assign(frame: ScalarFrame) -> None:
            (frame.locals if own else frame.values)[name] = value(frame)

        return assign

    def _call(self, statement: Call) -> CompiledBlock:
        name, at, procedures, enter = statement.name, statement.at, self._expressions.procedures, self._enter
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]

        def call(frame: ScalarFrame) -> None:
            if name in procedures:
                procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
            else:
                enter(name, frame, at)

        return call

    def _for(self, statement: For) -> CompiledBlock:
        start, advance = self._assign(statement.start), self._assign(statement.advance)
        condition, body = self._expressions.number(statement.condition), self.block(statement.body)
        source, at, cost = self._source, statement.at, weight(statement)
        if not repeatable(statement):
            loop = self._while(at, condition, _both(body, advance), cost)

            def counted(frame: ScalarFrame) -> float | None:
                start(frame)
                return loop(frame)

            return counted

        def repeated(frame: ScalarFrame) -> None:
            """Emit the steps of one turn as often as the loop turns: they are the same in each."""
            start(frame)
            if not condition(frame):
                return
            budget, operations = frame.run.budget, frame.run.recorder.operations
            before = len(operations)
            body(frame)
            turn = operations[before:]
            advance(frame)
            while condition(frame):
                budget.spend(1 + len(turn), source, at)
                operations += turn
                advance(frame)

        return repeated

    def _while(self, at: Position, condition: CompiledNumber, body: CompiledBlock, cost: int) -> CompiledBlock:
        source = self._source

        def loop(frame: ScalarFrame) -> float | None:
            budget = frame.run.budget
            while condition(frame):
                budget.spend(cost, source, at)
                result = body(frame)
                if result is not None:
                    return result
            return None

        return loop

    def _if(self, statement: If) -> CompiledBlock:
        condition = self._expressions.number(statement.condition)
        then, otherwise = self.block(statement.then), self.block(statement.otherwise)
        return lambda frame: then(frame) if condition(frame) else otherwise(frame)

    def _return(self, statement: Return) -> CompiledBlock:
        if statement.value is None:
            return lambda _: 0.0
        return self._expressions.number(statement.value)


def _both(first: CompiledBlock, second: CompiledBlock) -> CompiledBlock:
    def run(frame: ScalarFrame) -> float | None:
        result = first(frame)
        return second(frame) if result is None else result

    return run


# ── Objects compiled for one hardware, and evaluated: links, init, calls downwards.


class CompiledObject:
    """An object and those below it, ready to be evaluated any number of times.

    Args:
        linked: the object and what it includes.
        hardware: whose costs are compiled in.
        places: numbers the steps of all of them.
        others: objects compiled so far; an object that two others include is compiled once.
    """

    def __init__(self, linked: Linked, hardware: Hardware, places: Sites, others: dict[Linked, CompiledObject]) -> None:
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
        self._procedures: dict[str, Callable[[ScalarFrame, tuple[float, ...], Position], float]] = {}
        self._expressions = Expressions(self.source, self.types, frozenset(), self._procedures)
        self.initial: list[tuple[str, CompiledValue | None]] = [
            (declared.name, None if declared.value is None else self._expressions.of_type(declared.value, group.type))
            for group in item.variables
            for declared in group.declarations
        ]
        for procedure in item.procedures:
            self._procedures[procedure.name] = self._procedure(procedure)
        self._links: dict[str, list[tuple[str, CompiledValue, Position]]] = {}
        for link in item.links:
            self._link(link)
        self._automatic = self._templates()

    def start(self, run: ScalarRun, given: Mapping[str, ScalarValue]) -> ScalarFrame:
        """Return a frame with every variable that has a value before `init`: given, or as declared."""
        frame = ScalarFrame({PROCESSORS: float(run.processors), **given}, {}, run)
        for name, value in self.initial:
            if value is not None and name not in given and name != PROCESSORS:
                frame.values[name] = value(frame)
        return frame

    def run(self, frame: ScalarFrame) -> list[Steps]:
        """Run `init`, then the templates of a subtask that calls none itself."""
        run = frame.run
        if "init" in self._procedures:
            self._procedures["init"](frame, (), self.object.at)
        for name in self._automatic:
            self._enter(name, frame, self.object.at)
        run.flush()
        return run.program

    def linked(self, target: str, frame: ScalarFrame) -> dict[str, ScalarValue]:
        """Return the variables that this object sets in an included one."""
        return {name: value(frame) for name, value, _ in self._links.get(target, ())}

    def option(self, name: str) -> tuple[CompiledNumber, Position] | None:
        """Return a numeric option, if this object has it."""
        found = self.object.option(name)
        return None if found is None else (self._expressions.number(found.value), found.value.at)

    def hardware_processors(self) -> tuple[CompiledValue, Position] | None:
        """Return what this object links as the number of processors, if it does."""
        found = [(value, at) for name, value, at in self._links.get(HARDWARE_OBJECT, ()) if name == PROCESSORS]
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

    def _enter(self, name: str, frame: ScalarFrame, at: Position) -> None:
        """Evaluate an included object after what this one did so far."""
        run, below = frame.run, self.below[name]
        run.budget.spend(20, self.source, at)
        run.flush()
        given = self.linked(name, frame)
        programs = run.programs
        key = (id(below), tuple(given.items()))
        program = programs.known.get(key)
        if program is None:
            program = programs.known[key] = below.run(below.start(ScalarRun(programs, run.depth), given))
        run.budget.spend(len(program), self.source, at)
        run.program.extend(program)

    def _procedure(self, procedure: Procedure) -> Callable[[ScalarFrame, tuple[float, ...], Position], float]:
        locals_ = {parameter.name: parameter.type for parameter in procedure.parameters}
        locals_ |= {
            item.name: node.type
            for node, _ in walk(*procedure.body)
            if isinstance(node, Variables)
            for item in node.declarations
        }
        expressions = Expressions(self.source, {**self.types, **locals_}, frozenset(locals_), self._procedures)
        body: CompiledBlock | CompiledNumber
        if procedure.kind == "cflow":
            cflow = CflowCompiler(expressions, self.hardware)
            body = cflow.block(cast("tuple[Cflow, ...]", procedure.body))
        else:
            exec_ = ExecCompiler(expressions, self.hardware, self.places, self._enter)
            body = exec_.block(cast("tuple[Exec, ...]", procedure.body))
        return self._callable(procedure, body)

    def _callable(self, procedure: Procedure, body: CompiledBlock | CompiledNumber) -> Callable[..., float]:
        names = tuple(parameter.name for parameter in procedure.parameters)
        cost, source = 4 * weight(procedure), self.source  # a call costs more than a turn

        def call(frame: ScalarFrame, arguments: tuple[float, ...], at: Position) -> float:
            frame.run.budget.spend(cost, source, at)
            frame.run.enter(source, at)
            own: dict[str, ScalarValue] = dict(zip(names, arguments, strict=True))
            result = body(ScalarFrame(frame.values, own, frame.run)) or 0.0
            frame.run.depth -= 1
            return result

        return call
