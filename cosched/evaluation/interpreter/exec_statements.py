"""Statements of exec procedures compiled to closures that run on one lane or on many.

Lanes that differ in a condition go separate ways and are merged again. A new statement is a case here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from cosched.evaluation.budget import LanesDifferError, TooManyStepsError
from cosched.evaluation.interpreter.frame import Parted, agreed
from cosched.evaluation.interpreter.invariance import repeatable, weight, written
from cosched.evaluation.interpreter.lanes import as_lanes
from cosched.evaluation.interpreter.loop_analysis import counted_loop, same_turns
from cosched.language.syntax import Assign, Call, For, If, Return, Step, Variables, While, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.interpreter.device_steps import StepCompiler
    from cosched.evaluation.interpreter.expressions import Expressions
    from cosched.evaluation.interpreter.frame import CompiledBlock, CompiledNumber, Floats, Frame, LaneNumber
    from cosched.evaluation.interpreter.invariance import Written
    from cosched.evaluation.interpreter.loop_analysis import CountedLoop
    from cosched.language.syntax import Exec, Link, Position

    Indices = NDArray[np.int64]
    _Statement = Callable[[Frame], "LaneNumber | Parted | None"]

__all__ = ["ExecCompiler"]

_SEGMENTS_A_STEP = 4  # of the budget, for segments that are only listed again


class ExecCompiler:
    """Compiles the statements of one exec procedure.

    Args:
        expressions: expressions of the procedure.
        steps: compiles its steps.
        enter: evaluates an included object, by its name.
        links: set variables of these objects.
    """

    def __init__(
        self,
        expressions: Expressions,
        steps: StepCompiler,
        enter: Callable[[str, Frame, Position], None],
        links: Sequence[Link] = (),
    ) -> None:
        self._expressions = expressions
        self._source = expressions.source
        self._steps = steps
        self._enter = enter
        self._links = links

    def block(self, body: Sequence[Exec]) -> CompiledBlock:
        """Compile statements; the result stops at a `return`."""
        compiled = tuple(self._statement(statement) for statement in body)
        if not any(isinstance(statement, If) and _returns(statement) for statement in body):
            return self._sequence(cast("tuple[CompiledBlock, ...]", compiled))
        assigned = cache(lambda: self._written(body))

        def after(place: int) -> CompiledBlock:
            return lambda frame: run(frame, place + 1)

        def run(frame: Frame, first: int = 0) -> LaneNumber | None:
            for place in range(first, len(compiled)):
                result = compiled[place](frame)
                if isinstance(result, Parted):
                    return result.finish(after(place), assigned())
                if result is not None:
                    return result
            return None

        return run

    @staticmethod
    def _sequence(compiled: Sequence[CompiledBlock]) -> CompiledBlock:
        if len(compiled) == 1:
            return compiled[0]

        def run(frame: Frame) -> LaneNumber | None:
            for statement in compiled:
                result = statement(frame)
                if result is not None:
                    return result
            return None

        return run

    def _written(self, statements: Sequence[Exec]) -> Written:
        return written(statements, self._expressions.own, self._expressions.trees)

    def _statement(self, statement: Exec) -> _Statement:
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
                condition, body = self._expressions.number(statement.condition), self.block(statement.body)
                assigned = cache(lambda: self._written([statement]))
                return self._turns(statement.condition.at, condition, body, weight(statement), assigned)
            case If():
                return self._if(statement)
            case Return():
                return self._return(statement)
            case Step():
                return self._steps.step(statement)

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
        if name in self._expressions.own:

            def assign_own(frame: Frame) -> None:
                frame.locals[name] = value(frame)

            return assign_own

        def assign(frame: Frame) -> None:
            frame.values[name] = value(frame)

        return assign

    def _call(self, statement: Call) -> CompiledBlock:
        name, at, procedures, enter = statement.name, statement.at, self._expressions.procedures, self._enter
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]

        def call(frame: Frame) -> None:
            if name in procedures:
                procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
            else:
                enter(name, frame, at)

        return call

    def _return(self, statement: Return) -> CompiledBlock:
        if statement.value is None:
            return lambda _: 0.0
        return self._expressions.number(statement.value)

    # Branches

    def _if(self, statement: If) -> _Statement:
        condition = self._expressions.number(statement.condition)
        then, otherwise = self.block(statement.then), self.block(statement.otherwise)
        assigned = cache(lambda: self._written((*statement.then, *statement.otherwise)))

        def branch(frame: Frame) -> LaneNumber | Parted | None:
            holds = condition(frame)
            if not isinstance(holds, np.ndarray):
                return then(frame) if holds else otherwise(frame)
            chosen = agreed(holds)
            if isinstance(chosen, bool):
                return then(frame) if chosen else otherwise(frame)
            parts = []
            for way, index in ((then, np.flatnonzero(chosen)), (otherwise, np.flatnonzero(~chosen))):
                inside = frame.pick(index)
                parts.append((inside, index, way(inside)))
            if any(result is not None for _, _, result in parts):
                return Parted(frame, parts)
            frame.merge([(inside, index) for inside, index, _ in parts], assigned())
            return None

        return branch

    # Loops

    def _for(self, statement: For) -> CompiledBlock:
        start, advance = self._assign(statement.start), self._assign(statement.advance)
        condition, body = self._expressions.number(statement.condition), self.block(statement.body)
        source, at, cost = self._source, statement.at, weight(statement)
        assigned = cache(lambda: self._written([statement]))
        loop = self._turns(at, condition, self._sequence((body, advance)), cost, assigned)
        together, same = cache(lambda: self._side_by_side(statement, body)), repeatable(statement)

        def turns(frame: Frame) -> LaneNumber | None:
            if frame.run.expand:
                carry_out = together()
                if carry_out is not None and carry_out(frame):
                    return None
            elif same:
                repeated(frame)
                return None
            start(frame)
            return loop(frame)

        def repeated(frame: Frame) -> None:
            """Emit the steps of one turn for every turn, as all are the same."""
            start(frame)
            if not condition(frame):
                return
            budget, operations = frame.run.budget, frame.lanes.collector.pending
            before = len(operations)
            body(frame)
            turn = operations[before:]
            advance(frame)
            while condition(frame):
                budget.spend(1 + len(turn), source, at)
                operations += turn
                advance(frame)

        return turns

    def _turns(
        self,
        at: Position,
        condition: CompiledNumber,
        body: CompiledBlock,
        cost: int,
        assigned: Callable[[], Written],
    ) -> CompiledBlock:
        """Compile a loop that goes turn by turn, on the lanes still in it."""
        source = self._source

        def loop(frame: Frame) -> LaneNumber | None:
            budget = frame.run.budget
            while True:
                holds = condition(frame)
                if isinstance(holds, np.ndarray):
                    chosen = agreed(holds)
                    if not isinstance(chosen, bool):
                        break
                    holds = float(chosen)
                if not holds:
                    return None
                budget.spend(cost, source, at)
                result = body(frame)
                if result is not None:
                    return result
            some(frame, np.flatnonzero(chosen))
            return None

        def some(frame: Frame, index: Indices) -> None:
            """Continue with the lanes where the condition holds; the others do not evaluate it again."""
            while len(index):
                frame.run.budget.spend(cost, source, at)
                inside = frame.pick(index)
                if body(inside) is not None:
                    raise LanesDifferError
                holds = np.not_equal(condition(inside), 0)
                frame.merge([(inside, index)], assigned())
                index = index[np.broadcast_to(holds, index.shape)]

        return loop

    def _side_by_side(self, statement: For, body: CompiledBlock) -> Callable[[Frame], bool] | None:
        """Compile a loop with independent turns; None where they depend on one another.

        The result carries the loop out, or returns False where that takes turn by turn.
        """
        procedures = self._expressions.trees
        counted = counted_loop(statement, procedures)
        if counted is not None:
            bounds, alike = _Bounds.compile(counted, self._expressions), repeatable(statement)
            return lambda frame: self._expand(frame, counted, bounds, body, alike=alike)
        # A link may read a variable of the object, but none of the procedure.
        same = same_turns(statement, procedures, self._links) if statement.start.name in self._expressions.own else None
        if same is None:
            return None
        limits = _Bounds.compile(same, self._expressions)

        def repeat(frame: Frame) -> bool:
            if frame.lanes is not frame.run.lanes:
                return False
            trips = limits.trips(frame)
            if not (trips == trips[0]).all():
                return False
            self._repeat(frame, statement, int(trips[0]), body)
            frame.locals[same.name] = limits.start(frame) + limits.stride(frame) * float(trips[0])
            return True

        return repeat

    def _repeat(self, frame: Frame, statement: For, turns: int, body: CompiledBlock) -> None:
        """Execute a body once and count its steps for each of its equal turns."""
        run = frame.run
        if turns > 0:
            run.flush()
            before = len(run.program)
            body(frame)
            turn = run.program[before:]
            run.budget.spend(len(turn) * turns // _SEGMENTS_A_STEP, self._source, statement.at)
            if turn:  # nothing may be repeated more often than a list could be
                run.program.extend(turn * (turns - 1))

    def _expand(self, frame: Frame, parts: CountedLoop, bounds: _Bounds, body: CompiledBlock, *, alike: bool) -> bool:
        """Carry out all turns of a loop at once, each as a separate lane."""
        lanes, own, trips = frame.lanes, parts.name in self._expressions.own, bounds.trips(frame)
        if trips.sum() > lanes.collector.most:
            raise TooManyStepsError
        turns = trips.astype(np.int64)
        start, stride = bounds.start(frame), bounds.stride(frame)
        index = np.flatnonzero(turns) if alike else np.repeat(np.arange(lanes.size), turns)
        if len(index):
            collector = lanes.collector.inner(len(index))
            inside = frame.pick(index, collector)
            if not alike:
                turn = np.arange(len(index)) - (np.cumsum(turns) - turns).take(index)
                first, step = (
                    value.take(index) if isinstance(value, np.ndarray) else value for value in (start, stride)
                )
                (inside.locals if own else inside.values)[parts.name] = first + step * turn
            if body(inside) is not None:
                raise LanesDifferError
            lanes.collector.nest(collector, lanes.slots(index), turns[index] if alike else None)
            for name in parts.written - {parts.name}:
                frame.drop(name, own=name in self._expressions.own)
        after = as_lanes(start + stride * trips, lanes.size)
        (frame.locals if own else frame.values)[parts.name] = float(after[0]) if len(after) == 1 else after
        return True


class _Bounds(NamedTuple):
    """The compiled parts of a counted loop, see `CountedLoop`."""

    start: CompiledNumber
    shift: CompiledNumber | None
    end: CompiledNumber
    closed: bool
    stride: CompiledNumber

    @classmethod
    def compile(cls, parts: CountedLoop, expressions: Expressions) -> _Bounds:
        shift = None if parts.shift is None else expressions.number(parts.shift)
        start, end, stride = (expressions.number(part) for part in (parts.start, parts.end, parts.stride))
        return cls(start, shift, end, parts.closed, stride)

    def trips(self, frame: Frame) -> Floats:
        """Return how many turns the loop has on each lane, whole numbers."""
        start, stride, end = self.start(frame), self.stride(frame), self.end(frame)
        if self.shift is not None:
            shift = self.shift(frame)
            _require_whole(shift)
            end = end - shift
        _require_whole(start)
        _require_whole(stride)
        if np.any(np.less_equal(stride, 0)):
            raise LanesDifferError
        last = np.floor(end) if self.closed else np.ceil(end) - 1
        trips = as_lanes(np.maximum(np.floor((last - start) / stride) + 1, 0), frame.lanes.size)
        if not np.isfinite(trips).all():
            raise LanesDifferError
        return trips


def _returns(statement: Exec) -> bool:
    return any(isinstance(node, Return) for node, _ in walk(statement))


def _require_whole(value: LaneNumber) -> None:
    """Refuse numbers with inexact sums."""
    if not isinstance(value, np.ndarray):
        if not (value.is_integer() and abs(value) <= 2**52):
            raise LanesDifferError
    elif np.any(np.not_equal(value, np.floor(value))) or np.any(np.greater(np.abs(value), 2**52)):
        raise LanesDifferError
