"""Draw how many hosts worked for an elastic task over time: the promised ones, and with those that were lent."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

from markupsafe import Markup

from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from cosched.api.documents import WorkersView

__all__ = ["width_chart"]


def width_chart(
    found: WorkersView, started: float | None, finished: float | None, now: float, zone: tzinfo | None
) -> Markup | None:
    """Draw the widths of a task's last try; None where it has not begun.

    Args:
        found: its workers.
        started: when its lead did, seconds since the epoch.
        finished: when that ended; None while it runs.
        now: seconds since the epoch.
        zone: of the reader.
    """
    if started is None:
        return None
    until = max(now if finished is None else finished, started)
    spans = {True: [(started, until)], False: list[tuple[float, float]]()}  # by promised; its lead is on such a host
    for each in found.workers:
        if each.since is not None:
            spans[each.promised].append((each.since, until if each.finished is None else each.finished))
    lines = [_steps("promised hosts", spans[True], until)]
    if spans[False]:
        lines.append(_steps("with lent hosts", spans[True] + spans[False], until))
    title, labels = "Hosts that worked for it", ("time", "hosts")
    plot = line_plot(lines, title, *labels, across=AxisKind.CLOCK, upwards=AxisKind.COUNT, zone=zone, styled=False)
    return Markup(plot)  # noqa: S704  it escapes


def _steps(name: str, spans: Iterable[tuple[float, float]], until: float) -> Line:
    """Return a line of steps: how many of the spans hold at each time."""
    changes = Counter[float]()
    for begin, end in spans:
        changes[begin] += 1
        changes[min(end, until)] -= 1
    times = sorted(changes)
    levels = list(accumulate(changes[time] for time in times))
    x, y = [times[0]], [0.0]
    before = 0.0
    for time, level in zip(times, levels, strict=True):
        if time == times[-1]:
            level = int(before)  # the end of it all is no step
        x += [time, time]
        y += [before, float(level)]
        before = float(level)
    return Line(name, x, y, marked=False)
