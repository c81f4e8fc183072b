"""Rows of an experiment as lines: one column over another, a line for each value of a third."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.plot import Line, line_plot
from cosched.simulation.averages import INTERVAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.simulation.experiment import Row

__all__ = ["chart"]


def chart(rows: Sequence[Row], x: str, y: str, by: str, title: str, labels: tuple[str, str], dashed: str = "") -> str:
    """Return a plot as SVG, with bands where the rows have confidence intervals.

    Args:
        rows: those to be drawn, by `x` ascending within a line; where a column is None there is no point.
        x: column along the axis.
        y: column upwards.
        by: column whose values are the lines.
        title: above the plot.
        labels: of the axes.
        dashed: how the names of dashed lines end; empty: none is.
    """
    names = dict.fromkeys(str(row[by]) for row in rows)
    return line_plot(
        [_line(name, [row for row in rows if str(row[by]) == name], x, y, dashed) for name in names], title, *labels
    )


def _line(name: str, rows: Sequence[Row], x: str, y: str, dashed: str) -> Line:
    across = [_number(row[x]) for row in rows]
    upwards = [_number(row[y]) for row in rows]
    if y + INTERVAL not in rows[0]:
        return Line(name, across, upwards, dashed=bool(dashed) and name.endswith(dashed))
    halves = [_number(row[y + INTERVAL] or 0.0) for row in rows]
    low = [value - half for value, half in zip(upwards, halves, strict=True)]
    return Line(name, across, upwards, low, [value + half for value, half in zip(upwards, halves, strict=True)])


def _number(value: str | float | None) -> float:
    return float("nan") if value is None else float(value)
