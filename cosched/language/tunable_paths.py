"""Every way through a `proc tunable`: which stages run, with which values, and by when.

Start at `tunable_paths`. A way is found by carrying the procedure out with all its choices at once, from the values of
the application's parameters; what the models of `{model …}` predict is not known here. After Chang, Karamcheti and
Kedem, "Exploiting Application Tunability for Efficient, Predictable Parallel Resource Management" (MILAN), section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from cosched.language.arithmetic import UndefinedError, value
from cosched.language.diagnostics import ModelError
from cosched.language.syntax import HostsRequest, Name, TaskLoop, TaskSelect, TaskStage, ValueRange, walk
from cosched.tunable_bounds import MOST_CHAINS, MOST_STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cosched.language.syntax import (
        Expression,
        Node,
        Object,
        Position,
        Procedure,
        TaskConfiguration,
        Tunable,
    )

__all__ = [
    "PathElement",
    "PathLoop",
    "PathStage",
    "TunablePath",
    "bad_deadline",
    "bad_hosts",
    "bad_quality",
    "bad_seconds",
    "bad_turns",
    "tunable_paths",
    "tunable_procedure",
]

_MOST_HOSTS = 1_000_000
_MOST_TURNS = 1_000_000
_MOST_TRIES = 200_000  # configurations that are looked at, whether a way leads through them or not
_MOST_FAULTS = 200
_ROUNDING = 1e-9  # of a quality that is worked out
_SECOND = 1e6  # microseconds

Values = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class PathStage:
    """A stage in one of its configurations.

    Attributes:
        name: as written.
        at: where it is written.
        hosts: how many it occupies; 0 where a model says it.
        seconds: for how long; 0 where a model says it.
        model: the included object whose prediction gives both, else empty.
        deadline: seconds by which it and all before it must have ended, from the task's release or, in a loop, from the
            beginning of the turn; infinite for none.
        quality: of its output, above 0 and at most 1.
        sets: the control parameters that are set just before it starts.
        known: all control parameters as they are while it runs, by name.
    """

    name: str
    at: Position
    hosts: int
    seconds: float
    model: str
    deadline: float
    quality: float
    sets: Values
    known: Values


@dataclass(frozen=True, slots=True)
class PathLoop:
    """Turns that all run the same stages in the same configurations."""

    turns: int
    elements: tuple[PathElement, ...]


PathElement = PathStage | PathLoop


@dataclass(frozen=True, slots=True)
class TunablePath:
    """One way through a tunable procedure, and the control parameters at its end."""

    elements: tuple[PathElement, ...]
    values: Values


def tunable_procedure(item: Object) -> Procedure | None:
    """Return the tunable procedure of an object, if it has one."""
    return next((procedure for procedure in item.procedures if procedure.kind == "tunable"), None)


def tunable_paths(item: Object, given: Mapping[str, float], fixed: Mapping[str, float]) -> tuple[TunablePath, ...]:
    """Return every way through the tunable procedure of a checked application, in the order written.

    Args:
        item: an application with a `proc tunable`.
        given: values of its parameters. Ways that depend on others are left out.
        fixed: values of control parameters; ways that give them another are left out.

    Raises:
        ModelError: every fault met on the way, with its place.
    """
    procedure = tunable_procedure(item)
    assert procedure is not None
    faults: dict[tuple[Position, str], Node] = {}

    def report(node: Node, message: str) -> None:
        faults.setdefault((node.at, message), node)
        if len(faults) >= _MOST_FAULTS:
            raise _TooManyWays

    found = _PathFinder(item, procedure, given, fixed, report).paths()
    if faults:
        raise ModelError(sorted(item.source.fault(at, message) for at, message in faults))
    return found


def bad_deadline(seconds: float) -> str:
    """Return the fault of a deadline, or an empty text."""
    return "" if 0 < seconds < math.inf else f"a deadline of {seconds:g} s: it is finite and above 0"


def bad_hosts(count: float) -> str:
    """Return the fault of a number of hosts, or an empty text."""
    if 1 <= count <= _MOST_HOSTS and count == int(count):
        return ""
    advice = f"at most {_MOST_HOSTS}" if count > _MOST_HOSTS else "a whole number, 1 or more"
    return f"{count:.15g} hosts: give {advice}"


def bad_seconds(seconds: float) -> str:
    """Return the fault of the time of a stage, or an empty text."""
    return "" if 0 < seconds < math.inf else f"a stage of {seconds:g} s: its time is finite and above 0"


def bad_quality(quality: float) -> str:
    """Return the fault of a quality, or an empty text."""
    good = 0 < quality <= 1 + _ROUNDING
    return "" if good else f"a quality of {quality:g}: give a number above 0 and at most 1, which is full quality"


def bad_turns(turns: float) -> str:
    """Return the fault of a number of turns, or an empty text."""
    whole = 1 <= turns <= _MOST_TURNS and turns == int(turns)
    return "" if whole else f"{turns:.15g} turns: give a whole number from 1 to {_MOST_TURNS}"


_Tail = tuple[Any, PathElement] | None  # the elements so far, last one first


@dataclass(frozen=True, slots=True)
class _Way:
    """How far one way has come.

    Attributes:
        values: the control parameters that are set.
        fresh: those that were set in this turn of the innermost loop.
        stale: those that were read in it before they were set in it.
        due: the latest deadline so far, seconds from the release or from the turn's beginning.
        last: the stage with that deadline.
        stages: how many there are, each turn counted.
        tail: its elements.
    """

    values: Mapping[str, float]
    fresh: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    due: float = 0.0
    last: str = ""
    stages: int = 0
    tail: _Tail = None

    def having(self, values: Mapping[str, float], fresh: Iterable[str] = ()) -> _Way:
        return replace(self, values=values, fresh=self.fresh.union(fresh))

    def then(self, element: PathElement, stages: int) -> _Way:
        return replace(self, tail=(self.tail, element), stages=self.stages + stages)

    def elements(self) -> tuple[PathElement, ...]:
        found: list[PathElement] = []
        tail = self.tail
        while tail is not None:
            tail, element = tail
            found.append(element)
        return tuple(reversed(found))


class _TooManyWays(Exception):  # noqa: N818  the end of a search, no error of the program
    """There are more ways, or stages in them, than are looked at."""


class _PathFinder:
    """Carries a tunable procedure out with all its choices."""

    def __init__(
        self,
        item: Object,
        procedure: Procedure,
        given: Mapping[str, float],
        fixed: Mapping[str, float],
        report: Callable[[Node, str], None],
    ) -> None:
        self._procedure = procedure
        self._control = item.control()
        self._given = given
        self._fixed = fixed
        self._report = report
        self._stages = 0
        self._tries = 0
        self._initial = {
            declared.name: declared.value
            for group in item.variables
            for declared in group.declarations
            if declared.name in self._control and declared.value is not None
        }

    def paths(self) -> tuple[TunablePath, ...]:
        """Return the ways; what is wrong is reported, and the ways that it is on are left out."""
        way = _Way({})
        try:
            for name, expression in self._initial.items():
                found = self._value(expression, way)
                if found is not None:
                    way = way.having({**way.values, name: found})
            way = way.having({**way.values, **self._fixed})
            ends = self._sequence(self._procedure.body, [way])  # type: ignore[arg-type]  # its kind says which it has
        except _TooManyWays:
            return ()
        if sum(end.stages for end in ends) > MOST_STAGES:
            self._report(
                self._procedure,
                f"the ways through {self._procedure.name} have together more than {MOST_STAGES} stages: "
                "offer fewer alternatives or turns",
            )
            return ()
        if any(end.tail is None for end in ends):
            self._report(self._procedure, f"there is a way through {self._procedure.name} without any task")
        return tuple(TunablePath(end.elements(), _sorted(end.values)) for end in ends)

    def _sequence(self, statements: Sequence[Tunable], ways: list[_Way]) -> list[_Way]:
        for statement in statements:
            found: list[_Way] = []
            for further in (further for way in ways for further in self._statement(statement, way)):
                found.append(further)
                if len(found) > MOST_CHAINS:  # at once: a stage may offer thousands for each of a thousand ways
                    raise self._too_many(statement)
            ways = found
            self._stages += len(ways)
            if self._stages > MOST_STAGES:
                raise self._too_many(statement)
        return ways

    def _too_many(self, statement: Node) -> _TooManyWays:
        self._report(
            statement,
            f"there are more than {MOST_CHAINS} ways through {self._procedure.name} up to here: "
            "offer fewer alternatives",
        )
        return _TooManyWays()

    def _statement(self, statement: Tunable, way: _Way) -> Iterable[_Way]:
        match statement:
            case TaskStage():
                return self._stage(statement, way)
            case TaskSelect():
                return self._select(statement, way)
            case TaskLoop():
                return self._loop(statement, way)

    def _stage(self, stage: TaskStage, way: _Way) -> Iterator[_Way]:
        for configuration in stage.configurations:
            self._try(configuration)
            offered = [self._offered(given, way) for given in configuration.values]
            if len(offered) != len(stage.parameters) or math.prod(map(len, offered)) > MOST_CHAINS:
                if len(offered) == len(stage.parameters):
                    raise self._too_many(configuration)
                continue  # reported with the faults of the procedure
            names = [parameter.id for parameter in stage.parameters]
            left = (
                [number for number in numbers if self._fixed.get(name, number) == number]
                for name, numbers in zip(names, offered, strict=True)
            )
            for values in product(*left):
                self._try(configuration)
                yield from self._configured(stage, configuration, dict(zip(names, values, strict=True)), way)

    def _try(self, configuration: TaskConfiguration) -> None:
        self._tries += 1
        if self._tries > _MOST_TRIES:
            raise self._too_many(configuration)

    def _configured(
        self, stage: TaskStage, configuration: TaskConfiguration, sets: Mapping[str, float], way: _Way
    ) -> Iterator[_Way]:
        """Yield the way with a stage in one configuration, unless something is wrong with that."""
        now = self._having_read(configuration.values, way).having({**way.values, **sets}, sets)
        read = [stage.deadline, configuration.request, configuration.quality]  # with what the stage sets
        now = self._having_read([node for node in read if node is not None], now)
        deadline = self._deadline(stage, now)
        quality = self._fit(configuration.quality, now, bad_quality)
        hosts, seconds, model = 0.0, 0.0, ""
        if isinstance(configuration.request, HostsRequest):
            given = self._fit(configuration.request.hosts, now, bad_hosts)
            takes = self._fit(configuration.request.time, now, bad_seconds, _SECOND)
            if given is None or takes is None:
                return
            hosts, seconds = given, takes
        else:
            model = configuration.request.name
        if deadline is None or quality is None:
            return
        if math.isfinite(deadline):
            now = replace(now, due=deadline, last=stage.name)
        known = _sorted(now.values)
        found = PathStage(
            stage.name, stage.at, int(hosts), seconds, model, deadline, quality, tuple(sets.items()), known
        )
        yield now.then(found, 1)

    def _deadline(self, stage: TaskStage, way: _Way) -> float | None:
        """Return the deadline of a stage in seconds, infinite where it has none; None where it is faulty."""
        if stage.deadline is None:
            return math.inf
        found = self._fit(stage.deadline, way, bad_deadline, _SECOND)
        if found is not None and found < way.due:
            self._report(
                stage.deadline,
                f"the deadline of {stage.name}, {found:g} s, is before that of {way.last}, {way.due:g} s, which runs "
                "first: a deadline covers all stages before it, too",
            )
            return None
        return found

    def _offered(self, given: Expression | ValueRange, way: _Way) -> Sequence[float]:
        """Return the values that a configuration offers for one control parameter."""
        if not isinstance(given, ValueRange):
            found = self._value(given, way)
            return [] if found is None else [found]
        first, last = self._value(given.first, way), self._value(given.last, way)
        step = 1.0 if given.step is None else self._value(given.step, way)
        if first is None or last is None or step is None:
            return []
        count = _count(first, last, step, geometric=given.geometric)
        if count is None:
            self._report(given, _bad_range(first, last, step, geometric=given.geometric))
            return []
        if count > MOST_CHAINS:
            self._report(given, f"the range has more than {MOST_CHAINS} values: take a larger step")
            return []
        return [first * step**turn if given.geometric else first + turn * step for turn in range(int(count))]

    def _select(self, select: TaskSelect, way: _Way) -> Iterator[_Way]:
        way = self._having_read([arm.condition for arm in select.arms], way)
        held = [self._value(arm.condition, way) for arm in select.arms]
        if all(number == 0 for number in held):
            names = sorted({name for arm in select.arms for name in self._names(arm.condition)} & way.values.keys())
            where = " and ".join(f"{name} = {way.values[name]:g}" for name in names)
            self._report(
                select,
                f"no arm of this task_select holds{' where ' if where else ''}{where}: add a `when` for it, or do not "
                "set that",
            )
        for arm, holds in zip(select.arms, held, strict=True):
            for end in self._sequence(arm.body, [way]) if holds else ():
                after: _Way | None = end
                for assign in arm.finals:
                    after = None if after is None else self._assigned(assign.name, assign.value, after)
                if after is not None:
                    yield after

    def _assigned(self, name: str, expression: Expression, way: _Way) -> _Way | None:
        way = self._having_read([expression], way)
        found = self._value(expression, way)
        if found is None or self._fixed.get(name, found) != found:
            return None
        return way.having({**way.values, name: found}, [name])

    def _loop(self, loop: TaskLoop, way: _Way) -> Iterator[_Way]:
        way = self._having_read([loop.count], way)
        turns = self._fit(loop.count, way, bad_turns)
        if turns is None:
            return
        inner = replace(way, fresh=frozenset(), stale=frozenset(), due=0.0, last="", stages=0, tail=None)
        for end in self._sequence(loop.body, [inner]):
            changed = sorted(
                name for name in end.stale & end.fresh if end.values[name] != way.values.get(name, math.nan)
            )
            if changed:
                self._report(
                    loop,
                    f"{changed[0]} is read in a turn before it is set in it, so that the next turn would choose "
                    "otherwise: all turns choose alike, so set it first",
                )
                continue
            after = replace(way.having(end.values, end.fresh), stale=way.stale | (end.stale - way.fresh))
            if end.tail is None:
                yield after
            else:
                yield after.then(PathLoop(int(turns), end.elements()), int(turns) * end.stages)

    def _having_read(self, nodes: Iterable[Node], way: _Way) -> _Way:
        read = {name for node in nodes for name in self._names(node)}
        return replace(way, stale=way.stale | ((read & self._control) - way.fresh))

    def _names(self, node: Node) -> Iterator[str]:
        return (found.id for found, _ in walk(node) if isinstance(found, Name))

    def _fit(self, node: Expression, way: _Way, bad: Callable[[float], str], unit: float = 1.0) -> float | None:
        """Return a value in a unit, None where there is none or it is a bad one."""
        found = self._value(node, way)
        if found is None:
            return None
        message = bad(found / unit)
        if message:
            self._report(node, message + self._where(node, way))
            return None
        return found / unit

    def _where(self, node: Node, way: _Way) -> str:
        """Return the values of the names in an expression, for people."""
        known = {**self._given, **way.values}
        names = [name for name in dict.fromkeys(self._names(node)) if name in known]
        return f" (where {' and '.join(f'{name} = {known[name]:g}' for name in names)})" if names else ""

    def _value(self, expression: Expression, way: _Way) -> float | None:
        """Return the value of an expression; None where it has none."""
        for node, _ in walk(expression):
            if isinstance(node, Name) and node.id in self._control and node.id not in way.values:
                self._report(node, f"control parameter {node.id} is read before it is set")
                return None
        try:
            found = value(expression, {**self._given, **way.values})
        except UndefinedError as error:
            if error.node is not None:
                self._report(error.node, error.message)
            return None
        if not math.isfinite(found):
            self._report(expression, "the value is not finite")
            return None
        return found


def _sorted(values: Mapping[str, float]) -> Values:
    return tuple(sorted(values.items()))


def _count(first: float, last: float, step: float, *, geometric: bool) -> float | None:
    """Return how many values a range has; None where it never ends or has none."""
    if first > last or not (step > 1 and first > 0 if geometric else step > 0):
        return None
    turns = math.log(last / first) / math.log(step) if geometric else (last - first) / step
    return math.floor(min(turns, 2 * MOST_CHAINS) + 1e-9) + 1


def _bad_range(first: float, last: float, step: float, *, geometric: bool) -> str:
    if first > last:
        return f"the range runs from {first:g} down to {last:g}: it goes up"
    what = "by a factor above 1, from above 0" if geometric else "by a step above 0"
    return f"the range from {first:g} by {step:g}{'x' if geometric else ''} never ends: it goes up {what}"
