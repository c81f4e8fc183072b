"""Procedures on lanes: statements carried out for many numbers of hosts, or many turns of a loop, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.arrays import evaluate_expression, number
from cosched.evaluation.lane_steps import emit
from cosched.evaluation.lanes import TooManyStepsError, UnbatchableError, spread
from cosched.language.syntax import Assign, Call, For, If, Return, Step, Variables, While

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.batch import LaneObject
    from cosched.evaluation.expansion import Counted
    from cosched.evaluation.lanes import Lanes, Value
    from cosched.language.syntax import Exec, Expression

    Floats = NDArray[np.float64]
    Result = float | Floats | None

__all__ = ["LaneProcedure"]


class LaneProcedure:
    """One procedure on some lanes: its own variables are kept under keys with a prefix."""

    def __init__(self, evaluation: LaneObject, lanes: Lanes, own: frozenset[str], prefix: str) -> None:
        self.evaluation = evaluation
        self.batch = evaluation.batch
        self.lanes = lanes
        self.own = own
        self.prefix = prefix

    def on(self, lanes: Lanes) -> LaneProcedure:
        """Return the same procedure on other lanes."""
        return LaneProcedure(self.evaluation, lanes, self.own, self.prefix)

    def key(self, name: str) -> str:
        """Return under which name the lanes keep a variable."""
        return self.prefix + name if name in self.own else name

    def write(self, name: str, value: Value) -> None:
        """Give a variable a value on all lanes."""
        self.evaluation.writes += name not in self.own
        self.lanes.values[self.key(name)] = value

    def read(self, name: str) -> float | str | Floats:
        """Return the value of a variable."""
        return self.lanes.get(self.key(name))

    def invoke(self, name: str, arguments: list[float | Floats]) -> float | Floats:
        """Call a procedure of the object."""
        return self.evaluation.call(self.evaluation.procedures[name], arguments, self.lanes)

    def value(self, expression: Expression) -> float | str | Floats:
        """Return the value of an expression."""
        return evaluate_expression(expression, self.read, self.invoke)

    def number(self, expression: Expression) -> float | Floats:
        """Return the value of a numeric expression."""
        return number(expression, self.read, self.invoke)

    # exec

    def block(self, statements: Sequence[Exec]) -> Result:
        """Carry statements out; return what the procedure returns, None where it goes on."""
        for place, statement in enumerate(statements):
            self.batch.spend()
            match statement:
                case Return():
                    return 0.0 if statement.value is None else self.number(statement.value)
                case If():
                    chosen = _agreed(self.number(statement.condition))
                    if not isinstance(chosen, bool) and self.batch.analysis.returns(statement):
                        rest = tuple(statements[place + 1 :])
                        return self.parted(chosen, statement.then + rest, statement.otherwise + rest)
                    result = self.chosen(statement, chosen)
                    if result is not None:
                        return result
                case _:
                    self.statement(statement)
        return None

    def statement(self, statement: Exec) -> None:
        """Carry out a statement that cannot return."""
        match statement:
            case Assign():
                self.write(statement.name, self.value(statement.value))
            case Variables():
                for item in statement.declarations:
                    if item.value is not None:
                        self.write(item.name, self.value(item.value))
            case Step():
                emit(self, statement)
            case For():
                self.loop(statement)
            case While():
                self.turns(statement.condition, statement.body, None)
            case Call():
                self.called(statement)

    def chosen(self, statement: If, chosen: bool | NDArray[np.bool_]) -> Result:
        """Carry out the branch of each lane."""
        if isinstance(chosen, bool):
            return self.block(statement.then if chosen else statement.otherwise)
        self.masked(chosen, statement.then)
        self.masked(~chosen, statement.otherwise)
        return None

    def parted(self, chosen: NDArray[np.bool_], then: Sequence[Exec], otherwise: Sequence[Exec]) -> Result:
        """Go on in two ways, each with its own return."""
        self.contained((*then, *otherwise))
        if any(self.batch.analysis.assigned(item) - self.own for item in (*then, *otherwise)):
            raise UnbatchableError
        parts = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        results = [
            self.on(self.lanes.pick(part)).block(way) for part, way in zip(parts, (then, otherwise), strict=True)
        ]
        if results[0] is None and results[1] is None:
            return None
        both = np.zeros(self.lanes.size)
        for part, result in zip(parts, results, strict=True):
            if result is None:
                raise UnbatchableError
            both[part] = result
        return both

    def contained(self, statements: Sequence[Exec]) -> None:
        """Refuse statements that call what assigns variables of the object: some lanes would not have them."""
        if any(self.batch.analysis.meddles(item, self.evaluation.procedures) for item in statements):
            raise UnbatchableError

    def masked(self, chosen: NDArray[np.bool_], statements: Sequence[Exec]) -> None:
        """Carry statements out on some lanes only, and merge what they assign."""
        if not statements:
            return
        self.contained(statements)
        index = np.flatnonzero(chosen)
        inside = self.on(self.lanes.pick(index))
        if inside.block(statements) is not None:
            raise UnbatchableError
        written = frozenset[str]().union(*map(self.batch.analysis.assigned, statements))
        for name in written:
            new, old = inside.lanes.look(self.key(name)), self.lanes.look(self.key(name))
            if new is None or old is None or isinstance(new, str) or isinstance(old, str):
                # Not to be read before all lanes have it again.
                self.write(name, None)
            else:
                merged = spread(old, self.lanes.size).copy()
                merged[index] = new
                self.write(name, float(merged[0]) if (merged == merged[0]).all() else merged)

    def called(self, statement: Call) -> None:
        """Carry out a call of a procedure or of another object."""
        procedure = self.evaluation.procedures.get(statement.name)
        if procedure is None:
            self.evaluation.enter(statement.name, self.lanes)
            return
        self.evaluation.call(procedure, [self.number(item) for item in statement.arguments or ()], self.lanes)

    def loop(self, statement: For) -> None:
        """Carry out a loop: all turns at once where they allow it."""
        analysis, procedures = self.batch.analysis, self.evaluation.procedures
        parts = analysis.loop(statement, procedures)
        if parts is not None:
            self.side_by_side(statement, parts)
            return
        # A link may read a variable of the object, but none of the procedure.
        parts = analysis.same_turns(statement, procedures) if statement.start.name in self.own else None
        if parts is not None and self.lanes is self.evaluation.lanes:
            trips = self.trips(parts)
            if (trips == trips[0]).all():
                self.evaluation.repeat(self, statement.body, int(trips[0]))
                self.write(parts.name, self.number(parts.start) + self.number(parts.stride) * float(trips[0]))
                return
        self.write(statement.start.name, self.value(statement.start.value))
        self.turns(statement.condition, statement.body, statement.advance)

    def turns(self, condition: Expression, body: Sequence[Exec], advance: Assign | None) -> None:
        """Carry a loop out turn by turn, on the lanes that are still in it."""
        whole = tuple(body) if advance is None else (*body, advance)
        while True:
            self.batch.spend()
            inside = _agreed(self.number(condition))
            if inside is False:
                return
            if inside is not True:
                self.masked(inside, whole)
            elif self.block(whole) is not None:
                raise UnbatchableError

    def trips(self, parts: Counted) -> Floats:
        """Return how many turns a loop has on each lane."""
        start, stride, end = self.number(parts.start), self.number(parts.stride), self.number(parts.end)
        if parts.shift is not None:
            shift = self.number(parts.shift)
            _whole(shift)
            end = end - shift
        _whole(start)
        _whole(stride)
        if np.any(np.less_equal(stride, 0)):
            raise UnbatchableError
        last = np.floor(end) if parts.closed else np.ceil(end) - 1
        return spread(np.maximum(np.floor((last - start) / stride) + 1, 0), self.lanes.size)

    def side_by_side(self, statement: For, parts: Counted) -> None:
        """Carry out all turns of a loop at once: each turn of each lane is a lane of its own, or all that are alike."""
        lanes, trips = self.lanes, self.trips(parts)
        if trips.sum() > lanes.collector.most:
            raise TooManyStepsError
        number_of_turns = trips.astype(np.int64)
        alike = self.batch.analysis.repeats(statement)
        index = np.flatnonzero(number_of_turns) if alike else np.repeat(np.arange(lanes.size), number_of_turns)
        if len(index):
            collector = lanes.collector.inner(len(index))
            turns = lanes.pick(index, collector)
            if not alike:
                turn = np.arange(len(index)) - (np.cumsum(number_of_turns) - number_of_turns).take(index)
                start, stride = (
                    value.take(index) if isinstance(value, np.ndarray) else value
                    for value in (self.number(parts.start), self.number(parts.stride))
                )
                turns.values[self.key(parts.name)] = start + stride * turn
            if self.on(turns).block(statement.body) is not None:
                raise UnbatchableError
            lanes.collector.nest(collector, lanes.slots(index), number_of_turns[index] if alike else None)
        for name in parts.written:
            self.write(name, None)


def _agreed(condition: float | Floats) -> bool | NDArray[np.bool_]:
    """Return whether a condition holds: for each lane, or at once where they agree."""
    if not isinstance(condition, np.ndarray):
        return condition != 0
    holds = condition != 0
    every = bool(holds.all())
    return every if every or not holds.any() else holds


def _whole(value: float | Floats) -> None:
    if type(value) is float:
        if not (value.is_integer() and abs(value) <= 2**52):
            raise UnbatchableError
    elif np.any(np.not_equal(value, np.floor(value))) or np.any(np.greater(np.abs(value), 2**52)):
        raise UnbatchableError
