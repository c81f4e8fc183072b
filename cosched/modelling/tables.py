"""A table of run times (CSV) becomes runs.

Start at `read_table`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from cosched.errors import UserError
from cosched.language.diagnostics import suggestion
from cosched.language.vocabulary import PROCESSORS, RATE, SIZE, TIME, UNITS, dimension
from cosched.modelling.points import TimedRun
from cosched.modelling.writing import check_name, check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST", "MOST_ROWS", "SHORTEST", "checked_seconds", "read_table"]

MOST_ROWS = 100_000
SHORTEST, LONGEST = 1e-9, 10 * 365 * 86400.0
"""Run times in seconds that are believed."""

_HEADING = re.compile(r"(\S+?)(?:[ \t]+(\S+))?")
_SECONDS, _HOSTS, _COUNTS, _CLASS, _MEMORY = "seconds", "hosts", ("processors", PROCESSORS), "class", "memory"
_LARGEST = 1e18
_MOST_COUNT = 1e6


class _Column(NamedTuple):
    """A column: its name, by what its numbers are multiplied, and whether they are times."""

    name: str
    factor: float
    time: bool


_SEPARATORS = ",;\t"


def read_table(text: str, file: str, per_host: int = 1) -> list[TimedRun]:
    """Return the runs of a table.

    Its head names parameters, `hosts` or `processors`, `class`, `memory` and the run time: `seconds`, or any name with
    a unit of time, as in `wall ms`. Other names may have units, too. Semicolons or tabs may stand in place of commas,
    as spreadsheets write them.

    Args:
        text: CSV with a head.
        file: its name, for messages.
        per_host: processors of a host, where the table says hosts.

    Raises:
        UserError: what is wrong, with its line.
    """
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    between = next((mark for mark in _SEPARATORS if mark in first), ",")
    rows = csv.reader(io.StringIO(text), strict=True, delimiter=between)
    try:
        head = next(rows, None)
        columns = _columns(head or [], file)
        runs: list[TimedRun] = []
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(runs) == MOST_ROWS:
                raise UserError(f"{file} has more than {MOST_ROWS:,} runs: keep the newest")
            runs.append(_run(row, columns, f"{file}:{rows.line_num}", per_host))
    except csv.Error as error:
        raise UserError(f"{file}:{rows.line_num}: this is no CSV ({error}): put commas between numbers") from error
    if not runs:
        raise UserError(f"{file} has no runs below its head")
    return runs


def checked_seconds(seconds: float, place: str) -> float:
    """Return a run time that can be one.

    Raises:
        UserError: it cannot.
    """
    if not SHORTEST <= seconds <= LONGEST:
        raise UserError(f"{place}: a run time of {seconds:g} s cannot be: leave this run out")
    return seconds


def _columns(head: Sequence[str], file: str) -> list[_Column]:
    found: list[_Column] = []
    for cell in head:
        match = _HEADING.fullmatch(cell.strip())
        if match is None:
            raise UserError(f"{file}:1: {cell[:80]!r} is no heading: write a name, or a name and a unit: wall ms")
        found.append(_column(match[1], match[2] or "", file))
    names = [column.name for column in found]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{file}:1: {name} is named twice: keep one of these columns")
    times = [column.name for column in found if column.time]
    if len(times) != 1:
        said = "no column of run times" if not times else f"several columns of times: {', '.join(times)}"
        raise UserError(f"{file}:1: it has {said}: name one `seconds`, or give it a unit of time: wall ms")
    if {_HOSTS, *_COUNTS} & set(names) == {_HOSTS} or len({_HOSTS, *_COUNTS} & set(names)) < 2:
        return found
    raise UserError(f"{file}:1: keep one of {' and '.join(sorted({_HOSTS, *_COUNTS} & set(names)))}")


def _column(name: str, unit: str, file: str) -> _Column:
    if unit and unit not in UNITS:
        raise UserError(f"{file}:1: unit {unit} of {name} is not known{suggestion(unit, UNITS) or ': ' + _units()}")
    measures = dimension(unit)
    if name in (_HOSTS, *_COUNTS, _CLASS) and unit:
        raise UserError(f"{file}:1: {name} has no unit: leave {unit} out")
    if measures == RATE or (name == _SECONDS and unit and measures != TIME) or (name == _MEMORY and measures == TIME):
        raise UserError(
            f"{file}:1: unit {unit} does not fit {name}: use a unit of {'size' if name == _MEMORY else 'time'}"
        )
    if measures == TIME or name == _SECONDS:
        return _Column(name, UNITS[unit] / 1e6 if unit else 1.0, time=True)
    if name not in (_HOSTS, *_COUNTS, _CLASS, _MEMORY):
        check_name(name, f"{file}:1: parameter")
    return _Column(name, UNITS[unit] if measures == SIZE else 1.0, time=False)


def _units() -> str:
    return "use " + ", ".join(unit for unit in UNITS if not unit.endswith("/s"))


def _run(row: Sequence[str], columns: Sequence[_Column], place: str, per_host: int) -> TimedRun:
    if len(row) != len(columns):
        raise UserError(f"{place}: it has {len(row)} values and the head has {len(columns)} names")
    parameters: dict[str, float] = {}
    seconds, count, hosts, hardware, memory = 0.0, 1, 1, "", 0.0
    for cell, column in zip(row, columns, strict=True):
        if column.name == _CLASS:
            check_text(cell.strip(), f"{place}: class")
            hardware = cell.strip()
            continue
        value = _value(cell, column, place)
        if column.time:
            seconds = checked_seconds(value, place)
        elif column.name == _HOSTS:
            hosts = _count(value, column.name, place)
            count = hosts * per_host
        elif column.name in _COUNTS:
            count = _count(value, column.name, place)
        elif column.name == _MEMORY:
            memory = value
        else:
            parameters[column.name] = value
    return TimedRun(parameters, count, seconds, hosts, hardware, memory)


def _value(cell: str, column: _Column, place: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise UserError(f"{place}: {column.name} is {cell[:80]!r}: write a number") from None
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise UserError(f"{place}: {column.name} is {cell.strip()[:80]}: write a finite number up to {_LARGEST:g}")
    return value * column.factor


def _count(value: float, name: str, place: str) -> int:
    if value != int(value) or not 1 <= value <= _MOST_COUNT:
        raise UserError(f"{place}: {name} is {value:g}: write a whole number from 1")
    return int(value)
