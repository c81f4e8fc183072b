"""Why a prediction is what it is: which statements cost how much, what binds, and what would change it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import parameters as parameters_of
from cosched.evaluation.engine import evaluate, profile
from cosched.evaluation.places import objects, places
from cosched.evaluation.steps import COMPUTE
from cosched.evaluation.variation import costlier_hardware, costlier_work, work
from cosched.language.syntax import MemoryUsage, OpcodeCount, walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.evaluation.application import Application, Parameter
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.results import Evaluation, PathPart

__all__ = ["Explanation", "Point", "Sensitivity", "WorkPart", "explain"]

_MORE = 1.1  # a cost made a tenth greater
_LITTLE = 1e-3  # small enough that another path seldom becomes the critical one


@dataclass(frozen=True, slots=True)
class Point:
    """What the run time on one number of hosts is made of; the four parts add up to it.

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
    """What the run time owes to one piece of sequential work: were it free, the run would be about so much shorter.

    Attributes:
        file: and `line`: of the cflow statement.
        kind: "compute", "loop" (its head), "case" (its head) or "measured".
        seconds: of the run time.
    """

    file: str
    line: int
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What becomes of the run time when one number changes.

    Attributes:
        name: of a parameter, or of a cost of the hardware: "clc AFDG", "memory L2, per byte".
        value: as it is; None for a cost of the hardware.
        changed: what it is changed to, about a tenth more; None for a cost of the hardware, which is a tenth more.
        seconds: the run time then.
        elasticity: percent of run time for a percent of it: 1 for what the run time is proportional to.
    """

    name: str
    value: float | None
    changed: float | None
    seconds: float
    elasticity: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a prediction is what it is.

    Attributes:
        points: one for each number of hosts that the model covers, ascending.
        best: the smallest number of hosts with the shortest run time among them.
        at: the number of hosts that the rest is about.
        evaluation: on that number of hosts.
        work: sequential work by statement, the most first.
        parameters: sensitivity to each parameter that has a value, the strongest first.
        costs: sensitivity to each cost of the hardware that matters, the strongest first.
    """

    points: tuple[Point, ...]
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
) -> Explanation:
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
    return Explanation(
        points=tuple(_point(count, evaluations[count]) for count in covered),
        best=best,
        at=at,
        evaluation=evaluations[at],
        work=_work(application, hardware, at, given),
        parameters=_parameters(application, hardware, at, given),
        costs=_costs(application, hardware, at, given),
    )


def _point(count: int, found: Evaluation) -> Point:
    even = sum(times.compute for times in found.processors) / len(found.processors)
    path = sum(part.seconds for part in found.path if part.kind == COMPUTE)
    latency = sum(part.latency for part in found.path)
    # Where the critical path holds less work than is even, all of it is even.
    return Point(
        count, found.seconds, min(even, path), max(path - even, 0.0), latency, max(found.seconds - path - latency, 0.0)
    )


def _work(application: Application, hardware: Hardware, at: int, given: Mapping[str, float]) -> tuple[WorkPart, ...]:
    now = _time(application, hardware, at, given)
    found = []
    for piece in work(application):
        later = _time(costlier_work(application, piece, 1 + _LITTLE), hardware, at, given)
        if later > now:
            found.append(WorkPart(piece.source.file, piece.at.line, piece.kind, (later - now) / _LITTLE))
    return tuple(sorted(found, key=lambda part: (-part.seconds, part.file, part.line)))


def _parameters(
    application: Application, hardware: Hardware, at: int, given: Mapping[str, float]
) -> tuple[Sensitivity, ...]:
    now = _time(application, hardware, at, given)
    found = []
    for parameter in parameters_of(application):
        value = given.get(parameter.name, parameter.default)
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


def _changed(value: float, parameter: Parameter) -> float:
    """Return a value about a tenth greater, or smaller where the limits leave no room; whole where it is whole."""
    step = max(1.0, round(abs(value) / 10)) if value == int(value) else abs(value) / 10
    return value + step if value + step <= parameter.most else max(value - step, parameter.least)


def _costs(
    application: Application, hardware: Hardware, at: int, given: Mapping[str, float]
) -> tuple[Sensitivity, ...]:
    now = _time(application, hardware, at, given)
    nodes = [node for linked in objects(application.root) for node, _ in walk(linked.object)]
    opcodes = {node.opcode for node in nodes if isinstance(node, OpcodeCount)}
    memory = any(isinstance(node, MemoryUsage) for node in nodes)
    found = []
    groups = places(application.root).groups
    for name, costlier in costlier_hardware(hardware, opcodes, groups, _MORE, memory=memory):
        then = _time(application, costlier, at, given)
        if then > now:
            found.append(Sensitivity(name, None, None, then, (then / now - 1) / (_MORE - 1)))
    return tuple(sorted(found, key=_strongest))


def _strongest(found: Sensitivity) -> tuple[float, str]:
    return -abs(found.elasticity), found.name


def _time(application: Application, hardware: Hardware, count: int, given: Mapping[str, float]) -> float:
    return float(profile(application, hardware, [count], given)[0])
