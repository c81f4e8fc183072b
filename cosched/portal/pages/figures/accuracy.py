"""The page of prediction accuracy: predicted against measured run times, how it went on, and how often ranges held."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from http import HTTPStatus
from statistics import median
from typing import Annotated, Literal

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from cosched.api.documents import Accuracy, LearntRunView
from cosched.counts import plural
from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot
from cosched.portal.dependencies import Portal, Reader, Services, Submitter, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page, zone_of

__all__ = ["RunsSummary", "router", "summary"]

_MOST_RUNS = 500
_LISTED = 50
_LINES = 5  # that are told apart on the picture; the rest is one
_OFF = 2.0  # the strip of an application's runs goes from half to twice the prediction
_NEAR = 0.1
_RECENT = 9  # runs of which the trend is the median


@dataclass(frozen=True, slots=True)
class RunsSummary:
    """How well runs were predicted.

    Attributes:
        name: what the runs have in common.
        runs: how many had a prediction.
        near: how many were within 10 % of it.
        middle: the median of measured / predicted; None without such runs.
        ranged: how many had a range, within which nine in ten are to be.
        within: how many were within it.
        over: how many took longer than its upper end.
        stated: median distance of measured and stated (model's or user's) times, as a factor above 1; None for none.
        learnt: the same of the predictions for these runs.
    """

    name: str
    runs: int
    near: int
    middle: float | None
    ranged: int
    within: int
    over: int
    stated: float | None
    learnt: float | None


def summary(name: str, runs: Sequence[LearntRunView]) -> RunsSummary:
    """Count how well runs were predicted."""
    ratios = [run.seconds / run.predicted for run in runs if run.predicted]
    ranges = [(run.low, run.seconds, run.high) for run in runs if run.low is not None and run.high is not None]
    both = [(run.stated, run.predicted, run.seconds) for run in runs if run.stated and run.predicted]
    return RunsSummary(
        name,
        len(ratios),
        sum(abs(ratio - 1) <= _NEAR for ratio in ratios),
        median(ratios) if ratios else None,
        len(ranges),
        sum(low <= seconds <= high for low, seconds, high in ranges),
        sum(seconds > high for _, seconds, high in ranges),
        _distance([(stated, seconds) for stated, _, seconds in both]),
        _distance([(predicted, seconds) for _, predicted, seconds in both]),
    )


def _distance(pairs: Sequence[tuple[float, float]]) -> float | None:
    return median(max(one / other, other / one) for one, other in pairs) if pairs else None


router = page_router()


@router.get("/accuracy")
def accuracy(
    request: Request,
    services: Services,
    principal: Reader,
    application: Annotated[str, Query(max_length=255)] = "",
    by: Literal["class", "hosts"] = "class",
) -> Response:
    known = services.history.learnt_applications(principal)
    chosen = application or (known[0].name if known else "")
    runs = services.history.learnt_runs(principal, chosen, _MOST_RUNS) if chosen else []
    foretold = [run for run in runs if run.predicted]
    name_of = _hosts_of if by == "hosts" else _class_of
    return render_page(
        request,
        "accuracy.html",
        known=known,
        chosen=chosen,
        by=by,
        runs=runs[:_LISTED],
        total=len(runs),
        whole=summary(chosen, runs),
        parts=[summary(name, part) for name, part in _parts(foretold, lambda run: (_class_of(run), _hosts_of(run)))],
        scatter=_scatter(foretold, name_of) if foretold else None,
        trend=_trend(foretold, zone_of(request)) if len(foretold) > 1 else None,
        strips=[_strip(entry) for entry in services.history.accuracy()],
    )


@router.post("/accuracy/forget")
def forget(request: Request, portal: Portal, principal: Submitter, application: Annotated[str, Form()]) -> Response:
    """Forget the runs of an application: its next ones are learnt from anew."""
    portal.services.history.forget_runs(principal, application)
    portal.access.log(principal, sender(request), "runs forgotten", application)
    return RedirectResponse("/accuracy", HTTPStatus.SEE_OTHER)


def _class_of(run: LearntRunView) -> str:
    return run.hardware or "all hosts"


def _hosts_of(run: LearntRunView) -> str:
    return plural(run.hosts, "host")


def _parts(
    runs: Sequence[LearntRunView], name_of: Callable[[LearntRunView], Sequence[str]]
) -> list[tuple[str, list[LearntRunView]]]:
    """Return runs by name, those with most runs first."""
    found: dict[str, list[LearntRunView]] = {}
    for run in runs:
        found.setdefault(", ".join(name_of(run)), []).append(run)
    return sorted(found.items(), key=lambda part: (-len(part[1]), part[0]))


def _scatter(runs: Sequence[LearntRunView], name_of: Callable[[LearntRunView], str]) -> Markup:
    """Draw measured over predicted times; on the dashed line they are alike."""
    parts = _parts(runs, lambda run: (name_of(run),))
    if len(parts) > _LINES + 1:
        parts = [*parts[:_LINES], ("others", [run for _, part in parts[_LINES:] for run in part])]
    lines = [
        Line(name, [run.predicted or 0.0 for run in part], [run.seconds for run in part], joined=False)
        for name, part in parts
    ]
    times = [time for run in runs for time in (run.predicted or run.seconds, run.seconds)]
    lines.append(Line("as predicted", [min(times), max(times)], [min(times), max(times)], dashed=True, marked=False))
    title, kind = "Measured against predicted run time", AxisKind.LOGARITHMIC
    return Markup(line_plot(lines, title, "predicted, s", "measured, s", across=kind, upwards=kind, styled=False))  # noqa: S704  it escapes


def _trend(runs: Sequence[LearntRunView], zone: tzinfo | None) -> Markup:
    """Draw measured / predicted as the runs came, with the median of the last ones."""
    ordered = sorted(runs, key=lambda run: run.finished)
    ratios = [run.seconds / (run.predicted or run.seconds) for run in ordered]
    ends = [run.finished for run in ordered]
    middles = [median(ratios[max(0, place - _RECENT + 1) : place + 1]) for place in range(len(ratios))]
    lines = [
        Line("runs", ends, ratios, joined=False),
        Line(f"median of the last {_RECENT}", ends, middles),
        Line("as predicted", [ends[0], ends[-1]], [1.0, 1.0], dashed=True, marked=False),
    ]
    title, labels = "Measured ÷ predicted as the runs came", ("ended", "measured ÷ predicted")
    across, upwards = AxisKind.CLOCK, AxisKind.LOGARITHMIC
    return Markup(line_plot(lines, title, *labels, across=across, upwards=upwards, zone=zone, styled=False))  # noqa: S704  it escapes


@dataclass(frozen=True, slots=True)
class _AccuracyStrip:
    """Accuracy of one application's predictions on one hardware.

    Attributes:
        entry: accuracy on record.
        dots: places of the runs, 0 (half of the predicted time or less) to 100 (twice that or more).
        near: share of the runs within 10 % of their prediction.
        middle: the median of measured / predicted.
    """

    entry: Accuracy
    dots: tuple[float, ...]
    near: float
    middle: float


def _strip(entry: Accuracy) -> _AccuracyStrip:
    ratios = sorted(entry.ratios)
    dots = tuple(
        round(50 + 50 * math.log(min(max(ratio, 1 / _OFF), _OFF)) / math.log(_OFF), 1) for ratio in entry.ratios
    )
    near = sum(abs(ratio - 1) <= _NEAR for ratio in ratios) / len(ratios)
    return _AccuracyStrip(entry, dots, near, ratios[len(ratios) // 2])
