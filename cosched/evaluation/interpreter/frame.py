"""Hold what compiled closures see while they run: variables, lanes, and the run itself.

A value is a number where all lanes agree, else an array with an entry for each lane. Start at `Frame`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from cosched.evaluation.budget import DEEPEST_CALLS, LanesDifferError, fail
from cosched.evaluation.clocks.steps import Steps
from cosched.evaluation.interpreter.collector import Collector
from cosched.evaluation.interpreter.lanes import Lanes, as_lanes
from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from cosched.evaluation.budget import Budget
    from cosched.evaluation.interpreter.invariance import Written
    from cosched.evaluation.interpreter.step_cache import StepTemplate
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Position

    Indices = NDArray[np.int64]

__all__ = [
    "CompiledBlock",
    "CompiledNumber",
    "CompiledValue",
    "Floats",
    "Frame",
    "LaneNumber",
    "ObjectRun",
    "Parted",
    "ProgramRun",
    "Value",
    "agreed",
    "every",
    "fault",
]

Floats = NDArray[np.float64]
LaneNumber = float | Floats
Value = float | str | tuple[float, ...] | Floats


class ProgramRun:
    """State that all objects of one evaluation share.

    Args:
        budget: budget of statements.
        most_steps: how many a segment may hold.
        expand: carry the turns of a loop out at once where they allow it; faults then name no place.

    Attributes:
        known: results of objects: the same object with the same variables gives the same result.
    """

    __slots__ = ("budget", "expand", "known", "most_steps")

    def __init__(self, budget: Budget, most_steps: int, *, expand: bool) -> None:
        self.budget = budget
        self.most_steps = most_steps
        self.expand = expand
        self.known: dict[Hashable, list[Steps]] = {}


class ObjectRun:
    """One object being evaluated on some numbers of hosts.

    Attributes:
        whole: the evaluation that it is part of; its `budget` and `expand` are here too.
        lanes: the numbers of hosts.
        processors: how many processors the first of them has.
        depth: depth of nested calls.
        program: the segments so far, of the object and of the objects that it called.
        templates: its own segments, without the amounts that are filled in later.
    """

    __slots__ = ("budget", "depth", "expand", "lanes", "processors", "program", "templates", "whole")

    def __init__(self, whole: ProgramRun, hosts: Indices, offset: Indices, depth: int = 0) -> None:
        self.whole = whole
        self.budget = whole.budget
        self.expand = whole.expand
        self.depth = depth
        self.processors = int(hosts[0])
        self.lanes = Lanes(hosts, offset, Collector(whole.most_steps, len(hosts)), single=len(hosts) == 1)
        self.program: list[Steps] = []
        self.templates: list[StepTemplate] = []

    def inner(self) -> ObjectRun:
        """Return the run of an included object."""
        return ObjectRun(self.whole, self.lanes.hosts, self.lanes.offset, self.depth)

    def flush(self) -> None:
        """Close the current segment; its steps come before all later ones."""
        template = self.lanes.collector.draft(self.lanes.hosts)
        if template is not None:
            self.templates.append(template)
            self.program.append(Steps(template.shape, template.amounts))
            self.lanes.collector = Collector(self.whole.most_steps, self.lanes.size)

    def enter(self, source: Source, at: Position) -> None:
        """Count one more nested call; the caller counts it off again."""
        self.depth += 1
        if self.depth > DEEPEST_CALLS:
            fail(source, at, f"calls are nested deeper than {DEEPEST_CALLS}: does this procedure call itself?")


class _PickedValues(dict[str, Value]):
    """Variables on some lanes; those not assigned here are gathered when read.

    They are gathered from all lanes.

    Attributes:
        above: the variables on all lanes.
        index: indices of the lanes here among those.
        unknown: variables without a value here, even if they have one above.
    """

    __slots__ = ("above", "index", "unknown")

    def __init__(self, above: dict[str, Value], index: Indices) -> None:
        super().__init__()
        self.above = above
        self.index = index
        self.unknown: set[str] = set()

    def __missing__(self, name: str) -> Value:
        if name in self.unknown:
            raise KeyError(name)
        value = self.above[name]
        self[name] = value = value.take(self.index) if isinstance(value, np.ndarray) else value
        return value


class Frame:
    """Variables of an object and its running procedure, their lanes, and the run."""

    __slots__ = ("lanes", "locals", "run", "values")

    def __init__(self, values: dict[str, Value], own: dict[str, Value], run: ObjectRun, lanes: Lanes) -> None:
        self.values = values
        self.locals = own
        self.run = run
        self.lanes = lanes

    def pick(self, index: Indices, collector: Collector | None = None) -> Frame:
        """Return the frame of some lanes, or of several copies of each.

        `merge` takes over the variables that are assigned there.
        """
        return Frame(
            _PickedValues(self.values, index),
            _PickedValues(self.locals, index),
            self.run,
            self.lanes.pick(index, collector),
        )

    def merge(self, parts: Sequence[tuple[Frame, Indices]], written: Written) -> None:
        """Take over the values assigned on some lanes; the other lanes keep theirs."""
        for name in written.own:
            _merge(self.locals, [(inside.locals, index) for inside, index in parts], name, self.lanes.size)
        for name in written.shared:
            _merge(self.values, [(inside.values, index) for inside, index in parts], name, self.lanes.size)

    def drop(self, name: str, *, own: bool) -> None:
        """Leave a variable without a value that could be read."""
        _drop(self.locals if own else self.values, name)


def _look(values: dict[str, Value], name: str) -> Value | None:
    try:
        return values[name]
    except KeyError:
        return None


def _drop(values: dict[str, Value], name: str) -> None:
    values.pop(name, None)
    if isinstance(values, _PickedValues):
        values.unknown.add(name)


def _merge(values: dict[str, Value], parts: Sequence[tuple[dict[str, Value], Indices]], name: str, size: int) -> None:
    found = [_look(part, name) for part, _ in parts]
    if sum(len(index) for _, index in parts) < size:
        found.append(_look(values, name))
    first = found[0]
    if any(item is None for item in found):
        _drop(values, name)  # not to be read before all lanes have it again
    elif first is not None and not any(isinstance(item, np.ndarray) for item in found) and len(set(found)) == 1:
        values[name] = first
    elif any(isinstance(item, str | tuple) for item in found):
        _drop(values, name)
    else:
        rest = found[len(parts)] if len(found) > len(parts) else 0.0
        merged = np.array(as_lanes(rest, size))  # type: ignore[arg-type]  # texts and lists are looked for above
        for item, (_, index) in zip(found, parts, strict=False):
            merged[index] = item
        values[name] = float(merged[0]) if (merged == merged[0]).all() else merged


class Parted:
    """Lanes at a statement after which some return and others go on.

    Args:
        frame: frame of all of them.
        parts: the frame and the lanes of each part, and what it returned, None where it goes on.
    """

    __slots__ = ("frame", "parts")

    def __init__(self, frame: Frame, parts: Sequence[tuple[Frame, Indices, LaneNumber | None]]) -> None:
        self.frame = frame
        self.parts = parts

    def finish(self, rest: Callable[[Frame], LaneNumber | None], written: Written) -> LaneNumber | None:
        """Carry the rest out where lanes go on; return what all lanes return.

        Raises:
            LanesDifferError: some return after all, and others do not.
        """
        results = [rest(inside) if result is None else result for inside, _, result in self.parts]
        self.frame.merge([(inside, index) for inside, index, _ in self.parts], written)
        if all(result is None for result in results):
            return None
        both = np.zeros(self.frame.lanes.size)
        for result, (_, index, _) in zip(results, self.parts, strict=True):
            if result is None:
                raise LanesDifferError
            both[index] = result
        return both


CompiledNumber = Callable[[Frame], LaneNumber]
CompiledValue = Callable[[Frame], Value]
# None: go on with the next statement; a value: the procedure returns it.
CompiledBlock = Callable[[Frame], LaneNumber | None]


def every(truth: bool | NDArray[np.bool_]) -> bool:
    """Return whether a comparison holds on all lanes."""
    return truth if isinstance(truth, bool) else bool(truth.all())


def agreed(condition: Floats) -> bool | NDArray[np.bool_]:
    """Return whether a condition holds: at once where all lanes agree, else for each."""
    holds = condition != 0
    all_hold = bool(holds.all())
    return all_hold if all_hold or not holds.any() else holds


def fault(
    source: Source, at: Position, message: str, *values: LaneNumber, error: type[ModelError] = ModelError
) -> NoReturn:
    """End the evaluation with a fault that shows values.

    Where lanes differ, each must be evaluated by itself; `LanesDifferError` says so.
    """
    if any(isinstance(value, np.ndarray) for value in values):
        raise LanesDifferError
    fail(source, at, message.format(*values), error)
