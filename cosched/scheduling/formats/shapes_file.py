"""Read what shared hosts have and what tasks take of them, in the files of `problem_file`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import quoted, read_list, read_object, read_time
from cosched.scheduling.packing import Packing
from cosched.scheduling.shapes import best_shape_seconds
from cosched.sizes import format_memory, parse_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["RESOURCES", "read_capacity", "with_packing"]

RESOURCES = ("cores", "memory", "gpus")
"""What a host has: cores, MiB, devices."""

_MOST = 1_000_000  # cores or GPUs of a host
_MOST_SHAPES = 1000  # of a task
_Shape = tuple[int, tuple[int, ...], list[float]]


def read_capacity(hosts: Sequence[dict[str, Any]]) -> NDArray[np.int64] | None:
    """Return (N, 3) what each host of an element `hosts` has; None where none says so.

    Raises:
        UserError: with the path of the bad element.
    """
    if not any(host.get(name) is not None for host in hosts for name in RESOURCES):
        return None
    rows = []
    for number, host in enumerate(hosts):
        where = f"hosts[{number}]"
        if host.get("cores") is None:
            raise UserError(f"{where}: cores is missing: other hosts are shared, so say how many each has")
        rows.append(_amounts(host, where, least=1))
    return np.array(rows, dtype=np.int64)


def with_packing(problem: Problem, capacity: NDArray[np.int64], items: Sequence[dict[str, Any]]) -> Problem:
    """Return a problem whose tasks share the hosts.

    Args:
        problem: its run times by host count, where tasks have profiles.
        capacity: see `read_capacity`.
        items: the tasks' elements.

    Raises:
        UserError: with the path of the bad element.
    """
    shapes: list[_Shape] = []
    first = [0]
    for task, item in enumerate(items):
        where = f"tasks[{task}]"
        if "shapes" in item:
            shapes += _shapes(problem, item, where)
        else:
            if item.get("cores") is None:
                raise UserError(f"{where}: cores is missing: hosts are shared, so say how many it takes of each")
            demand = _amounts(item, where, least=1)
            times = problem.seconds[:, task, :].T
            shapes += [
                (count, demand, row.tolist()) for count, row in enumerate(times, 1) if bool(np.isfinite(row).any())
            ]
        if len(shapes) == first[-1]:
            raise UserError(
                f"{where}.profile: none of its host counts can be used on these {len(problem.hosts)} hosts: "
                "give a time for a count that exists"
            )
        first.append(len(shapes))
    packing = Packing(
        RESOURCES,
        capacity,
        np.array(first, dtype=np.int64),
        np.array([hosts for hosts, _, _ in shapes], dtype=np.int64),
        np.array([demand for _, demand, _ in shapes], dtype=np.int64),
        np.array([seconds for _, _, seconds in shapes], dtype=np.float64).reshape(len(shapes), len(problem.classes)),
    )
    packed = replace(problem, packing=packing, seconds=packing.seconds_by_count(len(problem.classes)))
    _refuse_impossible(packed, packing)
    return packed


def _shapes(problem: Problem, item: dict[str, Any], where: str) -> Iterator[_Shape]:
    for other in ("profile", *RESOURCES):
        if other in item:
            raise UserError(f"{where}: {other} and shapes are both there: keep one")
    for number, element in enumerate(read_list(item["shapes"], f"{where}.shapes", 1, _MOST_SHAPES)):
        here = f"{where}.shapes[{number}]"
        shape = read_object(element, here, {"hosts", "seconds", *RESOURCES}, {"cores", "seconds"})
        hosts = _count(shape.get("hosts", 1), f"{here}.hosts", 1, len(problem.hosts))
        yield hosts, _amounts(shape, here, least=1), _seconds(shape["seconds"], f"{here}.seconds", problem.classes)


def _seconds(value: object, where: str, classes: Sequence[str]) -> list[float]:
    """Return run times by class."""
    if not isinstance(value, dict):
        return [read_time(value, where)] * len(classes)
    for name in value:
        if name not in classes:
            raise UserError(f"{where}.{quoted(name)}: no host has this class: the classes are {', '.join(classes)}")
    return [read_time(value[name], f"{where}.{name}") if name in value else math.inf for name in classes]


def _amounts(element: dict[str, Any], where: str, least: int) -> tuple[int, ...]:
    """Return cores, MiB and GPUs of an element."""
    memory = element.get("memory")
    try:
        size = 0 if memory is None else parse_memory(memory if isinstance(memory, int | str) else quoted(memory))
    except UserError as error:
        raise UserError(f"{where}.memory: {error}") from None
    gpus = element.get("gpus")
    return (
        _count(element.get("cores"), f"{where}.cores", least, _MOST),
        size,
        0 if gpus is None else _count(gpus, f"{where}.gpus", 0, _MOST),
    )


def _count(value: object, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(f"{where}: {quoted(value)} is no number of them: give {least} to {most}")
    return value


def _refuse_impossible(problem: Problem, packing: Packing) -> None:
    """Refuse a task none of whose shapes enough hosts can hold; say what the largest host has."""
    possible = np.logical_or.reduceat(np.isfinite(best_shape_seconds(problem, packing)), packing.first[:-1])
    if not possible.all():
        task = int(np.flatnonzero(~possible)[0])
        most = packing.capacity.max(axis=0)
        least = packing.demand[packing.owner == task].min(axis=0)
        above = [_amount(RESOURCES[index], least[index]) for index in np.flatnonzero(least > most)]
        why = f"no host has {' or '.join(above)}" if above else "there are never so many hosts with what it takes"
        had = ", ".join(map(_amount, RESOURCES, most))
        raise UserError(f"tasks[{task}]: {why}: ask for less (the most that any host has: {had})")


def _amount(resource: str, number: int) -> str:
    return f"{format_memory(int(number))} of memory" if resource == "memory" else f"{number} {resource}"
