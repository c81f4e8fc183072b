"""exec procedures compiled to closures that emit steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.devices import compile_step
from cosched.evaluation.invariance import repeatable, weight
from cosched.language.syntax import Assign, Call, For, If, Return, Step, Variables, While

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.evaluation.expressions import Expressions
    from cosched.evaluation.frame import Block, Frame, Numeric
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.places import Places
    from cosched.language.syntax import Exec, Position

__all__ = ["ExecCompiler"]


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
        places: Places,
        enter: Callable[[str, Frame, Position], None],
    ) -> None:
        self._expressions = expressions
        self._source = expressions.source
        self._hardware = hardware
        self._places = places
        self._enter = enter

    def block(self, body: Sequence[Exec]) -> Block:
        """Compile statements; the result stops at a `return`."""
        statements = tuple(self._statement(statement) for statement in body)
        if len(statements) == 1:
            return statements[0]

        def run(frame: Frame) -> float | None:
            for statement in statements:
                result = statement(frame)
                if result is not None:
                    return result
            return None

        return run

    def _statement(self, statement: Exec) -> Block:
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

    def _variables(self, statement: Variables) -> Block:
        return self.block(
            [
                Assign(declared.at, declared.name, declared.value)
                for declared in statement.declarations
                if declared.value is not None
            ]
        )

    def _assign(self, statement: Assign) -> Block:
        name = statement.name
        value = self._expressions.of_type(statement.value, self._expressions.types[name])
        own = name in self._expressions.own

        def assign(frame: Frame) -> None:
            (frame.locals if own else frame.values)[name] = value(frame)

        return assign

    def _call(self, statement: Call) -> Block:
        name, at, procedures, enter = statement.name, statement.at, self._expressions.procedures, self._enter
        arguments = [self._expressions.number(argument) for argument in statement.arguments or ()]

        def call(frame: Frame) -> None:
            if name in procedures:
                procedures[name](frame, tuple(argument(frame) for argument in arguments), at)
            else:
                enter(name, frame, at)

        return call

    def _for(self, statement: For) -> Block:
        start, advance = self._assign(statement.start), self._assign(statement.advance)
        condition, body = self._expressions.number(statement.condition), self.block(statement.body)
        source, at, cost = self._source, statement.at, weight(statement)
        if not repeatable(statement):
            loop = self._while(at, condition, _both(body, advance), cost)

            def counted(frame: Frame) -> float | None:
                start(frame)
                return loop(frame)

            return counted

        def repeated(frame: Frame) -> None:
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

    def _while(self, at: Position, condition: Numeric, body: Block, cost: int) -> Block:
        source = self._source

        def loop(frame: Frame) -> float | None:
            budget = frame.run.budget
            while condition(frame):
                budget.spend(cost, source, at)
                result = body(frame)
                if result is not None:
                    return result
            return None

        return loop

    def _if(self, statement: If) -> Block:
        condition = self._expressions.number(statement.condition)
        then, otherwise = self.block(statement.then), self.block(statement.otherwise)
        return lambda frame: then(frame) if condition(frame) else otherwise(frame)

    def _return(self, statement: Return) -> Block:
        if statement.value is None:
            return lambda _: 0.0
        return self._expressions.number(statement.value)


def _both(first: Block, second: Block) -> Block:
    def run(frame: Frame) -> float | None:
        result = first(frame)
        return second(frame) if result is None else result

    return run
