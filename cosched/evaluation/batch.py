"""Objects evaluated for many numbers of hosts at once.

Walks the same checked tree that the statement-by-statement evaluator compiles, with arrays in place of numbers; what it
cannot do it leaves to that one by `UnbatchableError`. The meaning of a model is what that one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.evaluation.collector import Collector
from cosched.evaluation.lane_cflow import flow_time
from cosched.evaluation.lane_procedures import LaneProcedure
from cosched.evaluation.lanes import Lanes, TooManyStepsError, UnbatchableError
from cosched.evaluation.shapes import known, remember
from cosched.evaluation.steps import Steps
from cosched.language.names import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.expansion import Analysis
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.lanes import Value
    from cosched.evaluation.places import Places
    from cosched.evaluation.shapes import Draft
    from cosched.language.linker import Linked
    from cosched.language.syntax import Cflow, Exec, Object, Procedure

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
        return LaneObject(self, linked, hosts, offset, values).program()

    def below(self, linked: Linked, given: Mapping[str, Value], lanes: Lanes) -> list[Steps]:
        """Evaluate an included object, or remember what it did with the same variables on the same lanes."""
        values = [(name, id(value) if isinstance(value, np.ndarray) else value) for name, value in given.items()]
        key = (id(linked), id(lanes.hosts), id(lanes.offset), *values)
        found = self._programs.get(key)
        if found is None:
            evaluation = LaneObject(self, linked, lanes.hosts, lanes.offset, given)
            evaluation.start(given)
            # What the key identifies by its address is kept alive with it.
            found = self._programs[key] = ((lanes.hosts, lanes.offset, given), evaluation.program())
        return found[1]


class LaneObject:
    """One object being evaluated on its lanes."""

    def __init__(
        self, batch: Batch, linked: Linked, hosts: Indices, offset: Indices, values: Mapping[str, Value]
    ) -> None:
        self.batch = batch
        self.linked = linked
        self.object: Object = linked.object
        self.procedures = {procedure.name: procedure for procedure in self.object.procedures}
        self._entered: dict[str, tuple[int, list[Steps]]] = {}
        self.writes = 0  # to variables of the object: while it stays, calls of other objects repeat
        self.outline = batch.analysis.outline(linked)
        self._program: list[Steps] = []
        self._drafts: list[Draft] = []
        self._depth = 0
        self.collector = Collector(batch.most_steps, len(hosts))
        self.lanes = Lanes(hosts, offset, self.collector)
        self.lanes.values.update(values)
        count = hosts.astype(np.float64)
        self.lanes.values.setdefault(PROCESSORS, float(count[0]) if len(count) == 1 else count)

    def start(self, given: Mapping[str, Value]) -> None:
        """Give the variables that were not linked their defaults."""
        procedure = LaneProcedure(self, self.lanes, frozenset(), "")
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
        drafts = known(key)
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

    def _filled(self, draft: Draft) -> Steps:
        """Return steps with their free amounts, for the variables of this object."""
        amounts, size, first = draft.amounts.copy(), self.lanes.size, self._first_place()
        for number, (place, index) in enumerate(draft.free):
            lanes = self.lanes if len(index) == size else self.lanes.pick(index)
            confdev = self.outline.confdevs[place - first]
            value = LaneProcedure(self, lanes, frozenset(), "").number(self.outline.free[id(confdev)])
            if np.any(np.less(value, 0)):
                raise UnbatchableError
            amounts[number * size + index] = value
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
            procedure = LaneProcedure(self, lanes, frozenset(), "")
            given = {
                assign.name: procedure.value(assign.value)
                for link in self.object.links
                if link.target == name
                for assign in link.assigns
            }
            program = self.batch.below(self.linked.includes[name], cast("dict[str, Value]", given), lanes)
            entered = self._entered[name] = (self.writes, program)
        self.batch.spend(1 + len(entered[1]))
        self._program.extend(entered[1])

    def repeat(self, procedure: LaneProcedure, body: Sequence[Exec], turns: int) -> None:
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
        inside = LaneProcedure(self, lanes, own, f"{self._depth} ")
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
