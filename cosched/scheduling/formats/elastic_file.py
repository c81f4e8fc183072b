"""Elastic tasks are read from the JSON of `cosched plan`.

    {"id": "a", "profile": [60, 32, 24], "elastic": {"least": 1, "most": 3, "preferred": 2, "cost": 3, "drain": 5}}

Least and most hosts are 1 and those of the profile unless given; `cost` are seconds without progress at each change of
hosts, `drain` seconds until a host that it gives up is free. The preferred number is the least unless given.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.counts import plural
from cosched.errors import UserError
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.formats.input_file import quoted, read_object, read_time
from cosched.scheduling.host_counts import single_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["refuse_elastic", "with_elastic"]

_KEYS = {"least", "most", "preferred", "cost", "drain"}


def refuse_elastic(items: Sequence[Any], where: str) -> None:
    """Refuse elastic tasks among the elements; raises UserError that says where they are not planned."""
    for number, item in enumerate(items):
        if item.get("elastic") is not None:
            raise UserError(f"tasks[{number}].elastic: elastic tasks are not planned {where} yet: leave it out")


def with_elastic(problem: Problem, items: Sequence[Any]) -> Problem:
    """Return the problem with its elastic tasks; they run on their least to their most hosts alone.

    Args:
        problem: its tasks are those of the elements, in their order.
        items: the elements of the tasks.

    Raises:
        UserError: with the path of the bad element.
    """
    if not any(item.get("elastic") is not None for item in items):
        return problem
    if single_class(problem) is None:
        refuse_elastic(items, "on hosts of several classes")
    if problem.unavailability or problem.free.any():
        refuse_elastic(items, "on hosts that come and go or are reserved")
    seconds, elastic = problem.seconds.copy(), {}
    for task, item in enumerate(items):
        if item.get("elastic") is not None:
            found = _elastic(problem.tasks[task], item["elastic"], f"tasks[{task}].elastic", seconds[0, task])
            outside = np.ones(len(problem.hosts), dtype=bool)
            outside[found.least - 1 : found.most] = False
            seconds[:, task, outside] = math.inf
            elastic[task] = found
    return replace(problem, seconds=seconds, elastic=elastic)


def _elastic(name: str, value: object, where: str, seconds: NDArray[np.float64]) -> ElasticTask:
    element = read_object(value, where, _KEYS, set())
    runs = np.flatnonzero(np.isfinite(seconds))
    if not len(runs):
        raise UserError(f"{where}: the task runs on no number of hosts that there is: give times in its profile")
    most_known = int(runs[-1]) + 1
    least = _count(element.get("least", int(runs[0]) + 1), f"{where}.least", 1, most_known)
    most = _count(element.get("most", most_known), f"{where}.most", least, len(seconds), cut=True)
    preferred = _count(element.get("preferred", least), f"{where}.preferred", least, most)
    if not math.isfinite(seconds[least - 1]):
        raise UserError(f"{where}.least: the task has no run time on {plural(least, 'host')}: give one in its profile")
    cost = read_time(element.get("cost", 0), f"{where}.cost", zero=True)
    drain = read_time(element.get("drain", 0), f"{where}.drain", zero=True)
    return ElasticTask(name, tuple(seconds.tolist()), least, most, preferred, cost, cost, drain)


def _count(value: object, where: str, least: int, most: int, *, cut: bool = False) -> int:
    """Return a number of hosts; one above the most is that many where it may be `cut`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (value > most and not cut):
        raise UserError(f"{where}: {quoted(value)} is no such number of hosts: give {least} to {most}")
    return min(value, most)
