"""Explain a prediction: its parts, its bottleneck, and changes that would matter.

`explain` is `cosched model explain`; sensitivities come from evaluating a model or hardware with one cost made greater.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import parameter_values
from cosched.evaluation.application import parameters as parameters_of
from cosched.evaluation.clocks.steps import COMPUTE
from cosched.evaluation.engine import evaluate, profile
from cosched.evaluation.report.costlier import costlier_hardware
from cosched.evaluation.sites import linked_objects, sites
from cosched.language.linker import Linked
from cosched.language.syntax import (
    Binary,
    BlockUsage,
    Case,
    Compute,
    Loop,
    Measured,
    MeasuredUsage,
    Measurement,
    MemoryUsage,
    Node,
    Number,
    OpcodeCount,
    OpcodeUsage,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.evaluation.application import Application, ModelParameter
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.results import Evaluation, PathPart
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Expression, Object, Position

__all__ = [
    "PredictionExplanation",
    "Sensitivity",
    "SequentialWork",
    "TimeParts",
    "WorkPart",
    "costlier_work",
    "explain",
    "sequential_work",
]


@dataclass(frozen=True, slots=True)
class SequentialWork:
    """A piece of sequential work: one cflow statement's cost without its nested statements.

    Attributes:
        source: source of the statement.
        at: its position.
        kind: "compute", "loop" (its head), "case" (its head) or "measured".
        node: the cost in the tree.
    """

    source: Source
    at: Position
    kind: str
    node: OpcodeUsage | MeasuredUsage | MemoryUsage | BlockUsage | Measured


def sequential_work(application: Application) -> Iterator[SequentialWork]:
    """Yield every piece of sequential work of an application and what it includes."""
    kinds = {Compute: "compute", Loop: "loop", Case: "case"}
    for linked in linked_objects(application.root):
        for procedure in linked.object.procedures:
            for node, _ in walk(*procedure.body):
                if isinstance(node, Measured):
                    yield SequentialWork(linked.object.source, node.at, "measured", node)
                elif isinstance(node, Compute | Loop | Case) and (
                    not isinstance(node.usage, OpcodeUsage) or node.usage.entries
                ):
                    yield SequentialWork(linked.object.source, node.at, kinds[type(node)], node.usage)


def costlier_work(application: Application, piece: SequentialWork, factor: float) -> Application:
    """Return the application with one piece of work taking `factor` times as long."""
    made: dict[Linked, Linked] = {}
    for linked in linked_objects(application.root):
        item = linked.object
        # An object without that work stays the same: what is known of it is not found anew.
        made[linked] = Linked(cast("Object", _replaced(item, piece.node, factor)))
    for linked, copy in made.items():
        copy.includes.update((name, made[other]) for name, other in linked.includes.items())
    return replace(application, root=made[application.root])


def _replaced(node: Node, wanted: Node, factor: float) -> Node:
    """Return a tree with the cost `wanted` scaled; parts without it stay the same nodes."""
    if node is wanted:
        return _scaled(node, factor)
    changes: dict[str, object] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            new: object = _replaced(value, wanted, factor)
            if new is not value:
                changes[field.name] = new
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            items = tuple(_replaced(item, wanted, factor) for item in value)
            if any(one is not other for one, other in zip(items, value, strict=True)):
                changes[field.name] = items
    return replace(node, **changes) if changes else node  # type: ignore[arg-type]  # the fields that it has


def _scaled(node: Node, factor: float) -> Node:
    def times(expression: Expression | None, at: Position) -> Expression:
        number = Number(at, factor)
        return number if expression is None else Binary(at, "*", expression, number)

    match node:
        case OpcodeUsage():
            entries = tuple(OpcodeCount(item.at, times(item.count, item.at), item.opcode) for item in node.entries)
            return replace(node, entries=entries)
        case MeasuredUsage():
            return replace(node, time=times(node.time, node.at))
        case BlockUsage():
            return replace(node, count=times(node.count, node.at))
        case MemoryUsage():
            return replace(node, volume=times(node.volume, node.at))
        case Measured():
            entries_ = tuple(Measurement(item.at, item.key, times(item.time, item.at)) for item in node.entries)
            return replace(node, entries=entries_)
    raise AssertionError(node)


_COST_FACTOR = 1.1  # a cost made a tenth greater
_SMALL_CHANGE = 1e-3  # small enough that another path seldom becomes the critical one


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Parts of the run time on one host count; the four add up to it.

    Attributes:
        hosts: how many.
        seconds: predicted run time.
        compute: seconds of work, were it spread evenly over the processors.
        imbalance: seconds by which the work on the critical path is more than that: work that others wait for.
        latency: seconds of messages on the critical path that do not depend on their sizes.
        bandwidth: seconds of messages on the critical path that do.
    """

    hosts: int
    seconds: float
    compute: float
    imbalance: float
    latency: float
    bandwidth: float

    @property
    def binds(self) -> str:
        """The name of the greatest part."""
        return max(("compute", "imbalance", "latency", "bandwidth"), key=lambda name: getattr(self, name))


@dataclass(frozen=True, slots=True)
class WorkPart:
    """Share of one piece of sequential work in the run time.

    If the work were free, the run would be about this much shorter.

    Attributes:
        file: and `line`: of the cflow statement.
        kind: "compute", "loop" (its head), "case" (its head) or "measured".
        seconds: seconds of the run time.
    """

    file: str
    line: int
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Effect of one number's change on the run time.

    Attributes:
        name: name of a parameter, or of a cost of the hardware: "clc AFDG", "memory L2, per byte".
        value: as it is; None for a cost of the hardware.
        changed: the changed value, about a tenth more; None for a cost of the hardware, which is a tenth more.
        seconds: the run time then.
        elasticity: percent of run time for a percent of it: 1 for what the run time is proportional to.
    """

    name: str
    value: float | None
    changed: float | None
    seconds: float
    elasticity: float


@dataclass(frozen=True, slots=True)
class PredictionExplanation:
    """The explanation of a prediction.

    Attributes:
        points: one for each number of hosts that the model covers, ascending.
        best: the smallest number of hosts with the shortest run time among them.
        at: the number of hosts that the rest is about.
        evaluation: on that number of hosts.
        work: sequential work by statement, the most first.
        parameters: sensitivity to each parameter that has a value, the strongest first.
        costs: sensitivity to each cost of the hardware that matters, the strongest first.
    """

    points: tuple[TimeParts, ...]
    best: int
    at: int
    evaluation: Evaluation
    work: tuple[WorkPart, ...]
    parameters: tuple[Sensitivity, ...]
    costs: tuple[Sensitivity, ...]

    @property
    def path(self) -> tuple[PathPart, ...]:
        """The critical path by step, the longest first."""
        return self.evaluation.path


def explain(
    application: Application,
    hardware: Hardware,
    hosts: Sequence[int],
    parameters: Mapping[str, float] | None = None,
    at: int | None = None,
) -> PredictionExplanation:
    """Return why the predictions for some numbers of hosts are what they are.

    Args:
        application: from `load`.
        hardware: from `load_hardware`.
        hosts: numbers of hosts.
        parameters: values of the application's parameters; defaults for the others.
        at: the number of hosts to look into; the best of `hosts` where None.

    Raises:
        UserError: as for `profile`; or `at` cannot be used.
    """
    given = dict(parameters or {})
    counts = sorted({*hosts, *(() if at is None else (at,))})
    seconds = profile(application, hardware, counts, given)
    covered = [count for count, value in zip(counts, seconds, strict=True) if math.isfinite(value)]
    best = counts[int(np.argmin(seconds))]
    at = best if at is None else at
    evaluations = {count: evaluate(application, hardware, count, given) for count in sorted({*covered, at})}
    return PredictionExplanation(
        points=tuple(_point(count, evaluations[count]) for count in covered),
        best=best,
        at=at,
        evaluation=evaluations[at],
        work=_work_parts(application, hardware, at, given),
        parameters=_parameters(application, hardware, at, given),
        costs=_costs(application, hardware, at, given),
    )


def _point(count: int, found: Evaluation) -> TimeParts:
    even = sum(times.compute for times in found.processors) / len(found.processors)
    path = sum(part.seconds for part in found.path if part.kind == COMPUTE)
    latency = sum(part.latency for part in found.path)
    # Where the critical path holds less work than is even, all of it is even.
    return TimeParts(
        count, found.seconds, min(even, path), max(path - even, 0.0), latency, max(found.seconds - path - latency, 0.0)
    )


def _work_parts(
    application: Application, hardware: Hardware, at: int, given: Mapping[str, float]
) -> tuple[WorkPart, ...]:
    now = _time(application, hardware, at, given)
    found = []
    for piece in sequential_work(application):
        later = _time(costlier_work(application, piece, 1 + _SMALL_CHANGE), hardware, at, given)
        if later > now:
            found.append(WorkPart(piece.source.file, piece.at.line, piece.kind, (later - now) / _SMALL_CHANGE))
    return tuple(sorted(found, key=lambda part: (-part.seconds, part.file, part.line)))


def _parameters(
    application: Application, hardware: Hardware, at: int, given: Mapping[str, float]
) -> tuple[Sensitivity, ...]:
    now, values = _time(application, hardware, at, given), parameter_values(application, given)
    found = []
    for parameter in parameters_of(application):
        value = values[parameter.name]
        if value is None or value == 0:
            continue
        changed = _changed(value, parameter)
        try:
            then = _time(application, hardware, at, {**given, parameter.name: changed})
        except UserError:
            continue  # the model does not cover it
        elasticity = (then / now - 1) / (changed / value - 1) if now > 0 and changed != value else 0.0
        found.append(Sensitivity(parameter.name, value, changed, then, elasticity))
    return tuple(sorted(found, key=_strongest))


def _changed(value: float, parameter: ModelParameter) -> float:
    """Return a value about a tenth greater, or smaller if the limits leave no room."""
    step = max(1.0, round(abs(value) / 10)) if value == int(value) else abs(value) / 10
    return value + step if value + step <= parameter.most else max(value - step, parameter.least)


def _costs(
    application: Application, hardware: Hardware, at: int, given: Mapping[str, float]
) -> tuple[Sensitivity, ...]:
    now = _time(application, hardware, at, given)
    nodes = [node for linked in linked_objects(application.root) for node, _ in walk(linked.object)]
    opcodes = {node.opcode for node in nodes if isinstance(node, OpcodeCount)}
    memory = any(isinstance(node, MemoryUsage) for node in nodes)
    found = []
    groups = sites(application.root).groups
    blocks = {f"{application.name}.{node.name}" for node in nodes if isinstance(node, BlockUsage)}
    varied = costlier_hardware(hardware, opcodes, groups, _COST_FACTOR, memory=memory, blocks=sorted(blocks))
    for name, costlier in varied:
        then = _time(application, costlier, at, given)
        if then > now:
            found.append(Sensitivity(name, None, None, then, (then / now - 1) / (_COST_FACTOR - 1)))
    return tuple(sorted(found, key=_strongest))


def _strongest(found: Sensitivity) -> tuple[float, str]:
    return -abs(found.elasticity), found.name


def _time(application: Application, hardware: Hardware, count: int, given: Mapping[str, float]) -> float:
    return float(profile(application, hardware, [count], given)[0])
