"""Read a problem from the JSON of `cosched plan`.

    {"hosts": 16 | [{"name": "n1", "class": "fast", "available": [{"from": 0, "until": 3600}]}, …],
     "reservations": [{"hosts": ["n1"], "from": 600, "until": 900}, …],
     "tasks": [{"id": "a", "profile": TIMES | {"fast": TIMES, …},
                "deadline": 90, "release": 0, "depends_on": ["b"]}, …]}

Times are seconds; `host_elements` says more of the hosts. TIMES are the run times on 1, 2, … hosts, null where that
count cannot be used; what lies above the number of hosts is checked and dropped. Uncertain ones are three lists,
{"low": […], "expected": […], "high": […]}, of which the plan is made for the wanted quantile (see
`Profile.at_quantile`). TIMES hold for every class; in an object, a class that is missing cannot run the task. Anything
not understood is refused with the path of the element, as in `tasks[3].profile[2]: …`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.prediction.profile import Profile, Source
from cosched.scheduling.absences import settled
from cosched.scheduling.host_elements import MOST_HOSTS, HostElements, read_hosts, read_reservations
from cosched.scheduling.json_elements import a_list, a_name, a_time, an_object, shown
from cosched.scheduling.problem import Problem
from cosched.scheduling.widths import best_seconds, lasting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_TASKS", "from_document"]

MOST_TASKS = 20_000
_MOST_CELLS = 25_000_000  # classes x tasks x hosts: 200 MB
_MOST_NAMED = 10  # tasks of a cycle in a message


def from_document(value: object, quantile: float = 0.5) -> Problem:
    """Return the problem that a JSON document describes.

    Args:
        value: see above.
        quantile: plan with the times that this share of runs stays below, where they are uncertain.

    Raises:
        UserError: with the path of the bad element.
    """
    document = an_object(value, "", {"hosts", "tasks", "reservations"}, {"hosts", "tasks"})
    hosts = read_hosts(document["hosts"])
    names, classes = hosts.names, hosts.classes
    items = a_list(document["tasks"], "tasks", 1, MOST_TASKS)
    if len(classes) * len(items) * len(names) > _MOST_CELLS:
        raise UserError(
            f"tasks: {len(items)} tasks x {len(names)} hosts x {len(classes)} classes are too many: "
            f"keep the product below {_MOST_CELLS}"
        )
    reserved = read_reservations(document.get("reservations", []), names)
    free, absences = settled(np.zeros(len(names)), [*hosts.absences, *reserved])
    problem = replace(_problem(items, hosts, quantile), free=free, absences=absences)
    _refuse_impossible(problem)
    return problem


def _problem(items: list[Any], hosts: HostElements, quantile: float) -> Problem:
    names, classes = hosts.names, hosts.classes
    seconds = np.full((len(classes), len(items), len(names)), np.inf)
    release, deadline = np.zeros(len(items)), np.full(len(items), np.inf)
    known = {"id", "profile", "deadline", "release", "depends_on"}
    index: dict[str, int] = {}
    found = []
    for task, element in enumerate(items):
        where = f"tasks[{task}]"
        item = an_object(element, where, known, {"id", "profile"})
        found.append(item)
        name = a_name(item["id"], f"{where}.id")
        if name in index:
            raise UserError(f"{where}.id: {name!r} is also tasks[{index[name]}].id: give each task an id of its own")
        index[name] = task
        _fill_profile(item["profile"], f"{where}.profile", classes, seconds[:, task, :], quantile)
        release[task] = a_time(item.get("release", 0), f"{where}.release", zero=True)
        if "deadline" in item:
            deadline[task] = a_time(item["deadline"], f"{where}.deadline")
    depends_on = tuple(_predecessors(item, f"tasks[{task}]", task, index) for task, item in enumerate(found))
    _refuse_cycles(depends_on)
    return Problem(
        tuple(index),
        names,
        classes,
        hosts.host_class,
        np.zeros(len(names)),
        seconds,
        release,
        deadline,
        depends_on if any(depends_on) else (),
    )


def _fill_profile(
    value: object, where: str, classes: tuple[str, ...], seconds: NDArray[np.float64], quantile: float
) -> None:
    if isinstance(value, dict) and ("expected" in classes or "expected" not in value):
        if not value:
            raise UserError(f"{where}: no class is given: give run times for at least one")
        for name, times in value.items():
            if name not in classes:
                raise UserError(f"{where}.{shown(name)}: no host has this class: the classes are {', '.join(classes)}")
            _fill_times(times, f"{where}.{name}", seconds[classes.index(name)], quantile)
    else:
        _fill_times(value, where, seconds[0], quantile)
        seconds[1:] = seconds[0]


def _fill_times(value: object, where: str, row: NDArray[np.float64], quantile: float) -> None:
    times = _at_quantile(value, where, quantile) if isinstance(value, dict) else _times(value, where)
    usable = min(len(times), len(row))
    row[:usable] = times[:usable]


def _at_quantile(value: dict[str, Any], where: str, quantile: float) -> Sequence[float]:
    an_object(value, where, {"low", "expected", "high"}, {"low", "expected", "high"})
    low, expected, high = (tuple(_times(value[name], f"{where}.{name}")) for name in ("low", "expected", "high"))
    try:
        return Profile(expected, Source.USER, low=low, high=high).at_quantile(quantile).seconds
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _times(value: object, where: str) -> list[float]:
    return [
        math.inf if time is None else a_time(time, f"{where}[{column}]")
        for column, time in enumerate(a_list(value, where, 1, MOST_HOSTS))
    ]


def _predecessors(item: dict[str, Any], where: str, task: int, index: dict[str, int]) -> tuple[int, ...]:
    found: dict[int, None] = {}  # in the file's order
    for number, name in enumerate(a_list(item.get("depends_on", []), f"{where}.depends_on", 0, MOST_TASKS)):
        here = f"{where}.depends_on[{number}]"
        other = index.get(name) if isinstance(name, str) else None
        if other is None:
            raise UserError(f"{here}: {shown(name)} is not the id of a task")
        if other == task:
            raise UserError(f"{here}: the task depends on itself")
        if other in found:
            raise UserError(f"{here}: {name!r} is there twice")
        found[other] = None
    return tuple(found)


def _refuse_cycles(depends_on: tuple[tuple[int, ...], ...]) -> None:
    try:
        TopologicalSorter(dict(enumerate(depends_on))).prepare()
    except CycleError as error:
        waiting = error.args[1][:0:-1]  # each for the one behind it
        first = waiting.index(min(waiting))
        names = [f"tasks[{task}]" for task in (*waiting[first:], *waiting[: first + 1])]
        if len(names) > _MOST_NAMED:
            names[_MOST_NAMED - 1 : -1] = [f"… {len(names) - _MOST_NAMED} more …"]
        raise UserError(f"{names[0]}.depends_on: tasks wait for each other: {' → '.join(names)}") from None


def _refuse_impossible(problem: Problem) -> None:
    possible = np.isfinite(best_seconds(problem)).any(axis=1)
    if not possible.all():
        task = int(np.flatnonzero(~possible)[0])
        staying = int(lasting(problem).sum())
        leave = " that stay or come back" if staying < len(problem.hosts) else ""
        raise UserError(
            f"tasks[{task}].profile: none of its host counts can be used on these "
            f"{staying} hosts{leave}: give a time for a count that exists"
        )
