"""The page of deadlines that were met, by day, user and application, below what is expected of the others."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import IntEnum
from typing import Annotated

from fastapi import Depends, Query, Request, Response
from markupsafe import Markup

from cosched.api.documents import DeadlineOutcome
from cosched.app.figures.deadline_outlook import deadlines
from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page, zone_of

__all__ = ["MetShare", "met_shares", "router"]

_DAY = 86400.0
_WORST = 10  # late tasks that are named
_MOST_LEFT, _MOST_LATE = 100.0, -100.0  # percent of the allowed time; what is beyond is drawn at the edge


@dataclass(frozen=True, slots=True)
class MetShare:
    """How many deadlines were met on a day, or by a user's or an application's tasks."""

    name: str
    met: int
    late: int
    failed: int

    @property
    def total(self) -> int:
        """Return how many deadlines there were."""
        return self.met + self.late + self.failed

    @property
    def share(self) -> float:
        """Return the part of them that was met."""
        return self.met / self.total


def met_shares(outcomes: Iterable[DeadlineOutcome], name_of: Callable[[DeadlineOutcome], str]) -> list[MetShare]:
    """Count outcomes by name, in the order in which the names first come."""
    found: dict[str, list[int]] = {}
    for outcome in outcomes:
        counts = found.setdefault(name_of(outcome), [0, 0, 0])
        counts[0 if outcome.met else 2 if outcome.state == "failed" else 1] += 1
    return [MetShare(name, *counts) for name, counts in found.items()]


class Period(IntEnum):
    """How many days are told of."""

    DAY = 1
    WEEK = 7
    MONTH = 30
    QUARTER = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineFilters:
    """What the page tells of, as its address has it; empty names are everybody's and every application's."""

    days: Period = Period.WEEK
    owner: Annotated[str, Query(max_length=255)] = ""
    application: Annotated[str, Query(max_length=255)] = ""

    def takes(self, outcome: DeadlineOutcome) -> bool:
        """Return whether an outcome is told of."""
        return self.owner in ("", outcome.owner) and self.application in ("", outcome.application)


router = page_router()


@router.get("/deadlines")
def met_deadlines(
    request: Request, services: Services, principal: Reader, filters: Annotated[DeadlineFilters, Depends()]
) -> Response:
    zone = zone_of(request)
    known = services.history.deadline_outcomes(principal, time.time() - filters.days * _DAY)
    outcomes = [outcome for outcome in known if filters.takes(outcome)]
    late = sorted((outcome for outcome in outcomes if outcome.slack < 0), key=lambda outcome: outcome.slack)
    return render_page(
        request,
        "deadlines.html",
        expected=deadlines(services.domain.plan(principal)),
        filters=filters,
        periods=[int(period) for period in Period],
        whole=next(iter(met_shares(outcomes, lambda _outcome: "")), None),
        tables=(
            ("Day", "", met_shares(outcomes, lambda outcome: _day(outcome.finished, zone))),
            ("Application", "application", _by_size(met_shares(outcomes, lambda outcome: outcome.application))),
            ("User", "owner", _by_size(met_shares(outcomes, lambda outcome: outcome.owner))),
        ),
        late=late[:_WORST],
        picture=_picture(outcomes, zone) if outcomes else None,
    )


def _by_size(shares: Sequence[MetShare]) -> list[MetShare]:
    return sorted(shares, key=lambda share: (-share.total, share.name))


def _day(moment: float, zone: tzinfo | None) -> str:
    local = datetime.fromtimestamp(moment, UTC).astimezone(zone)
    return f"{local:%a} {local.day} {local:%b}"


def _picture(outcomes: Sequence[DeadlineOutcome], zone: tzinfo | None) -> Markup:
    """Draw how much of the time that a task was given was left, by when it ended."""
    kinds = (
        ("in time", [each for each in outcomes if each.met]),
        ("late", [each for each in outcomes if not each.met and each.state != "failed"]),
        ("failed", [each for each in outcomes if each.state == "failed"]),
    )
    lines = [
        Line(name, [each.finished for each in found], [_left(each) for each in found], joined=False)
        for name, found in kinds
        if found
    ]
    ends = [each.finished for each in outcomes]
    lines.append(Line("deadline", [min(ends), max(ends)], [0.0, 0.0], dashed=True, marked=False))
    title, labels = "Time left at the end", ("ended", "% of the time that was given")
    return Markup(line_plot(lines, title, *labels, across=AxisKind.CLOCK, zone=zone, styled=False))  # noqa: S704  it escapes


def _left(outcome: DeadlineOutcome) -> float:
    given = max(outcome.deadline - outcome.submitted, 1.0)
    return min(max(100.0 * outcome.slack / given, _MOST_LATE), _MOST_LEFT)
