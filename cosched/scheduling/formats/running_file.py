"""Tasks that run already are read from the JSON of `cosched plan`.

    {"running": [{"id": "a", "hosts": ["host1", "host2"], "left": 0.4}]}

Such a task is one of `tasks`, and its run times are those of the whole task; `left` is the part of it that is still to
do, all of it unless given.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import UserError
from cosched.scheduling.elastic.tasks import RunningTask
from cosched.scheduling.formats.input_file import quoted, read_list, read_object
from cosched.scheduling.host_counts import single_class

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["refuse_running", "with_running"]

_KEYS = {"id", "hosts", "left"}


def refuse_running(value: object, where: str) -> None:
    """Raise UserError if the element `running` has tasks; it says where they are not planned."""
    if value:
        raise UserError(f"running: tasks that run already are not planned {where} yet: leave them out")


def with_running(problem: Problem, value: object) -> Problem:
    """Return the problem with the tasks that run already.

    Args:
        problem: with its elastic tasks.
        value: the element `running`.

    Raises:
        UserError: with the path of the bad element.
    """
    items = read_list(value, "running", 0, len(problem.tasks))
    if not items:
        return problem
    if single_class(problem) is None:
        refuse_running(items, "on hosts of several classes")
    if problem.unavailability or problem.free.any():
        refuse_running(items, "on hosts that come and go or are reserved")
    places = {name: task for task, name in enumerate(problem.tasks)}
    owner: dict[int, str] = {}
    running: dict[int, RunningTask] = {}
    for number, item in enumerate(items):
        where = f"running[{number}]"
        element = read_object(item, where, _KEYS, {"id", "hosts"})
        name = element["id"]
        task = places.get(name) if isinstance(name, str) else None
        if task is None:
            raise UserError(f"{where}.id: {quoted(name)} is not the id of a task")
        if task in running:
            raise UserError(f"{where}.id: {name!r} is there twice: keep one")
        if problem.release[task] > 0 or (problem.depends_on and problem.depends_on[task]):
            raise UserError(f"{where}.id: {name!r} runs already: leave out its release and depends_on")
        hosts = _hosts(problem, element["hosts"], f"{where}.hosts", owner, name)
        _refuse_count(problem, task, len(hosts), f"{where}.hosts")
        running[task] = RunningTask(hosts, _left(element.get("left", 1), f"{where}.left"))
    return replace(problem, running=running)


def _hosts(problem: Problem, value: object, where: str, owner: dict[int, str], task: str) -> tuple[int, ...]:
    """Return the indices of a task's hosts, and note that it has them."""
    index = {name: host for host, name in enumerate(problem.hosts)}
    for place, name in enumerate(found := read_list(value, where, 1, len(problem.hosts))):
        host = index.get(name) if isinstance(name, str) else None
        if host is None:
            raise UserError(f"{where}[{place}]: {quoted(name)} is not the name of a host")
        if host in owner:
            has = "is there twice" if owner[host] == task else f"runs {owner[host]!r}"
            raise UserError(f"{where}[{place}]: {name!r} {has}: give each host to one task, once")
        owner[host] = task
    return tuple(sorted(index[name] for name in found))


def _refuse_count(problem: Problem, task: int, hosts: int, where: str) -> None:
    elastic = (problem.elastic or {}).get(task)
    if elastic is not None and not elastic.least <= hosts <= elastic.most:
        raise UserError(
            f"{where}: the task has {plural(hosts, 'host')}, and its elastic says {elastic.least} to {elastic.most}"
        )
    if elastic is None and not math.isfinite(problem.seconds[int(problem.host_class[0]), task, hosts - 1]):
        raise UserError(f"{where}: the task has no run time on {plural(hosts, 'host')}: give one in its profile")


def _left(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise UserError(f"{where}: {quoted(value)} is no part of a task: give a number above 0 and at most 1")
    return float(value)
