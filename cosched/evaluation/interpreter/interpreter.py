"""The interpreter of objects over arrays of lanes: host counts and loop turns.

Reads downwards: times of cflows, steps, procedures, objects; start at `ObjectRun`.
An `UnbatchableError` leaves the model to `scalar_statements`, until the two are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.budget import TooManyStepsError, UnbatchableError
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND, Steps
from cosched.evaluation.interpreter.collector import Collector
from cosched.evaluation.interpreter.expressions import evaluate_expression, number
from cosched.evaluation.interpreter.lanes import Lanes, as_lanes
from cosched.evaluation.interpreter.step_cache import recall, remember
from cosched.language.syntax import (
    Assign,
    Call,
    Case,
    Compute,
    For,
    If,
    Loop,
    MeasuredUsage,
    MemoryUsage,
    Return,
    Step,
    Variables,
    While,
)
from cosched.language.vocabulary import DEVICES, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.interpreter.lanes import LaneValue
    from cosched.evaluation.interpreter.loop_analysis import CountedLoop, LoopAnalysis
    from cosched.evaluation.interpreter.step_cache import StepTemplate
    from cosched.evaluation.sites import Sites
    from cosched.language.linker import Linked
    from cosched.language.syntax import Cflow, Exec, Expression, Object, Procedure, Usage
    from cosched.language.vocabulary import Device

    Floats = NDArray[np.float64]

    Indices = NDArray[np.int64]

    Result = float | Floats | None

__all__ = ["InterpreterState", "ProcedureRun", "emit", "flow_time"]

# ── The time of sequential work on lanes.


def flow_time(procedure: ProcedureRun, statements: Sequence[Cflow]) -> float | Floats:
    """Return the time of sequential work on each lane, us; added up in the order of the other evaluator."""
    times = [_statement_time(procedure, statement) for statement in statements]
    return times[0] if len(times) == 1 else sum(times)


def _statement_time(procedure: ProcedureRun, statement: Cflow) -> float | Floats:
    procedure.batch.spend()
    match statement:
        case Compute():
            return _usage_time(procedure, statement.usage)
        case Loop():
            turns = procedure.number(statement.count)
            if np.any(np.less(turns, 0)):
                raise UnbatchableError
            return turns * (_usage_time(procedure, statement.usage) + flow_time(procedure, statement.body))
        case Case():
            return _case_time(procedure, statement)
        case Call():
            return procedure.invoke(statement.name, [procedure.number(item) for item in statement.arguments or ()])
    raise UnbatchableError  # a table of measured times may lack entries: the other evaluator says which


def _case_time(procedure: ProcedureRun, statement: Case) -> float | Floats:
    time, total = _usage_time(procedure, statement.usage), cast("float | Floats", 0.0)
    for arm in statement.arms:
        share = procedure.number(arm.probability)
        total = total + share
        if np.any(np.less(share, 0)) or np.any(np.greater(total, 1)):
            raise UnbatchableError
        time = time + share * flow_time(procedure, arm.body)
    return time


def _usage_time(procedure: ProcedureRun, usage: Usage) -> float | Floats:
    if isinstance(usage, MeasuredUsage):
        return procedure.number(usage.time)
    if isinstance(usage, MemoryUsage):
        memory = procedure.batch.hardware.memory
        assert memory is not None, "models that use what the hardware lacks are refused before"
        return memory.times(_bytes(procedure, usage.volume), _bytes(procedure, usage.working_set))
    costs = procedure.batch.hardware.operations
    fixed = sum(costs[entry.opcode] for entry in usage.entries if entry.count is None)
    return fixed + sum(
        procedure.number(entry.count) * costs[entry.opcode] for entry in usage.entries if entry.count is not None
    )


def _bytes(procedure: ProcedureRun, expression: Expression) -> float | Floats:
    found = procedure.number(expression)
    if not np.all(np.greater_equal(found, 0)):
        raise UnbatchableError
    return found


# ── Steps on lanes: each use of a device becomes a step of a processor of each lane.


def emit(procedure: ProcedureRun, statement: Step) -> None:
    """Hand the steps of a statement to the collector.

    Raises:
        UnbatchableError: a processor that does not exist, a time or a size that cannot be, a device without costs.
    """
    device = DEVICES[statement.device]
    for confdev in statement.confdevs:
        *ends, last = confdev.values
        place = procedure.batch.places.number(confdev)
        amount = None if id(confdev) in procedure.evaluation.outline.free else _on_every_lane(procedure, last)
        if amount is not None and amount.min() < 0:
            raise UnbatchableError
        if device.group:
            _emit_message(
                procedure, device, place, _on_every_lane(procedure, ends[0]), _on_every_lane(procedure, ends[1]), amount
            )
        else:
            _emit_compute(procedure, amount, statement.on, place)


def _on_every_lane(procedure: ProcedureRun, expression: Expression) -> Floats:
    return as_lanes(procedure.number(expression), procedure.lanes.size)


def _emit_compute(procedure: ProcedureRun, time: Floats | None, on: Expression | None, place: int) -> None:
    lanes = procedure.lanes
    if on is None:
        lanes.everywhere(time, place)
        return
    processor = lanes.processors(_on_every_lane(procedure, on))
    if not processor.all():
        raise UnbatchableError
    lanes.step(COMPUTE, None, processor, processor, time, place)


def _emit_message(
    procedure: ProcedureRun, device: Device, place: int, source: Floats, destination: Floats, size: Floats | None
) -> None:
    lanes = procedure.lanes
    if device.group not in procedure.batch.hardware.messages:
        raise UnbatchableError
    sender, receiver = lanes.processors(source), lanes.processors(destination)
    chosen = None
    if not (sender.all() and receiver.all()):
        chosen = np.flatnonzero((sender > 0) & (receiver > 0))
        sender, receiver = sender[chosen], receiver[chosen]
        size = None if size is None else size[chosen]
    if device.sends:
        lanes.step(SEND, chosen, sender, receiver, size, place)
    else:
        lanes.step(RECEIVE, chosen, receiver, sender, size, place)


# ── Procedures on lanes: statements carried out for many numbers of hosts, or many turns of a loop, at once.


class ProcedureRun:
    """One procedure on some lanes: its own variables are kept under keys with a prefix."""

    def __init__(self, evaluation: ObjectRun, lanes: Lanes, own: frozenset[str], prefix: str) -> None:
        self.evaluation = evaluation
        self.batch = evaluation.batch
        self.lanes = lanes
        self.own = own
        self.prefix = prefix

    def on(self, lanes: Lanes) -> ProcedureRun:
        """Return the same procedure on other lanes."""
        return ProcedureRun(self.evaluation, lanes, self.own, self.prefix)

    def key(self, name: str) -> str:
        """Return under which name the lanes keep a variable."""
        return self.prefix + name if name in self.own else name

    def write(self, name: str, value: LaneValue) -> None:
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
                    chosen = _agreed_condition(self.number(statement.condition))
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
                merged = as_lanes(old, self.lanes.size).copy()
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
            inside = _agreed_condition(self.number(condition))
            if inside is False:
                return
            if inside is not True:
                self.masked(inside, whole)
            elif self.block(whole) is not None:
                raise UnbatchableError

    def trips(self, parts: CountedLoop) -> Floats:
        """Return how many turns a loop has on each lane."""
        start, stride, end = self.number(parts.start), self.number(parts.stride), self.number(parts.end)
        if parts.shift is not None:
            shift = self.number(parts.shift)
            _require_whole(shift)
            end = end - shift
        _require_whole(start)
        _require_whole(stride)
        if np.any(np.less_equal(stride, 0)):
            raise UnbatchableError
        last = np.floor(end) if parts.closed else np.ceil(end) - 1
        return as_lanes(np.maximum(np.floor((last - start) / stride) + 1, 0), self.lanes.size)

    def side_by_side(self, statement: For, parts: CountedLoop) -> None:
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


def _agreed_condition(condition: float | Floats) -> bool | NDArray[np.bool_]:
    """Return whether a condition holds: for each lane, or at once where they agree."""
    if not isinstance(condition, np.ndarray):
        return condition != 0
    holds = condition != 0
    every = bool(holds.all())
    return every if every or not holds.any() else holds


def _require_whole(value: float | Floats) -> None:
    if type(value) is float:
        if not (value.is_integer() and abs(value) <= 2**52):
            raise UnbatchableError
    elif np.any(np.not_equal(value, np.floor(value))) or np.any(np.greater(np.abs(value), 2**52)):
        raise UnbatchableError


# ── Objects evaluated for many numbers of hosts at once.
#
# Walks the same checked tree that the statement-by-statement evaluator compiles, with arrays in place of numbers; what
# it
# cannot do it leaves to that one by `UnbatchableError`. The meaning of a model is what that one does.


_DEEPEST = 20

# Above this a model is likely not to end; less than a second.
_MOST_STATEMENTS = 200_000


class InterpreterState:
    """What all objects of one evaluation share.

    Args:
        analysis: of the application's statements.
        places: numbers its steps.
        hardware: whose costs are used.
        hosts: processors of each number of hosts, shape (counts,).
        steps: most steps of a segment.
    """

    def __init__(self, analysis: LoopAnalysis, places: Sites, hardware: Hardware, hosts: Indices, steps: int) -> None:
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

    def run(self, linked: Linked, values: Mapping[str, LaneValue], hosts: Indices, offset: Indices) -> list[Steps]:
        """Evaluate an object whose variables have the values before `init`; return what it does."""
        return ObjectRun(self, linked, hosts, offset, values).program()

    def below(self, linked: Linked, given: Mapping[str, LaneValue], lanes: Lanes) -> list[Steps]:
        """Evaluate an included object, or remember what it did with the same variables on the same lanes."""
        values = [(name, id(value) if isinstance(value, np.ndarray) else value) for name, value in given.items()]
        key = (id(linked), id(lanes.hosts), id(lanes.offset), *values)
        found = self._programs.get(key)
        if found is None:
            evaluation = ObjectRun(self, linked, lanes.hosts, lanes.offset, given)
            evaluation.start(given)
            # What the key identifies by its address is kept alive with it.
            found = self._programs[key] = ((lanes.hosts, lanes.offset, given), evaluation.program())
        return found[1]


class ObjectRun:
    """One object being evaluated on its lanes."""

    def __init__(
        self, batch: InterpreterState, linked: Linked, hosts: Indices, offset: Indices, values: Mapping[str, LaneValue]
    ) -> None:
        self.batch = batch
        self.linked = linked
        self.object: Object = linked.object
        self.procedures = {procedure.name: procedure for procedure in self.object.procedures}
        self._entered: dict[str, tuple[int, list[Steps]]] = {}
        self.writes = 0  # to variables of the object: while it stays, calls of other objects repeat
        self.outline = batch.analysis.outline(linked)
        self._program: list[Steps] = []
        self._drafts: list[StepTemplate] = []
        self._depth = 0
        self.collector = Collector(batch.most_steps, len(hosts))
        self.lanes = Lanes(hosts, offset, self.collector)
        self.lanes.values.update(values)
        count = hosts.astype(np.float64)
        self.lanes.values.setdefault(PROCESSORS, float(count[0]) if len(count) == 1 else count)

    def start(self, given: Mapping[str, LaneValue]) -> None:
        """Give the variables that were not linked their defaults."""
        procedure = ProcedureRun(self, self.lanes, frozenset(), "")
        for group in self.object.variables:
            for declared in group.declarations:
                if declared.value is not None and declared.name not in given and declared.name != PROCESSORS:
                    self.lanes.values[declared.name] = procedure.value(declared.value)

    def program(self) -> list[Steps]:
        """Return what the object does; found before, if all that decides what it does was the same."""
        if self.linked.includes:
            return self._carried_out()
        outline, values = self.outline, self.lanes.values
        key = (
            id(self.object),
            self.batch.hardware if outline.priced else tuple(self.batch.hardware.messages),
            self._first_place(),
            self.lanes.hosts.tobytes(),
            *(
                value.tobytes() if isinstance(value := values.get(name), np.ndarray) else value
                for name in outline.shaping
            ),
        )
        drafts = recall(key)
        if drafts is None:
            self._carried_out()
            drafts = self._drafts
            remember(key, drafts, self.object)
        if any(len(draft) > self.batch.most_steps for draft in drafts):
            raise TooManyStepsError
        return [self._filled(draft) for draft in drafts]

    def _carried_out(self) -> list[Steps]:
        if "init" in self.procedures:
            self.call(self.procedures["init"], [], self.lanes)
        calls = self.batch.analysis.called(self.object)
        if self.object.kind == "subtask" and not calls & self.linked.includes.keys():
            for name, other in self.linked.includes.items():
                if other.object.kind == "partmp":
                    self.enter(name, self.lanes)
        self.flush()
        return self._program

    def flush(self) -> None:
        draft = self.collector.draft(self.lanes.hosts)
        if draft is not None:
            self._drafts.append(draft)
            self._program.append(Steps(draft.shape, draft.amounts))
            self.collector = self.lanes.collector = Collector(self.batch.most_steps, self.lanes.size)

    def _filled(self, draft: StepTemplate) -> Steps:
        """Return steps with their free amounts, for the variables of this object."""
        amounts, size, first = draft.amounts.copy(), self.lanes.size, self._first_place()
        for column, (place, index) in enumerate(draft.free):
            lanes = self.lanes if len(index) == size else self.lanes.pick(index)
            confdev = self.outline.confdevs[place - first]
            value = ProcedureRun(self, lanes, frozenset(), "").number(self.outline.free[id(confdev)])
            if np.any(np.less(value, 0)):
                raise UnbatchableError
            amounts[column * size + index] = value
        return Steps(draft.shape, amounts)

    def _first_place(self) -> int:
        confdevs = self.outline.confdevs
        return self.batch.places.number(confdevs[0]) if confdevs else 0

    def enter(self, name: str, lanes: Lanes) -> None:
        """Evaluate an included object after what this one did so far."""
        if lanes is not self.lanes:
            raise UnbatchableError
        self.flush()
        entered = self._entered.get(name)
        if entered is None or entered[0] != self.writes:
            procedure = ProcedureRun(self, lanes, frozenset(), "")
            given = {
                assign.name: procedure.value(assign.value)
                for link in self.object.links
                if link.target == name
                for assign in link.assigns
            }
            program = self.batch.below(self.linked.includes[name], cast("dict[str, LaneValue]", given), lanes)
            entered = self._entered[name] = (self.writes, program)
        self.batch.spend(1 + len(entered[1]))
        self._program.extend(entered[1])

    def repeat(self, procedure: ProcedureRun, body: Sequence[Exec], turns: int) -> None:
        """Carry out a body that does the same in each turn, on all lanes."""
        if turns > 0:
            self.flush()
            before = len(self._program)
            procedure.block(body)
            turn = self._program[before:]
            self.batch.spend(len(turn) * turns // 8)
            self._program.extend(turn * (turns - 1))

    def call(self, procedure: Procedure, arguments: list[float | Floats], lanes: Lanes) -> float | Floats:
        self.batch.spend(4)
        if self._depth >= _DEEPEST:
            raise UnbatchableError
        self._depth += 1
        own = self.batch.analysis.own(procedure)
        inside = ProcedureRun(self, lanes, own, f"{self._depth} ")
        for name in own:
            lanes.values[inside.key(name)] = None
        for parameter, value in zip(procedure.parameters, arguments, strict=True):
            lanes.values[inside.key(parameter.name)] = value
        if procedure.kind == "cflow":
            result: Result = flow_time(inside, cast("Sequence[Cflow]", procedure.body))
        else:
            result = inside.block(cast("Sequence[Exec]", procedure.body))
        self._depth -= 1
        return 0.0 if result is None else result
