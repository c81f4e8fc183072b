"""Read a problem from a file: the JSON of `cosched plan`, or an ETC matrix (see `etc_file`).

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
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.prediction.profile import Profile, Source
from cosched.scheduling.absences import settled
from cosched.scheduling.etc_file import parse_etc
from cosched.scheduling.host_elements import HostElements, read_hosts, read_reservations
from cosched.scheduling.input_file import read_file
from cosched.scheduling.json_elements import a_list, a_name, a_time, an_object, read_json, shown
from cosched.scheduling.problem import Problem
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["MOST_TASKS", "from_document", "parse", "read"]

MOST_TASKS = 20_000
_MOST_HOSTS = 4096
_MOST_CELLS = 25_000_000  # classes x tasks x hosts: 200 MB
_MOST_NAMED = 10  # tasks of a cycle in a message


def read(path: Path) -> Problem:
    """Read a problem; JSON if the file starts with a brace, else an ETC matrix.

    Raises:
        UserError: the file cannot be read or is wrong; the message has the path of the bad element.
    """
    return read_file(path, lambda text: parse(text) if text.lstrip().startswith("{") else parse_etc(text))


def parse(text: str, quantile: float = 0.5) -> Problem:
    """Return the problem that a JSON text describes.

    Args:
        text: see above.
        quantile: plan with the times that this share of runs stays below, where they are uncertain.

    Raises:
        UserError: with the path of the bad element.
    """
    return from_document(read_json(text), quantile)


def from_document(value: object, quantile: float = 0.5) -> Problem:
    """Return the problem that a JSON document describes; raises as `parse`."""
    document = an_object(value, "", {"hosts", "tasks", "reservations"}, {"hosts", "tasks"})
    hosts = read_hosts(document["hosts"])
    names, classes = hosts.names, hosts.classes
    items = a_list(document["tasks"], "tasks", 1, MOST_TASKS)
    if len(classes) * len(items) * len(names) > _MOST_CELLS:
        raise UserError(f"tasks: {len(items)} tasks x {len(names)} hosts x {len(classes)} classes are too many: "
                        f"keep the product below {_MOST_CELLS}")  # fmt: skip
    reserved = read_reservations(document.get("reservations") or [], names)
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
    for task, item in enumerate(items):
        where = f"tasks[{task}]"
        an_object(item, where, known, {"id", "profile"})
        name = a_name(item["id"], f"{where}.id")
        if name in index:
            raise UserError(f"{where}.id: {name!r} is also tasks[{index[name]}].id: give each task an id of its own")
        index[name] = task
        _fill_profile(item["profile"], f"{where}.profile", classes, seconds[:, task, :], quantile)
        release[task] = a_time(item.get("release", 0), f"{where}.release", zero=True)
        if item.get("deadline") is not None:
            deadline[task] = a_time(item["deadline"], f"{where}.deadline")
    depends_on = tuple(_predecessors(item, f"tasks[{task}]", task, index) for task, item in enumerate(items))
    _refuse_cycles(depends_on)
    return Problem(tuple(index), names, classes, hosts.host_class, np.zeros(len(names)), seconds, release, deadline,
                   depends_on if any(depends_on) else ())  # fmt: skip


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
        for column, time in enumerate(a_list(value, where, 1, _MOST_HOSTS))
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
    """Take tasks off whose predecessors are all off; whatever stays is in or behind a cycle."""
    after: dict[int, list[int]] = {}
    for task, before in enumerate(depends_on):
        for other in before:
            after.setdefault(other, []).append(task)
    missing = [len(before) for before in depends_on]
    ready = [task for task, count in enumerate(missing) if count == 0]
    while ready:
        for other in after.get(ready.pop(), ()):
            missing[other] -= 1
            if missing[other] == 0:
                ready.append(other)
    if any(missing):
        raise UserError(_cycle(depends_on, missing))


def _cycle(depends_on: tuple[tuple[int, ...], ...], missing: Sequence[int]) -> str:
    """Say who waits for whom: every predecessor that is still missing leads on to another, so to a cycle."""
    walked: dict[int, int] = {}
    task = next(task for task, count in enumerate(missing) if count)
    while task not in walked:
        walked[task] = len(walked)
        task = next(other for other in depends_on[task] if missing[other])
    names = [f"tasks[{other}]" for other in [*list(walked)[walked[task] :], task]]
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED - 1 : -1] = [f"… {len(names) - _MOST_NAMED} more …"]
    return f"tasks[{task}].depends_on: tasks wait for each other: {' → '.join(names)}"


def _refuse_impossible(problem: Problem) -> None:
    possible = np.isfinite(best_seconds(problem)).any(axis=1)
    if not possible.all():
        task = int(np.flatnonzero(~possible)[0])
        leave = " that do not leave for good" if problem.absences or np.isinf(problem.free).any() else ""
        raise UserError(f"tasks[{task}].profile: none of its host counts can be used on these "
                        f"{len(problem.hosts)} hosts{leave}: give a time for a count that exists")  # fmt: skip
