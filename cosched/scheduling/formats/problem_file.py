"""A problem is read from the JSON of `cosched plan`.

    {"hosts": 16 | [{"name": "n1", "class": "fast", "available": [{"from": 0, "until": 3600}, …]}, …],
     "reservations": [{"hosts": ["n1"], "from": 600, "until": 900, "name": "course"}, …],
     "tasks": [{"id": "a", "profile": TIMES | {"fast": TIMES, …},
                "deadline": 90, "release": 0, "waited": 60, "depends_on": ["b"]}, …]}

Hosts that tasks share have `"cores": 32, "memory": "64 GiB", "gpus": 1` (cores all of them), and tasks say what they
take of each of their hosts by the same keys; a task that can run in several shapes has in place of `profile`
`"shapes": [{"hosts": 1, "cores": 8, "memory": 4096, "seconds": 90 | {"fast": 60, …}}, …]`.

What tasks side by side cost one another is `"contention": {"fast": 0.08}` of the file, by class, `"contention": 0.08`
of a host or a task, see `contention_file`.

Licences that tasks hold while they run are `"licences": {"matlab": 4}` of the file and `"licences": {"matlab": 2}` of a
task.

A task that may change its hosts while it runs has `"elastic": {"least": 1, "most": 8, "cost": 3, "drain": 5}`, see
`elastic_file`.

Tasks that run already are `"running": [{"id": "a", "hosts": ["host1"], "left": 0.4}]` of the file, see `running_file`.

TIMES are run times in seconds on 1, 2, … hosts, null where a count cannot be used, for all classes or by class (a
missing class cannot run the task); uncertain ones are {"low": […], "expected": […], "high": […]}. A host without
`available` is always there. Anything not understood is refused with the path of the element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.availability import Unavailability, normalised_availability
from cosched.scheduling.formats.contention_file import CONTENTION, refuse_contention, with_contention
from cosched.scheduling.formats.elastic_file import refuse_elastic, with_elastic
from cosched.scheduling.formats.input_file import quoted, read_list, read_name, read_object, read_time
from cosched.scheduling.formats.licences_file import with_licences_of
from cosched.scheduling.formats.running_file import refuse_running, with_running
from cosched.scheduling.formats.shapes_file import RESOURCES, read_capacity, with_packing
from cosched.scheduling.host_counts import best_seconds, staying_hosts
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_HOSTS", "MOST_TASKS", "HostElements", "problem_from_document", "read_hosts", "read_reservations"]

# A host without `available` is always there, one with it in these windows only; a window without `until` does not
# end. A reservation without `until` keeps its hosts for good.


MOST_HOSTS = 4096
_MOST_WINDOWS = 1000
_SAME = "default"


@dataclass(frozen=True, slots=True)
class HostElements:
    """Hosts as a file has them.

    Attributes:
        names: names of the N hosts.
        classes: names of the classes.
        host_class: (N,) index of each host's class.
        unavailability: times between the windows in which hosts are available, in no order.
        capacity: (N, 3) what hosts that tasks share have, see `shapes_file.RESOURCES`; None where each task has its
            hosts for itself.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    host_class: NDArray[np.int64]
    unavailability: tuple[Unavailability, ...] = ()
    capacity: NDArray[np.int64] | None = None


def read_hosts(value: object) -> HostElements:
    """Return the hosts of an element `hosts`.

    Raises:
        UserError: with the path of the bad element.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_HOSTS:
            raise UserError(f"hosts: {value} hosts: give 1 to {MOST_HOSTS}")
        width = len(str(value))
        names = [f"host{number:0{width}d}" for number in range(1, value + 1)]
        return HostElements(tuple(names), (_SAME,), np.zeros(value, dtype=np.int64))
    if not isinstance(value, list):
        raise UserError("hosts: give a number of hosts or a list of {name, class}")
    seen: dict[str, int] = {}
    classes: dict[str, int] = {}
    unavailability: list[Unavailability] = []
    for number, item in enumerate(read_list(value, "hosts", 1, MOST_HOSTS)):
        where = f"hosts[{number}]"
        host = read_object(item, where, {"name", "class", "available", CONTENTION, *RESOURCES}, {"name", "class"})
        name = read_name(host["name"], f"{where}.name")
        if name in seen:
            raise UserError(f"{where}.name: {name!r} is there twice: give each host a name of its own")
        seen[name] = classes.setdefault(read_name(host["class"], f"{where}.class"), len(classes))
        if "available" in host:
            unavailability += _outside(number, host["available"], f"{where}.available")
    return HostElements(
        tuple(seen),
        tuple(classes),
        np.array(list(seen.values()), dtype=np.int64),
        tuple(unavailability),
        read_capacity(value),
    )


def read_reservations(value: object, names: Sequence[str]) -> list[Unavailability]:
    """Return the unavailability of an element `reservations`; raises as `read_hosts`."""
    index = {name: host for host, name in enumerate(names)}
    unavailability = []
    for number, item in enumerate(read_list(value, "reservations", 0, _MOST_WINDOWS)):
        where = f"reservations[{number}]"
        found = read_object(item, where, {"hosts", "from", "until", "name"}, {"hosts"})
        if "name" in found:
            read_name(found["name"], f"{where}.name")
        begin, end = _window(found, where)
        for place, name in enumerate(read_list(found["hosts"], f"{where}.hosts", 1, MOST_HOSTS)):
            if not isinstance(name, str) or name not in index:
                raise UserError(f"{where}.hosts[{place}]: {quoted(name)} is not the name of a host")
            unavailability.append(Unavailability(index[name], begin, end))
    return unavailability


def _outside(host: int, value: object, where: str) -> list[Unavailability]:
    """Return the times between the windows in which a host is there."""
    unavailability = []
    left = 0.0
    for number, item in enumerate(read_list(value, where, 1, _MOST_WINDOWS)):
        here = f"{where}[{number}]"
        begin, end = _window(read_object(item, here, {"from", "until"}, set()), here)
        if begin < left or (number and begin == left):
            raise UserError(
                f"{here}.from: {begin:g} s is not after the window before it ends, {left:g} s: "
                "give windows in order, each after the one before"
            )
        if begin > left:
            unavailability.append(Unavailability(host, left, begin))
        left = end
    return unavailability if math.isinf(left) else [*unavailability, Unavailability(host, left, math.inf)]


def _window(item: dict[str, Any], where: str) -> tuple[float, float]:
    begin = read_time(item.get("from", 0), f"{where}.from", zero=True)
    if "until" not in item:
        return begin, math.inf
    end = read_time(item["until"], f"{where}.until")
    if end <= begin:
        raise UserError(f"{where}.until: {end:g} s is not after {begin:g} s, where it begins: give a later time")
    return begin, end


MOST_TASKS = 20_000
_MOST_CELLS = 25_000_000  # classes x tasks x hosts: 200 MB
_MOST_NAMED = 10  # tasks of a cycle in a message


def problem_from_document(value: object, quantile: float = 0.5) -> Problem:
    """Return the problem that a JSON document describes.

    Args:
        value: see above.
        quantile: plan with the times that this share of runs stays below, where they are uncertain.

    Raises:
        UserError: with the path of the bad element.
    """
    known = {"hosts", "tasks", "reservations", "licences", "running", CONTENTION}
    document = read_object(value, "", known, {"hosts", "tasks"})
    hosts = read_hosts(document["hosts"])
    names, classes = hosts.names, hosts.classes
    items = read_list(document["tasks"], "tasks", 1, MOST_TASKS)
    if len(classes) * len(items) * len(names) > _MOST_CELLS:
        raise UserError(
            f"tasks: {len(items)} tasks x {len(names)} hosts x {len(classes)} classes are too many: "
            f"keep the product below {_MOST_CELLS}"
        )
    reserved = read_reservations(document.get("reservations", []), names)
    free, unavailability = normalised_availability(np.zeros(len(names)), [*hosts.unavailability, *reserved])
    problem = replace(_problem(items, hosts, quantile), free=free, unavailability=unavailability)
    problem = with_licences_of(problem, document.get("licences", {}), items)
    running = document.get("running", [])
    if problem.licences is not None:
        refuse_elastic(items, "beside tasks with licences")
        refuse_running(running, "beside tasks with licences")
    if hosts.capacity is not None:
        refuse_elastic(items, "on hosts that tasks share")
        refuse_running(running, "on hosts that tasks share")
        packed = with_packing(problem, hosts.capacity, items)
        return with_contention(packed, document, document["hosts"], items)
    refuse_contention(document, document["hosts"], items)
    problem = with_elastic(problem, items)
    _refuse_impossible(problem)
    return with_running(problem, running)


def _problem(items: list[Any], hosts: HostElements, quantile: float) -> Problem:
    names, classes = hosts.names, hosts.classes
    seconds = np.full((len(classes), len(items), len(names)), np.inf)
    release, deadline = np.zeros(len(items)), np.full(len(items), np.inf)
    shared = hosts.capacity is not None
    known = {"id", "profile", "deadline", "release", "waited", "depends_on", "elastic", "licences", CONTENTION}
    known |= {"shapes", *RESOURCES} if shared else set()
    index: dict[str, int] = {}
    found = []
    for task, element in enumerate(items):
        where = f"tasks[{task}]"
        item = read_object(element, where, known, {"id"} if shared and _has_shapes(element) else {"id", "profile"})
        found.append(item)
        name = read_name(item["id"], f"{where}.id")
        if name in index:
            raise UserError(f"{where}.id: {name!r} is also tasks[{index[name]}].id: give each task an id of its own")
        index[name] = task
        if "profile" in item:
            _fill_profile(item["profile"], f"{where}.profile", classes, seconds[:, task, :], quantile)
        release[task] = read_time(item.get("release", 0), f"{where}.release", zero=True)
        if "deadline" in item:
            deadline[task] = read_time(item["deadline"], f"{where}.deadline")
    depends_on = tuple(_predecessors(item, f"tasks[{task}]", task, index) for task, item in enumerate(found))
    _refuse_cycles(depends_on)
    waited = [read_time(item.get("waited", 0), f"tasks[{task}].waited", zero=True) for task, item in enumerate(found)]
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
        waited=np.array(waited) if any(waited) else None,
    )


def _has_shapes(element: object) -> bool:
    return isinstance(element, dict) and "shapes" in element


def _fill_profile(
    value: object, where: str, classes: tuple[str, ...], seconds: NDArray[np.float64], quantile: float
) -> None:
    if isinstance(value, dict) and ("expected" in classes or "expected" not in value):
        if not value:
            raise UserError(f"{where}: no class is given: give run times for at least one")
        for name, times in value.items():
            if name not in classes:
                raise UserError(f"{where}.{quoted(name)}: no host has this class: the classes are {', '.join(classes)}")
            _fill_times(times, f"{where}.{name}", seconds[classes.index(name)], quantile)
    else:
        _fill_times(value, where, seconds[0], quantile)
        seconds[1:] = seconds[0]


def _fill_times(value: object, where: str, row: NDArray[np.float64], quantile: float) -> None:
    times = _at_quantile(value, where, quantile) if isinstance(value, dict) else _times(value, where)
    usable = min(len(times), len(row))
    row[:usable] = times[:usable]


def _at_quantile(value: dict[str, Any], where: str, quantile: float) -> Sequence[float]:
    read_object(value, where, {"low", "expected", "high"}, {"low", "expected", "high"})
    low, expected, high = (tuple(_times(value[name], f"{where}.{name}")) for name in ("low", "expected", "high"))
    try:
        return Profile(expected, PredictionSource.USER, low=low, high=high).at_quantile(quantile).seconds
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _times(value: object, where: str) -> list[float]:
    return [
        math.inf if time is None else read_time(time, f"{where}[{column}]")
        for column, time in enumerate(read_list(value, where, 1, MOST_HOSTS))
    ]


def _predecessors(item: dict[str, Any], where: str, task: int, index: dict[str, int]) -> tuple[int, ...]:
    found: dict[int, None] = {}  # in the file's order
    for number, name in enumerate(read_list(item.get("depends_on", []), f"{where}.depends_on", 0, MOST_TASKS)):
        here = f"{where}.depends_on[{number}]"
        other = index.get(name) if isinstance(name, str) else None
        if other is None:
            raise UserError(f"{here}: {quoted(name)} is not the id of a task")
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
        staying = int(staying_hosts(problem).sum())
        leave = " that stay or come back" if staying < len(problem.hosts) else ""
        raise UserError(
            f"tasks[{task}].profile: none of its host counts can be used on these "
            f"{staying} hosts{leave}: give a time for a count that exists"
        )
