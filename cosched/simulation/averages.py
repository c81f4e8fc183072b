"""Rows of several seeds made one: means with 95 % confidence intervals (Student's t)."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.simulation.experiment import Row

__all__ = ["INTERVAL", "averaged"]

INTERVAL = "_ci95"
"""Ends the name of a column that holds half the width of a mean's 95 % confidence interval."""

# 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom; beyond the table the value of its last is kept,
# which makes intervals a little too wide.
_T = (
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


def averaged(tables: Sequence[Sequence[Row]], keys: Sequence[str]) -> list[Row]:
    """Return the mean of each measured column over the seeds, row by row, each with its interval.

    Args:
        tables: the rows of each seed, at least one table; the same rows in the same order.
        keys: columns that say which row it is.

    Returns:
        One table. With one seed it is that seed's, without intervals. A mean leaves out where a column is None.

    Raises:
        ValueError: the tables do not have the same rows.
    """
    if len(tables) == 1:
        return [dict(row) for row in tables[0]]
    return [_mean(rows, keys) for rows in zip(*tables, strict=True)]


def _mean(rows: Sequence[Row], keys: Sequence[str]) -> Row:
    found: Row = {}
    for column, first in rows[0].items():
        if column in keys:
            if any(row[column] != first for row in rows):
                raise ValueError(f"the seeds' rows differ in {column}")
            found[column] = first
            continue
        values = [float(row[column]) for row in rows if row[column] is not None]  # type: ignore[arg-type]  # not None
        found[column] = statistics.fmean(values) if values else None
        found[column + INTERVAL] = _half(values) if len(values) > 1 else None
    return found


def _half(values: Sequence[float]) -> float:
    t = _T[min(len(values) - 1, len(_T)) - 1]
    return t * statistics.stdev(values) / math.sqrt(len(values))
