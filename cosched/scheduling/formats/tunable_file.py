"""Read a queue of tunable tasks from the JSON of `cosched plan`.

    {"hosts": 8,
     "tasks": [{"id": "J1", "release": 0,
                "path": [{"hosts": 4, "seconds": 2, "deadline": 10},
                         {"any": [[{"hosts": 2, "seconds": 9, "quality": 0.9}], [STAGE, …]]}]}]}

A path is a sequence of stages and choices; a choice is a list of paths of which one is run. Times are seconds; a
deadline counts from the task's release and covers the stage and all before it. In place of a path a task may name an
application in PSL whose tunable procedure has the ways through it:

    {"id": "J2", "release": 4, "application": "junctions", "parameters": {"images": 2}}
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cosched.errors import UserError
from cosched.scheduling.formats.contention_file import refuse_contention
from cosched.scheduling.formats.input_file import quoted, read_list, read_name, read_object, read_time
from cosched.scheduling.formats.problem_file import MOST_TASKS, read_hosts
from cosched.scheduling.tunable.tasks import Stage, StageChoice, TunableQueue, TunableTask, chains
from cosched.tunable_bounds import MOST_CHAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.scheduling.tunable.tasks import Chain

    ChainsOf = Callable[[str, Mapping[str, float], str, int], tuple[Chain, ...]]

__all__ = ["is_tunable", "tunable_from_document"]

_MOST_STAGES = 1000
_DEEPEST = 20  # choices within choices
_WORST, _BEST = 1e-300, 1e100  # quality of a way, a product; the sum of all tasks' is to be a number, too


def is_tunable(value: object) -> bool:
    """Tell whether a JSON document's first task has a path or an application where others have a profile."""
    tasks = value.get("tasks") if isinstance(value, dict) else None
    if not (isinstance(tasks, list) and tasks and isinstance(tasks[0], dict)):
        return False
    return "path" in tasks[0] or "application" in tasks[0]


def tunable_from_document(value: object, chains_of: ChainsOf | None = None) -> TunableQueue:
    """Return the queue that a JSON document describes.

    Args:
        value: the document.
        chains_of: returns the ways through an application, given its name or file, values of its parameters, a name of
            hardware (may be empty) and the number of hosts; it may raise a UserError. None: applications are refused.

    Raises:
        UserError: with the path of the bad element.
    """
    document = read_object(value, "", {"hosts", "tasks"}, {"hosts", "tasks"})
    hosts = read_hosts(document["hosts"])
    refuse_contention({}, document["hosts"], ())
    names = hosts.names
    if len(hosts.classes) > 1:
        raise UserError(f"hosts: tunable tasks need hosts of one class, there are {len(hosts.classes)}")
    if hosts.unavailability:
        raise UserError(
            f"hosts[{hosts.unavailability[0].host}].available: tunable tasks need hosts that stay: leave it out"
        )
    seen: dict[str, int] = {}
    tasks = []
    for number, item in enumerate(read_list(document["tasks"], "tasks", 1, MOST_TASKS)):
        task = _task(item, f"tasks[{number}]", len(names), chains_of)
        if task.id in seen:
            raise UserError(
                f"tasks[{number}].id: {task.id!r} is also tasks[{seen[task.id]}].id: give each task an id of its own"
            )
        seen[task.id] = number
        tasks.append(task)
    return TunableQueue(names, tuple(tasks))


def _task(item: object, where: str, hosts: int, chains_of: ChainsOf | None) -> TunableTask:
    if isinstance(item, dict) and "application" in item and chains_of is not None:
        return _modelled(item, where, hosts, chains_of)
    found = read_object(item, where, {"id", "release", "path"}, {"id", "path"})
    name, release = _head(found, where)
    path = _path(found["path"], f"{where}.path", hosts, 0)
    try:
        ways = chains(path)
    except UserError as error:
        raise UserError(f"{where}.path: {error}") from None
    for way in ways:
        if not _WORST <= way.quality <= _BEST:
            raise UserError(
                f"{where}.path: the qualities of a way's {len(way.stages)} stages have the product {way.quality:g}: "
                f"give such as have {_WORST:g} to {_BEST:g}"
            )
    return TunableTask(name, release, ways)


def _head(found: Mapping[str, Any], where: str) -> tuple[str, float]:
    """Return the id and the release of a task."""
    return read_name(found["id"], f"{where}.id"), read_time(found.get("release", 0), f"{where}.release", zero=True)


def _modelled(item: dict[str, Any], where: str, hosts: int, chains_of: ChainsOf) -> TunableTask:
    """Return a task whose ways are those through an application in PSL."""
    known = {"id", "release", "application", "parameters", "hardware"}
    found = read_object(item, where, known, {"id", "application"})
    name, release = _head(found, where)
    application = read_name(found["application"], f"{where}.application")
    hardware = read_name(found["hardware"], f"{where}.hardware") if "hardware" in found else ""
    given = found.get("parameters", {})
    if not isinstance(given, dict):
        raise UserError(f"{where}.parameters: give an object with a number for each parameter")
    values = {key: _number(number, f"{where}.parameters.{key}") for key, number in given.items()}
    try:
        return TunableTask(name, release, chains_of(application, values, hardware, hosts))
    except UserError as error:
        raise UserError(f"{where}.application: {error}") from None


def _number(value: object, where: str) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not -1e300 <= number <= 1e300:
        raise UserError(f"{where}: {quoted(value)} is no number")
    return float(number)


def _path(value: object, where: str, hosts: int, depth: int) -> tuple[Stage | StageChoice, ...]:
    if depth > _DEEPEST:
        raise UserError(f"{where}: choices within choices, more than {_DEEPEST} deep")
    return tuple(
        _choice(item, f"{where}[{number}]", hosts, depth)
        if isinstance(item, dict) and "any" in item
        else _stage(item, f"{where}[{number}]", hosts)
        for number, item in enumerate(read_list(value, where, 1, _MOST_STAGES))
    )


def _choice(item: dict[str, Any], where: str, hosts: int, depth: int) -> StageChoice:
    read_object(item, where, {"any"}, {"any"})
    paths = read_list(item["any"], f"{where}.any", 1, MOST_CHAINS)
    return StageChoice(
        tuple(_path(path, f"{where}.any[{number}]", hosts, depth + 1) for number, path in enumerate(paths))
    )


def _stage(item: object, where: str, hosts: int) -> Stage:
    known = {"name", "hosts", "seconds", "deadline", "quality"}
    found = read_object(item, where, known, {"hosts", "seconds"})
    return Stage(
        hosts=_count(found["hosts"], f"{where}.hosts", hosts),
        seconds=read_time(found["seconds"], f"{where}.seconds"),
        deadline=read_time(found["deadline"], f"{where}.deadline") if "deadline" in found else math.inf,
        quality=_quality(found.get("quality", 1.0), f"{where}.quality"),
        name=read_name(found["name"], f"{where}.name") if "name" in found else "",
    )


def _count(value: object, where: str, hosts: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= hosts:
        raise UserError(f"{where}: {quoted(value)} hosts: give 1 to {hosts}, as many as there are")
    return value


def _quality(value: object, where: str) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 1e-9 <= number <= 1e9:
        raise UserError(f"{where}: {quoted(value)} is no quality: give a number above 0, 1 for full quality")
    return float(number)
