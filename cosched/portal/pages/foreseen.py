"""What a submission would lead to, as the submit page words and draws it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from markupsafe import Markup

from cosched.plot import Line, line_plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.portal.documents import Forecast, ProfileView

__all__ = ["Foreseen", "Verdict", "curve", "drawn", "foreseen"]


class Verdict(StrEnum):
    """What would come of it."""

    PASSES = "passes"  # no prediction: straight to the resource manager
    STUCK = "stuck"  # no host is up that could run it
    OPEN = "open"  # no deadline to meet
    MET = "met"
    LATE = "late"  # accepted, and late as the schedule is now
    REFUSED = "refused"  # no schedule at all could meet the deadline


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a submission would lead to.

    Attributes:
        verdict: in a word.
        forecast: as the API gives it.
        slack: deadline - planned end, seconds; None without the two.
        acceptable: where the deadline cannot be met as things are: the earliest that can, seconds since the epoch.
        picture: run time by number of hosts, with the planned number; None without a prediction.
    """

    verdict: Verdict
    forecast: Forecast
    slack: float | None
    acceptable: float | None
    picture: Markup | None


def foreseen(forecast: Forecast, *, best_effort: bool, now: float) -> Foreseen:
    """Judge a forecast that was made as if late tasks were welcome."""
    verdict = _verdict(forecast, best_effort=best_effort)
    end, deadline = forecast.planned_end, forecast.deadline
    slack = None if end is None or deadline is None else deadline - end
    late = verdict in (Verdict.LATE, Verdict.REFUSED)
    # A little more than the prediction: by the time it is submitted the clock has gone on.
    acceptable = end + max(5.0, 0.02 * (end - now)) if late and end is not None else None
    picture = None if forecast.profile is None else curve(forecast.profile, len(forecast.planned_hosts))
    return Foreseen(verdict, forecast, slack, acceptable, picture)


def _verdict(forecast: Forecast, *, best_effort: bool) -> Verdict:
    if forecast.profile is None:
        return Verdict.PASSES
    if forecast.planned_end is None:
        return Verdict.STUCK
    if forecast.deadline is None:
        return Verdict.OPEN
    if forecast.meets_deadline:
        return Verdict.MET
    reachable = forecast.earliest_deadline is not None and forecast.earliest_deadline <= forecast.deadline
    return Verdict.LATE if reachable or best_effort or forecast.offered else Verdict.REFUSED


def drawn(times: Sequence[float | None]) -> list[float]:
    """Return run times as plots take them: not a number where that many hosts cannot be used."""
    return [math.nan if value is None else value for value in times]


def curve(profile: ProfileView, chosen: int = 0, measured: float | None = None) -> Markup:
    """Draw the run time by number of hosts, with its uncertainty.

    Args:
        profile: what is predicted.
        chosen: the number that is planned, or that it had; 0 for none.
        measured: how long it took on so many, in seconds.
    """
    seconds = drawn(profile.seconds)
    hosts = range(1, len(seconds) + 1)
    low, high = (None if side is None else drawn(side) for side in (profile.low, profile.high))
    lines = [Line("predicted", hosts, seconds, low, high)]
    count = "1 host" if chosen == 1 else f"{chosen} hosts"
    if measured is not None:
        lines.append(Line(f"measured: {count}", [chosen], [measured]))
    elif 1 <= chosen <= len(seconds):
        lines.append(Line(f"planned: {count}", [chosen], [seconds[chosen - 1]]))
    return Markup(line_plot(lines, "Run time by number of hosts", "hosts", "seconds", styled=False))  # noqa: S704  it escapes
