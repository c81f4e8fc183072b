"""Many tasks of one kind: `cosched task submit --count` and `--from`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.cli.request import pair
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.portal.documents import TaskRequest

__all__ = ["many", "read_lines"]

_INDEX = "TASK_INDEX"


def many(request: TaskRequest, count: int, lines: Sequence[Sequence[str]] | None) -> list[TaskRequest]:
    """Return the tasks that come of one request; each finds its place among them in TASK_INDEX, from 0.

    Args:
        request: what they have in common.
        count: how many of each.
        lines: words of each task, arguments after a command's or NAME=VALUE for an application; None for no words.

    Raises:
        UserError: a word cannot be read.
    """
    given = [_with(request, words, number) for number, words in enumerate(lines or [()], 1)]
    if lines is None and count == 1:
        return given
    tasks = [task for task in given for _ in range(count)]
    return [
        replace(
            task, name=f"{task.name}.{index}" if task.name else "", environment={**task.environment, _INDEX: str(index)}
        )
        for index, task in enumerate(tasks)
    ]


def read_lines(file: str) -> list[list[str]]:
    """Return the words of each line as a shell splits them; empty lines and comments (#) are left out.

    Args:
        file: its name; "-" for standard input.

    Raises:
        UserError: the file cannot be read, or has no line.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--from {file}: cannot be read ({error}): give a text file, or - for the input") from error
    found = [_words(file, number, line) for number, line in enumerate(text.splitlines(), 1)]
    lines = [words for words in found if words]
    if not lines:
        raise UserError(f"--from {file}: has no line: write one for each task")
    return lines


def _words(file: str, number: int, line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise UserError(f"{file}:{number}: cannot be split into words ({error}): close its quotes") from error


def _with(request: TaskRequest, words: Sequence[str], number: int) -> TaskRequest:
    if not words:
        return request
    if request.command:
        return replace(request, command=(*request.command, *words))
    return replace(request, parameters={**request.parameters, **dict(pair(word, f"line {number}:") for word in words)})
