"""Read what tasks side by side on shared hosts cost one another, in the files of `problem_file`.

Their times are then those beside others that fill what a task leaves of its hosts, as the daemon plans
(`cosched.prediction.contention`). Start at `with_contention`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.prediction.contention import (
    LARGEST_SLOWDOWN,
    exponent_of,
    left_beside,
    stated_slowdown,
    times_longer,
)
from cosched.scheduling.formats.input_file import quoted, read_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["CONTENTION", "refuse_contention", "with_contention"]

CONTENTION = "contention"
"""The key of the file, of a host and of a task."""

_MOST_KINDS = 64  # of hosts: each has run times of its own


@dataclass(frozen=True, slots=True)
class _HostKind:
    """What is the same of hosts that are as quick.

    Attributes:
        place: index of their class.
        cores: of each.
        memory: of each, MiB; 0 where it is not counted.
        slowdown: stated for them; 0 for none.
    """

    place: int
    cores: int
    memory: int
    slowdown: float


def refuse_contention(document: Mapping[str, Any], hosts: object, items: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a statement on contention in a file whose hosts are not shared.

    Raises:
        UserError: with the path of the first.
    """
    stated = [CONTENTION] if document.get(CONTENTION) is not None else []
    for name, elements in (("hosts", hosts if isinstance(hosts, list) else []), ("tasks", items)):
        found = [number for number, each in enumerate(elements) if each.get(CONTENTION) is not None]
        stated += [f"{name}[{number}].{CONTENTION}" for number in found]
    if stated:
        raise UserError(
            f"{stated[0]}: each task has its hosts for itself: give hosts their cores, and tasks share them"
        )


def with_contention(
    problem: Problem,
    document: Mapping[str, Any],
    hosts: Sequence[Mapping[str, Any]],
    items: Sequence[Mapping[str, Any]],
) -> Problem:
    """Return a problem with the times beside others; without a statement, or where nothing is slower, the same.

    Hosts of one class that differ in size or in what is stated become several classes, as tasks are not as quick there.

    Args:
        problem: tasks share its hosts, their times are those alone.
        document: the file: slowdowns on a host that others fill by class, "default" for those that are not named.
        hosts: elements; a host's own slowdown counts before its class's.
        items: the tasks' elements; a task's own slowdown, one or by class, counts before those of hosts.

    Raises:
        UserError: with the path of the bad element.
    """
    packing = problem.packing
    assert packing is not None, "hosts are shared"
    stated = _by_class(document.get(CONTENTION), CONTENTION, (*problem.classes, "default"))
    own = [_of_task(item, f"tasks[{task}].{CONTENTION}", problem.classes) for task, item in enumerate(items)]
    kinds = [
        _HostKind(place, cores, memory, _of_host(host, f"hosts[{number}].{CONTENTION}", stated, problem.classes[place]))
        for number, (host, place, (cores, memory, *_)) in enumerate(
            zip(hosts, problem.host_class.tolist(), packing.capacity.tolist(), strict=True)
        )
    ]
    if not any(kind.slowdown for kind in kinds) and not any(any(each.values()) for each in own):
        return problem
    distinct = sorted(dict.fromkeys(kinds), key=lambda kind: kind.place)
    if len(distinct) > max(_MOST_KINDS, len(problem.classes)):
        raise UserError(
            f"{CONTENTION}: the hosts are of {len(distinct)} classes and sizes, and tasks would be as quick on none of "
            f"them as on another: give at most {_MOST_KINDS}"
        )
    places = np.array([kind.place for kind in distinct], dtype=np.int64)
    seconds = packing.seconds[:, places] * _times_longer(problem, distinct, own)
    number_of = {kind: number for number, kind in enumerate(distinct)}
    return replace(
        problem,
        classes=_names(problem.classes, distinct),
        host_class=np.array([number_of[kind] for kind in kinds], dtype=np.int64),
        packing=(slower := replace(packing, seconds=seconds)),
        seconds=slower.seconds_by_count(len(distinct)),
    )


def _times_longer(
    problem: Problem, kinds: Sequence[_HostKind], own: Sequence[Mapping[str, float]]
) -> NDArray[np.float64]:
    """Return (S, kinds): how many times longer than alone each shape runs on hosts of each kind."""
    packing = problem.packing
    assert packing is not None, "hosts are shared"
    factors = np.ones((len(packing.hosts), len(kinds)))
    exponents = [exponent_of(kind.slowdown) for kind in kinds]
    known: dict[tuple[int, int], list[float]] = {}  # thousands of shapes take few different parts of hosts
    for shape, (task, (cores, memory, *_)) in enumerate(
        zip(packing.owner.tolist(), packing.demand.tolist(), strict=True)
    ):
        parts = known.get((cores, memory))
        if parts is None:
            parts = known[cores, memory] = [left_beside(cores, memory, kind.cores, kind.memory) for kind in kinds]
        mine = own[task]
        for column, (kind, part) in enumerate(zip(kinds, parts, strict=True)):
            slowdown = mine.get(problem.classes[kind.place])
            exponent = exponents[column] if slowdown is None else exponent_of(slowdown)
            factors[shape, column] = times_longer(exponent, part)
    return factors


def _names(classes: Sequence[str], kinds: Sequence[_HostKind]) -> tuple[str, ...]:
    """Return a name for each kind of hosts, that of the class where it is the only one of it."""
    several = {kind.place for kind in kinds if sum(other.place == kind.place for other in kinds) > 1}
    return tuple(
        classes[kind.place] + (f" of {kind.cores} cores, {kind.memory}M, {kind.slowdown:g}" * (kind.place in several))
        for kind in kinds
    )


def _of_host(host: Mapping[str, Any], where: str, stated: Mapping[str, float], host_class: str) -> float:
    value = host.get(CONTENTION)
    return stated_slowdown(stated, host_class) if value is None else _slowdown(value, where)


def _of_task(item: Mapping[str, Any], where: str, classes: Sequence[str]) -> Mapping[str, float]:
    """Return a task's own slowdowns by class; empty where it has none."""
    value = item.get(CONTENTION)
    if value is None or isinstance(value, dict):
        return _by_class(value, where, classes)
    return dict.fromkeys(classes, _slowdown(value, where))


def _by_class(value: object, where: str, classes: Sequence[str]) -> dict[str, float]:
    if value is None:
        return {}
    found = read_object(value, where, set(classes), set())
    return {name: _slowdown(each, f"{where}.{name}") for name, each in found.items()}


def _slowdown(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_SLOWDOWN:
        raise UserError(
            f"{where}: {quoted(value)} is no slowdown on a host that others fill: give 0.08 for 8 %, at most "
            f"{LARGEST_SLOWDOWN:g}"
        )
    return float(value)
