"""Read an expected-time-to-compute matrix (Braun et al., J. Parallel and Distributed Computing 61(6), 2001).

The first line has the number of tasks and of machines (and a third number that is of no use here); then one time for
each task and machine, task by task. Each task runs on one machine; each machine is a class of its own.
"""

from __future__ import annotations

import math

import numpy as np

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import LONGEST, SHORTEST
from cosched.scheduling.problem import Problem

__all__ = ["parse_etc"]

_MOST_CELLS = 25_000_000  # machines² x tasks


def parse_etc(text: str) -> Problem:
    """Return the problem that an ETC matrix describes.

    Raises:
        UserError: with the line of the bad element.
    """
    lines = text.splitlines()
    tasks, machines = _header(lines[0] if lines else "")
    times: list[float] = []
    for number, line in enumerate(lines[1:], start=2):
        for word in line.split():
            if len(times) == tasks * machines:
                raise UserError(f"line {number}: more times than {tasks} tasks x {machines} machines")
            times.append(_time(word, number, divmod(len(times), machines)))
    if len(times) < tasks * machines:
        raise UserError(f"line {len(lines)}: the file ends after {len(times)} of {tasks * machines} times")
    seconds = np.full((machines, tasks, machines), np.inf)
    seconds[:, :, 0] = np.array(times).reshape(tasks, machines).T
    names = tuple(f"machine{number:0{len(str(machines))}d}" for number in range(machines))
    return Problem(
        tasks=tuple(f"task{number:0{len(str(tasks))}d}" for number in range(tasks)),
        hosts=names,
        classes=names,
        host_class=np.arange(machines, dtype=np.int64),
        free=np.zeros(machines),
        seconds=seconds,
        release=np.zeros(tasks),
        deadline=np.full(tasks, np.inf),
    )


def _header(line: str) -> tuple[int, int]:
    words = line.split()
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words[:2]):
        raise UserError(
            'line 1: neither a JSON object, {"hosts": …, "tasks": […]}, nor the line `TASKS MACHINES` '
            "with which an ETC matrix begins"
        )
    tasks, machines = int(words[0]), int(words[1])
    if tasks < 1 or machines < 1 or tasks * machines * machines > _MOST_CELLS:
        raise UserError(
            f"line 1: {tasks} tasks on {machines} machines: give at least one of each "
            f"and keep tasks x machines² below {_MOST_CELLS}"
        )
    return tasks, machines


def _time(word: str, line: int, place: tuple[int, int]) -> float:
    try:
        value = float(word) if word.isascii() and "_" not in word else math.nan  # Python alone reads 1_000
    except ValueError:
        value = math.nan
    if not SHORTEST <= value <= LONGEST:
        raise UserError(
            f"line {line}: {word[:40]!a} is no time of task {place[0]} on machine {place[1]}: "
            f"give seconds from {SHORTEST:g} to {LONGEST:.0f}"
        )
    return value
