"""The preview of a submission shows its verdict, slack, earliest deadline and picture."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from markupsafe import Markup

from cosched.portal.pages.curves import MeasuredRun, run_time_curve

if TYPE_CHECKING:
    from cosched.api.documents import Forecast

__all__ = ["PreviewVerdict", "SubmissionPreview", "preview_submission"]


class PreviewVerdict(StrEnum):
    """A preview of one submission."""

    PASSES = "passes"  # no prediction: straight to the resource manager
    STUCK = "stuck"  # no host is up that could run it
    OPEN = "open"  # no deadline to meet
    MET = "met"
    LATE = "late"  # accepted, and late as the schedule is now
    REFUSED = "refused"  # no schedule at all could meet the deadline


@dataclass(frozen=True, slots=True)
class SubmissionPreview:
    """Show the likely result of a submission.

    Attributes:
        verdict: the verdict in a word.
        forecast: as the API gives it.
        slack: deadline - planned end, seconds; None without the two.
        acceptable: where the deadline cannot be met as things are: the earliest that can, seconds since the epoch.
        refusal: why it would be refused, in the words with which it would be; empty where it would be accepted.
        picture: run time by number of hosts, with the planned number and earlier runs of the same; None without a
            prediction.
    """

    verdict: PreviewVerdict
    forecast: Forecast
    slack: float | None
    acceptable: float | None
    refusal: str
    picture: Markup | None


def preview_submission(forecast: Forecast, *, refusal: str = "", now: float) -> SubmissionPreview:
    """Judge a forecast that was made as if late tasks were welcome.

    Args:
        forecast: as the API gives it.
        refusal: why the task would be refused, as it is not; empty where it would be accepted.
        now: seconds since the epoch.
    """
    verdict = _verdict(forecast, refused=bool(refusal))
    end, deadline = forecast.planned_end, forecast.deadline
    slack = None if end is None or deadline is None else deadline - end
    late = verdict in (PreviewVerdict.LATE, PreviewVerdict.REFUSED)
    # A little more than the prediction: by the time it is submitted the clock has gone on.
    acceptable = end + max(5.0, 0.02 * (end - now)) if late and end is not None else None
    runs, profile = [MeasuredRun("", run.hosts, run.seconds) for run in forecast.same], forecast.profile
    picture = None if profile is None else run_time_curve(profile, len(forecast.planned_hosts), runs=runs)
    return SubmissionPreview(verdict, forecast, slack, acceptable, refusal, picture)


def _verdict(forecast: Forecast, *, refused: bool) -> PreviewVerdict:
    if forecast.profile is None and not forecast.ways:
        return PreviewVerdict.PASSES
    if forecast.planned_end is None:
        return PreviewVerdict.STUCK
    if forecast.deadline is None:
        return PreviewVerdict.OPEN
    if forecast.meets_deadline:
        return PreviewVerdict.MET
    return PreviewVerdict.REFUSED if refused else PreviewVerdict.LATE
