"""Read which jobs of a trace are elastic: a CSV file, a line a job.

    job,least,most,preferred,cost
    17,2,16,8,30

`job` is a job's number in the trace, `least`, `most` and `preferred` numbers of processors, `cost` the seconds without
progress at each change of them. Columns may come in any order; the last two may be empty or missing.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import LONGEST, quoted, read_file

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

__all__ = ["ElasticBounds", "read_elastic_jobs"]

_NEEDED = ("job", "least", "most")
_KNOWN = (*_NEEDED, "preferred", "cost")
_MOST = 10**9  # processors


@dataclass(frozen=True, slots=True)
class ElasticBounds:
    """Processors of an elastic job.

    Attributes:
        least: fewest on which it runs.
        most: most that it may have.
        preferred: number that it would choose; None: the recorded one.
        cost: seconds without progress at each change; None: that of the replay.
    """

    least: int
    most: int
    preferred: int | None = None
    cost: float | None = None


def read_elastic_jobs(path: Path, jobs: Collection[int]) -> dict[int, ElasticBounds]:
    """Return the elastic jobs of a file by their numbers.

    Args:
        path: the file.
        jobs: numbers of the trace's jobs.

    Raises:
        UserError: with the file, line and column that is wrong.
    """
    return read_file(path, lambda text: _parse(text, jobs))


def _parse(text: str, jobs: Collection[int]) -> dict[int, ElasticBounds]:
    lines = csv.reader(text.splitlines())
    header = [name.strip().lower() for name in next(lines, [])]
    columns = f"a column {', '.join(_NEEDED)} each, and if you like preferred and cost"
    if missing := [name for name in _NEEDED if name not in header]:
        raise UserError(f"line 1: no column {missing[0]!r}: give {columns}")
    if unknown := [name for name in header if name not in _KNOWN or header.count(name) > 1]:
        raise UserError(f"line 1: {quoted(unknown[0])} is no column, or there twice: give {columns}")
    found: dict[int, ElasticBounds] = {}
    try:
        for values in lines:
            if any(value.strip() for value in values):
                job, bounds = _row(header, values, lines.line_num)
                if job not in jobs:
                    raise UserError(f"line {lines.line_num}, job: {job} is no job of the trace that ran: leave it out")
                if job in found:
                    raise UserError(f"line {lines.line_num}, job: {job} is there twice: keep one line")
                found[job] = bounds
    except csv.Error as error:
        raise UserError(f"line {lines.line_num}: not CSV: {error}") from None
    return found


def _row(header: list[str], values: list[str], line: int) -> tuple[int, ElasticBounds]:
    if len(values) != len(header):
        raise UserError(f"line {line}: {len(values)} fields: give {len(header)}, as the first line does")
    cells: Mapping[str, str] = dict(zip(header, [value.strip() for value in values], strict=True))
    job = _whole(cells["job"], f"line {line}, job", 0, _MOST)
    least = _whole(cells["least"], f"line {line}, least", 1, _MOST)
    most = _whole(cells["most"], f"line {line}, most", least, _MOST)
    preferred = cells.get("preferred") and _whole(cells["preferred"], f"line {line}, preferred", least, most)
    cost = cells.get("cost") and _seconds(cells["cost"], f"line {line}, cost")
    return job, ElasticBounds(least, most, preferred or None, None if cost in (None, "") else float(cost))


def _whole(text: str, where: str, least: int, most: int) -> int:
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= value <= most:
        raise UserError(f"{where}: {quoted(text)}: give a whole number from {least} to {most}")
    return value


def _seconds(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LONGEST:
        raise UserError(f"{where}: {quoted(text)}: give seconds from 0 to {LONGEST:.0f}")
    return value
