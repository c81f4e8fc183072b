"""Objects evaluated for many numbers of hosts at once.

Walks the same checked tree that the statement-by-statement evaluator compiles, with arrays in place of numbers; what it
cannot do it leaves to that one by `UnbatchableError`. The meaning of a model is what that one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.arrays import evaluate_expression, number
from cosched.evaluation.collector import Collector
from cosched.evaluation.lanes import Lanes, TooManyStepsError, UnbatchableError, spread
from cosched.evaluation.steps import COMPUTE, RECEIVE, SEND
from cosched.language.names import DEVICES, PROCESSORS
from cosched.language.syntax import (
    Assign,
    Call,
    Case,
    Compute,
    For,
    If,
    Loop,
    MeasuredUsage,
    Return,
    Step,
    Variables,
    While,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.expansion import Analysis, Counted
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.lanes import Value
    from cosched.evaluation.places import Places
    from cosched.evaluation.steps import Steps
    from cosched.language.linker import Linked
    from cosched.language.names import Device
    from cosched.language.syntax import Cflow, Exec, Expression, Object, Procedure, Usage

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Result = float | Floats | None

__all__ = ["Batch"]

_DEEPEST = 20

# Above this a model is likely not to end; less than a second.
_MOST_STATEMENTS = 200_000


class Batch:
    """What all objects of one evaluation share.

    Args:
        analysis: of the application's statements.
        places: numbers its steps.
        hardware: whose costs are used.
        hosts: processors of each number of hosts, shape (counts,).
        steps: most steps of a segment.
    """

    def __init__(self, analysis: Analysis, places: Places, hardware: Hardware, hosts: Indices, steps: int) -> None:
        self.analysis = analysis
        self.places = places
        self.hardware = hardware
        self.hosts = hosts
        self.offset = np.cumsum(hosts) - hosts
        self.processors = int(hosts.sum())
        self.most_steps = steps
        self._left = _MOST_STATEMENTS
        self._programs: dict[tuple[object, ...], tuple[object, list[Steps]]] = {}

    def spend(self, statements: int = 1) -> None:
        """Count statements off; an evaluation that never ends is the other evaluator's to report."""
        self._left -= statements
        if self._left < 0:
            raise UnbatchableError

    def run(self, linked: Linked, values: Mapping[str, Value], hosts: Indices, offset: Indices) -> list[Steps]:
        """Evaluate an object whose variables have the values before `init`; return what it does."""
        return _Evaluation(self, linked, hosts, offset, values).program()

    def below(self, linked: Linked, given: Mapping[str, Value], lanes: Lanes) -> list[Steps]:
        """Evaluate an included object, or remember what it did with the same variables on the same lanes."""
        values = [(name, id(value) if isinstance(value, np.ndarray) else value) for name, value in given.items()]
        key = (id(linked), id(lanes.hosts), id(lanes.offset), *values)
        known = self._programs.get(key)
        if known is None:
            evaluation = _Evaluation(self, linked, lanes.hosts, lanes.offset, given)
            evaluation.start(given)
            # What the key identifies by its address is kept alive with it.
            known = self._programs[key] = ((lanes.hosts, lanes.offset, given), evaluation.program())
        return known[1]


class _Evaluation:
    """One object being evaluated on its lanes."""

    def __init__(self, batch: Batch, linked: Linked, hosts: Indices, offset: Indices,
                 values: Mapping[str, Value]) -> None:  # fmt: skip
        self.batch = batch
        self.linked = linked
        self.object: Object = linked.object
        self.procedures = {procedure.name: procedure for procedure in self.object.procedures}
        self._links: dict[str, tuple[tuple[object, ...], dict[str, Value]]] = {}
        self._program: list[Steps] = []
        self._depth = 0
        self.collector = Collector(batch.most_steps, len(hosts))
        self.lanes = Lanes(hosts, offset, self.collector)
        self.lanes.values.update(values)
        count = hosts.astype(np.float64)
        self.lanes.values.setdefault(PROCESSORS, float(count[0]) if len(count) == 1 else count)

    def start(self, given: Mapping[str, Value]) -> None:
        """Give the variables that were not linked their defaults."""
        procedure = _Procedure(self, self.lanes, frozenset(), "")
        for group in self.object.variables:
            for declared in group.declarations:
                if declared.value is not None and declared.name not in given and declared.name != PROCESSORS:
                    self.lanes.values[declared.name] = procedure.value(declared.value)

    def program(self) -> list[Steps]:
        if "init" in self.procedures:
            self.call(self.procedures["init"], [], self.lanes)
        calls = {node.name for procedure in self.object.procedures for node, _ in walk(*procedure.body)
                 if isinstance(node, Call)}  # fmt: skip
        if self.object.kind == "subtask" and not calls & set(self.linked.includes):
            for name, other in self.linked.includes.items():
                if other.object.kind == "partmp":
                    self.enter(name, self.lanes)
        self.flush()
        return self._program

    def flush(self) -> None:
        steps = self.collector.steps(self.batch.processors)
        if steps is not None:
            self._program.append(steps)
            self.collector = self.lanes.collector = Collector(self.batch.most_steps, self.lanes.size)

    def enter(self, name: str, lanes: Lanes) -> None:
        """Evaluate an included object after what this one did so far."""
        if lanes is not self.lanes:
            raise UnbatchableError
        self.flush()
        state = tuple(lanes.look(variable) for variable in (PROCESSORS, *self.object.declared()))
        links = self._links.get(name)
        if links is None or not all(a is b for a, b in zip(links[0], state, strict=True)):
            procedure = _Procedure(self, lanes, frozenset(), "")
            given = {assign.name: procedure.value(assign.value) for link in self.object.links
                     if link.target == name for assign in link.assigns}  # fmt: skip
            links = self._links[name] = (state, cast("dict[str, Value]", given))
        program = self.batch.below(self.linked.includes[name], links[1], lanes)
        self.batch.spend(1 + len(program))
        self._program.extend(program)

    def call(self, procedure: Procedure, arguments: list[float | Floats], lanes: Lanes) -> float | Floats:
        self.batch.spend(4)
        if self._depth >= _DEEPEST:
            raise UnbatchableError
        self._depth += 1
        own = self.batch.analysis.own(procedure)
        inside = _Procedure(self, lanes, own, f"{self._depth} ")
        for name in own:
            lanes.values[inside.key(name)] = None
        for parameter, value in zip(procedure.parameters, arguments, strict=True):
            lanes.values[inside.key(parameter.name)] = value
        if procedure.kind == "cflow":
            result: Result = inside.time(cast("Sequence[Cflow]", procedure.body))
        else:
            result = inside.block(cast("Sequence[Exec]", procedure.body))
        self._depth -= 1
        return 0.0 if result is None else result


class _Procedure:
    """One procedure on some lanes: its own variables are kept under keys with a prefix."""

    def __init__(self, evaluation: _Evaluation, lanes: Lanes, own: frozenset[str], prefix: str) -> None:
        self.evaluation = evaluation
        self.batch = evaluation.batch
        self.lanes = lanes
        self.own = own
        self.prefix = prefix

    def on(self, lanes: Lanes) -> _Procedure:
        """Return the same procedure on other lanes."""
        return _Procedure(self.evaluation, lanes, self.own, self.prefix)

    def key(self, name: str) -> str:
        return self.prefix + name if name in self.own else name

    def read(self, name: str) -> float | str | Floats:
        return self.lanes.get(self.key(name))

    def invoke(self, name: str, arguments: list[float | Floats]) -> float | Floats:
        return self.evaluation.call(self.evaluation.procedures[name], arguments, self.lanes)

    def value(self, expression: Expression) -> float | str | Floats:
        return evaluate_expression(expression, self.read, self.invoke)

    def number(self, expression: Expression) -> float | Floats:
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
                    chosen = np.not_equal(self.number(statement.condition), 0)
                    mixed = np.any(chosen) and not np.all(chosen)
                    if mixed and self.batch.analysis.returns(statement):
                        rest = tuple(statements[place + 1 :])
                        return self.parted(np.asarray(chosen), statement.then + rest, statement.otherwise + rest)
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
                self.lanes.values[self.key(statement.name)] = self.value(statement.value)
            case Variables():
                for item in statement.declarations:
                    if item.value is not None:
                        self.lanes.values[self.key(item.name)] = self.value(item.value)
            case Step():
                self.step(statement)
            case For():
                self.loop(statement)
            case While():
                self.turns(statement.condition, statement.body, None)
            case Call():
                self.called(statement)

    def chosen(self, statement: If, chosen: np.bool_ | NDArray[np.bool_]) -> Result:
        """Carry out the branch of each lane."""
        if np.all(chosen):
            return self.block(statement.then)
        if not np.any(chosen):
            return self.block(statement.otherwise)
        self.masked(np.asarray(chosen), statement.then)
        self.masked(~np.asarray(chosen), statement.otherwise)
        return None

    def parted(self, chosen: NDArray[np.bool_], then: Sequence[Exec], otherwise: Sequence[Exec]) -> Result:
        """Go on in two ways, each with its own return."""
        if any(self.batch.analysis.assigned(item) - self.own for item in (*then, *otherwise)):
            raise UnbatchableError
        results = [self.on(self.lanes.pick(np.flatnonzero(part))).block(way)
                   for part, way in ((chosen, then), (~chosen, otherwise))]  # fmt: skip
        if results[0] is None and results[1] is None:
            return None
        both = np.zeros(self.lanes.size)
        for part, result in zip((chosen, ~chosen), results, strict=True):
            if result is None:
                raise UnbatchableError
            both[part] = result
        return both

    def masked(self, chosen: NDArray[np.bool_], statements: Sequence[Exec]) -> None:
        """Carry statements out on some lanes only, and merge what they assign."""
        if not statements:
            return
        index = np.flatnonzero(chosen)
        inside = self.on(self.lanes.pick(index))
        if inside.block(statements) is not None:
            raise UnbatchableError
        written = frozenset[str]().union(*map(self.batch.analysis.assigned, statements))
        for name in map(self.key, written):
            new, old = inside.lanes.look(name), self.lanes.look(name)
            if new is None or old is None or isinstance(new, str) or isinstance(old, str):
                # Not to be read before all lanes have it again.
                self.lanes.values[name] = None
            else:
                merged = spread(old, self.lanes.size).copy()
                merged[index] = new
                self.lanes.values[name] = float(merged[0]) if (merged == merged[0]).all() else merged

    def called(self, statement: Call) -> None:
        procedure = self.evaluation.procedures.get(statement.name)
        if procedure is None:
            self.evaluation.enter(statement.name, self.lanes)
            return
        self.evaluation.call(procedure, [self.number(item) for item in statement.arguments or ()], self.lanes)

    def loop(self, statement: For) -> None:
        parts = self.batch.analysis.loop(statement, self.evaluation.procedures)
        if parts is not None:
            self.side_by_side(statement, parts)
            return
        self.lanes.values[self.key(statement.start.name)] = self.value(statement.start.value)
        self.turns(statement.condition, statement.body, statement.advance)

    def turns(self, condition: Expression, body: Sequence[Exec], advance: Assign | None) -> None:
        """Carry a loop out turn by turn, on the lanes that are still in it."""
        whole = tuple(body) if advance is None else (*body, advance)
        while True:
            self.batch.spend()
            inside = np.not_equal(self.number(condition), 0)
            if not np.any(inside):
                return
            if np.all(inside):
                if self.block(whole) is not None:
                    raise UnbatchableError
            else:
                self.masked(np.asarray(inside), whole)

    def side_by_side(self, statement: For, parts: Counted) -> None:
        lanes = self.lanes
        start, stride = self.number(parts.start), self.number(parts.stride)
        end = self.number(parts.end)
        if parts.shift is not None:
            shift = self.number(parts.shift)
            _whole(shift)
            end = end - shift
        _whole(start)
        _whole(stride)
        if np.any(np.less_equal(stride, 0)):
            raise UnbatchableError
        last = np.floor(end) if parts.closed else np.ceil(end) - 1
        trips = spread(np.maximum(np.floor((last - start) / stride) + 1, 0), lanes.size)
        if trips.sum() > lanes.collector.most:
            raise TooManyStepsError
        number_of_turns = trips.astype(np.int64)
        index = np.repeat(np.arange(lanes.size), number_of_turns)
        turn = np.arange(len(index)) - np.repeat(np.cumsum(number_of_turns) - number_of_turns, number_of_turns)
        if len(index):
            collector = lanes.collector.inner(len(index))
            turns = lanes.pick(index, collector)
            starts, strides = (spread(value, lanes.size)[index] for value in (start, stride))
            turns.values[self.key(parts.name)] = starts + strides * turn
            if self.on(turns).block(statement.body) is not None:
                raise UnbatchableError
            lanes.collector.nest(collector, lanes.slots(index))
        for name in parts.written:
            lanes.values[self.key(name)] = None

    def step(self, statement: Step) -> None:
        device = DEVICES[statement.device]
        for confdev in statement.confdevs:
            values = [spread(self.number(value), self.lanes.size) for value in confdev.values]
            place = self.batch.places.number(confdev)
            if device.group:
                self.message(device, place, *values)
            else:
                self.compute(values[0], statement.on, place)

    def compute(self, time: Floats, on: Expression | None, place: int) -> None:
        if (time < 0).any():
            raise UnbatchableError
        if on is None:
            self.lanes.everywhere(time, place)
            return
        processor = spread(self.number(on), self.lanes.size)
        self.exists(processor, 1)
        self.lanes.step(COMPUTE, np.arange(self.lanes.size), processor, processor, time, place)

    def message(self, device: Device, place: int, source: Floats, destination: Floats, size: Floats) -> None:
        self.exists(source, 0)
        self.exists(destination, 0)
        if device.group not in self.batch.hardware.messages or (size < 0).any():
            raise UnbatchableError
        chosen = np.flatnonzero((source > 0) & (destination > 0))
        source, destination, size = source[chosen], destination[chosen], size[chosen]
        if device.sends:
            self.lanes.step(SEND, chosen, source, destination, size, place)
        else:
            self.lanes.step(RECEIVE, chosen, destination, source, size, place)

    def exists(self, processor: Floats, first: int) -> None:
        _whole(processor)
        if ((processor < first) | (processor > self.lanes.hosts)).any():
            raise UnbatchableError

    # cflow

    def time(self, statements: Sequence[Cflow]) -> float | Floats:
        """Return the time of sequential work on each lane, us; added up in the order of the other evaluator."""
        times = [self.part(statement) for statement in statements]
        return times[0] if len(times) == 1 else sum(times)

    def part(self, statement: Cflow) -> float | Floats:
        self.batch.spend()
        match statement:
            case Compute():
                return self.usage(statement.usage)
            case Loop():
                turns = self.number(statement.count)
                if np.any(np.less(turns, 0)):
                    raise UnbatchableError
                return turns * (self.usage(statement.usage) + self.time(statement.body))
            case Case():
                return self.case(statement)
            case Call():
                return self.invoke(statement.name, [self.number(item) for item in statement.arguments or ()])
        raise UnbatchableError  # a table of measured times may lack entries: the other evaluator says which

    def case(self, statement: Case) -> float | Floats:
        time, total = self.usage(statement.usage), cast("float | Floats", 0.0)
        for arm in statement.arms:
            share = self.number(arm.probability)
            total = total + share
            if np.any(np.less(share, 0)) or np.any(np.greater(total, 1)):
                raise UnbatchableError
            time = time + share * self.time(arm.body)
        return time

    def usage(self, usage: Usage) -> float | Floats:
        if isinstance(usage, MeasuredUsage):
            return self.number(usage.time)
        costs = self.batch.hardware.operations
        fixed = sum(costs[entry.opcode] for entry in usage.entries if entry.count is None)
        return fixed + sum(self.number(entry.count) * costs[entry.opcode]
                           for entry in usage.entries if entry.count is not None)  # fmt: skip


def _whole(value: float | Floats) -> None:
    if np.any(np.not_equal(value, np.floor(value))) or np.any(np.greater(np.abs(value), 2**52)):
        raise UnbatchableError
