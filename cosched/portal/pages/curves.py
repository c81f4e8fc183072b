"""Draw a predicted run time over numbers of hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from cosched.counts import plural
from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import ProfileView

__all__ = ["MeasuredRun", "plottable", "run_time_curve"]


_WIDE = 30.0  # from the shortest to the longest time: on an axis from 0 the curve would lie on it


class MeasuredRun(NamedTuple):
    """A run that is a point beside a curve: the class of its hosts ("" if it is not told), how many, seconds."""

    hardware: str
    hosts: int
    seconds: float


def plottable(times: Sequence[float | None]) -> list[float]:
    """Return run times for a plot, NaN where a host count cannot be used."""
    return [math.nan if value is None else value for value in times]


def run_time_curve(
    profile: ProfileView,
    chosen: int = 0,
    measured: float | None = None,
    runs: Sequence[MeasuredRun] = (),
) -> Markup:
    """Draw the run time by number of hosts, with its uncertainty; other classes of hosts as dashed lines.

    Args:
        profile: predicted run times on the hosts that it has, or is to have.
        chosen: the number that is planned, or that it had; 0 for none.
        measured: run time on that number of hosts, in seconds.
        runs: earlier ones of the same, each a point.
    """
    seconds = plottable(profile.seconds)
    hosts = range(1, len(seconds) + 1)
    low, high = (None if side is None else plottable(side) for side in (profile.low, profile.high))
    lines = [Line(f"on {profile.hardware}" if profile.classes else "predicted", hosts, seconds, low, high)]
    count = plural(chosen, "host")
    if measured is not None:
        lines.append(Line(f"measured: {count}", [chosen], [measured]))
    elif 1 <= chosen <= len(seconds):
        lines.append(Line(f"planned: {count}", [chosen], [seconds[chosen - 1]]))
    lines += [
        Line(f"on {each.hardware}", range(1, len(each.seconds) + 1), plottable(each.seconds), dashed=True)
        for each in profile.classes
        if each.hardware not in profile.hardware.split("+")
    ]
    lines += _points(runs)
    known = [time for side in (seconds, low or (), high or ()) for time in side if math.isfinite(time)]
    known += [run.seconds for run in runs]
    wide = bool(known) and max(known) > _WIDE * min(known)
    upwards, label = (AxisKind.LOGARITHMIC, "run time, s") if wide else (AxisKind.DURATION, "run time")
    title, across = "Run time by number of hosts", AxisKind.COUNT
    return Markup(line_plot(lines, title, "hosts", label, across=across, upwards=upwards, styled=False))  # noqa: S704  it escapes


def _points(runs: Sequence[MeasuredRun]) -> list[Line]:
    """Return measured run times, those on each class of hosts with a name and a colour."""
    by_class: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        by_class.setdefault(run.hardware, []).append(run)
    return [
        Line(
            f"measured on {name}" if name and len(by_class) > 1 else "measured",
            [run.hosts for run in found],
            [run.seconds for run in found],
            joined=False,
        )
        for name, found in sorted(by_class.items())
    ]
