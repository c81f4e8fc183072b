"""An experiment: name, options, rows for a seed, and the paper's rows.

Start at `Experiment`; `averaged_rows` makes one table of several seeds', `line_chart` draws it.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.drawing.plot import Line, line_plot
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.scheduling.formats.swf import WorkloadTrace

__all__ = ["INTERVAL_SUFFIX", "Experiment", "ExperimentOption", "ResultRow", "averaged_rows", "line_chart"]

INTERVAL_SUFFIX = "_ci95"
"""Ends the name of a column that holds half the width of a mean's 95 % confidence interval."""

# 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom; beyond the table the value of its last is kept,
# which makes intervals a little too wide.
_T_QUANTILES = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)


def averaged_rows(tables: Sequence[Sequence[ResultRow]], keys: Sequence[str]) -> list[ResultRow]:
    """Return each measured column's mean over the seeds, row by row, with its interval.

    Args:
        tables: the rows of each seed, at least one table; the same rows in the same order.
        keys: columns that identify a row.

    Returns:
        One table. With one seed it is that seed's, without intervals. A mean leaves out values of None.

    Raises:
        ValueError: the tables do not have the same rows.
    """
    if len(tables) == 1:
        return [dict(row) for row in tables[0]]
    return [_mean_row(rows, keys) for rows in zip(*tables, strict=True)]


def _mean_row(rows: Sequence[ResultRow], keys: Sequence[str]) -> ResultRow:
    found: ResultRow = {}
    for column, first in rows[0].items():
        if column in keys:
            if any(row[column] != first for row in rows):
                raise ValueError(f"the seeds' rows differ in {column}")
            found[column] = first
            continue
        values = [float(row[column]) for row in rows if row[column] is not None]  # type: ignore[arg-type]  # not None
        found[column] = statistics.fmean(values) if values else None
        found[column + INTERVAL_SUFFIX] = _half_interval(values) if len(values) > 1 else None
    return found


def _half_interval(values: Sequence[float]) -> float:
    t = _T_QUANTILES[min(len(values) - 1, len(_T_QUANTILES)) - 1]
    return t * statistics.stdev(values) / math.sqrt(len(values))


def line_chart(
    rows: Sequence[ResultRow], x: str, y: str, by: str, title: str, labels: tuple[str, str], dashed: str = ""
) -> str:
    """Return a plot as SVG, with bands where the rows have confidence intervals.

    Args:
        rows: by `x` ascending within a line; a column with None gives no point.
        x: column along the axis.
        y: column upwards.
        by: column whose values are the lines.
        title: above the plot.
        labels: labels of the axes.
        dashed: ending of the names of dashed lines; empty: none is.
    """
    names = dict.fromkeys(str(row[by]) for row in rows)
    return line_plot(
        [_chart_line(name, [row for row in rows if str(row[by]) == name], x, y, dashed) for name in names],
        title,
        *labels,
    )


def _chart_line(name: str, rows: Sequence[ResultRow], x: str, y: str, dashed: str) -> Line:
    across = [_chart_value(row[x]) for row in rows]
    upwards = [_chart_value(row[y]) for row in rows]
    if y + INTERVAL_SUFFIX not in rows[0]:
        return Line(name, across, upwards, dashed=bool(dashed) and name.endswith(dashed))
    halves = [_chart_value(row[y + INTERVAL_SUFFIX] or 0.0) for row in rows]
    low = [value - half for value, half in zip(upwards, halves, strict=True)]
    return Line(name, across, upwards, low, [value + half for value, half in zip(upwards, halves, strict=True)])


def _chart_value(value: str | float | None) -> float:
    return float("nan") if value is None else float(value)


ResultRow = dict[str, str | float | int | None]
"""One line of a table, by column name. Times are seconds, shares 0…1."""


def _no_charts(_rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ExperimentOption:
    """A number for `--set`; whole where its default is.

    Attributes:
        default: the paper's value, if it gives one.
        help: one line.
        least: the smallest value that makes sense.
        most: the largest.
    """

    default: float
    help: str
    least: float = 0
    most: float = 1e6


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that `cosched simulate` runs.

    Attributes:
        name: as on the command line.
        reproduces: the paper and what of it, in one line.
        keys: columns that identify a row; the others are measured.
        run: (seed, options) → rows; the same arguments give the same rows but for `machine`.
        options: by name.
        paper: rows as published, with the same column names as far as the paper has them.
        charts: (rows, seed, options) → SVG by name; the rows may be means with intervals.
        note: a caution for reading the paper's rows beside ours; one line, may be empty.
        machine: columns that depend on the machine too.
        searches: whether it needs the machine code of the searches.
        pictures: number of charts that it has at least, whatever its options; known before it runs.
        for_trace: (trace, its name) → the experiment on that trace; None where it replays none.
    """

    name: str
    reproduces: str
    keys: tuple[str, ...]
    run: Callable[[int, Mapping[str, float]], list[ResultRow]]
    options: Mapping[str, ExperimentOption] = field(default_factory=dict)
    paper: Sequence[ResultRow] = ()
    note: str = ""
    searches: bool = False
    machine: tuple[str, ...] = ()
    charts: Callable[[Sequence[ResultRow], int, Mapping[str, float]], dict[str, str]] = _no_charts
    pictures: int = 0
    for_trace: Callable[[WorkloadTrace, str], Experiment] | None = None

    def settings(self, given: Mapping[str, str]) -> dict[str, float]:
        """Return every option's value.

        Args:
            given: the user's settings, as text.

        Raises:
            UserError: an option is unknown, or its value is no number within its bounds.
        """
        for name in given:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise UserError(f"{self.name} has no option {name!r}: there are {known}")
        return {name: _option_value(name, option, given.get(name)) for name, option in self.options.items()}


def _option_value(name: str, option: ExperimentOption, text: str | None) -> float:
    if text is None:
        return option.default
    kind = int if isinstance(option.default, int) else float
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not option.least <= value <= option.most:
        what, digits = ("whole number", ".0f") if kind is int else ("number", "g")
        raise UserError(f"{name}={text}: give a {what} from {option.least:{digits}} to {option.most:{digits}}")
    return value
