"""Many tasks of one command line: an array's indices, or the lines of a file."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.arrays import array_element
from cosched.api.sweeps import swept
from cosched.cli.task.submission import name_and_value, whole_number
from cosched.connector.array_indices import parse_array
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents.task_requests import TaskRequest

__all__ = ["array_indices", "read_lines", "task_array"]


def array_indices(array: str, count: int, at_most: str, *, lines: bool) -> tuple[Sequence[int] | None, int]:
    """Return the indices of each line's tasks, and how many may run at once.

    No indices stand for a single task, and 0 for no limit.

    Args:
        array: indices as Slurm's --array has them; empty where `count` says how many.
        count: how many, from 0.
        at_most: how many may run at once; empty for all, or as `array` says.
        lines: whether there is a task for each line of a file.

    Raises:
        UserError: one of these cannot be read, or two say the same.
    """
    indices, bound = parse_array(array) if array else (range(count), 0)
    if array and (lines or count > 1):
        raise UserError("--array says how many tasks there are: leave --count and --from out")
    if at_most and bound:
        raise UserError("--array with % and --at-most both say how many may run at once: give one of them")
    if at_most:
        bound = whole_number(at_most, "--at-most")
    if not array and count == 1 and not lines:
        if bound:
            raise UserError("--at-most is for arrays: give --array, --count or --from, too")
        return None, 0
    return indices, bound


def task_array(
    request: TaskRequest,
    indices: Sequence[int] | None,
    at_most: int,
    lines: Sequence[Sequence[str]] | None,
    sweep: Sequence[str] = (),
) -> list[TaskRequest]:
    """Return the tasks of one request, each with its index in TASK_INDEX, or those of a sweep.

    Args:
        request: their common fields.
        indices: of the tasks of each line, those of later lines follow; None for a single task.
        at_most: how many may run at once; 0: all.
        lines: words of each task, arguments after a command's or NAME=VALUE for an application; None for no words.
        sweep: see `swept`; in place of indices and lines.

    Raises:
        UserError: a word cannot be read, or both indices and a sweep say how many tasks there are.
    """
    if sweep:
        if indices is not None or lines is not None:
            raise UserError("--sweep says how many tasks there are: leave --array, --count, --from and --at-most out")
        return swept(request, sweep)
    given = [_with_words(request, words, number) for number, words in enumerate(lines or [()], 1)]
    if indices is None:
        return given
    tasks = [task for task in given for _ in indices]
    numbers = indices if lines is None else range(len(tasks))
    return [array_element(task, index, at_most) for index, task in zip(numbers, tasks, strict=True)]


def read_lines(file: str, *, application: bool = False) -> list[list[str]]:
    """Return the words of each line, or the cells of each row.

    Empty lines and comments (#) are left out, and the first line of a table, which names its columns.

    Args:
        file: its name; "-" for standard input.
        application: a table's cells are parameters of an application, named as their columns.

    Raises:
        UserError: the file cannot be read, or has no line.
    """
    try:
        text = (
            sys.stdin.read() if file == "-" else Path(file).read_bytes().decode()
        )  # with its ends of lines as they are
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"--from {file}: cannot be read ({why}): give a text file, or - for the input") from error
    text = text.removeprefix("\ufeff")  # by which spreadsheets mark UTF-8
    if file.lower().endswith(".csv"):
        return _table_lines(file, text, application=application)
    found = [_line_words(file, number, line) for number, line in enumerate(text.splitlines(), 1)]
    lines = [words for words in found if words]
    if not lines:
        raise UserError(f"--from {file}: has no line: write one for each task")
    return lines


def _table_lines(file: str, text: str, *, application: bool) -> list[list[str]]:
    try:
        names, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if any(row)] or [[]]
    except csv.Error as error:
        raise UserError(f"--from {file}: cannot be read as a table ({error}): close its quotes") from error
    if not rows:
        raise UserError(f"--from {file}: has no row: write the columns' names first, then a row for each task")
    if application and not all(name.strip() for name in names):
        raise UserError(f"--from {file}: a column has no name: each is a parameter of the application")
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise UserError(f"--from {file}: row {number} has {len(row)} cells, and there are {len(names)} columns")
    if not application:
        return rows
    return [[f"{name.strip()}={cell.strip()}" for name, cell in zip(names, row, strict=True)] for row in rows]


def _line_words(file: str, number: int, line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise UserError(f"{file}:{number}: cannot be split into words ({error}): close its quotes") from error


def _with_words(request: TaskRequest, words: Sequence[str], number: int) -> TaskRequest:
    if not words:
        return request
    if request.command:
        return replace(request, command=(*request.command, *words))
    return replace(
        request, parameters={**request.parameters, **dict(name_and_value(word, f"line {number}:") for word in words)}
    )
