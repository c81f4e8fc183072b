from __future__ import annotations

import pytest

from cosched.portal.pages.chart.blocks import ChartBlock
from cosched.portal.pages.chart.colours import ApplicationColours, OwnerColours, SlackColours


def _block(owner: str = "ann", application: str = "fft", deadline: float | None = None) -> ChartBlock:
    at_risk = deadline == 55.0
    return ChartBlock("1", "x", application, ("h",), 0.0, 50.0, deadline, "planned", 0, owner, at_risk)


def test_applications_keep_their_colours_whatever_else_is_seen() -> None:
    colours = ApplicationColours(["a", "fft"])
    assert colours.of(_block()) == "c1"
    assert colours.of(_block(application="")) == "c10"
    assert list(colours.legend([_block(), _block(application=""), _block()])) == [("fft", "c1", "application:fft")]


def test_owners_have_colours_where_one_may_know_them() -> None:
    colours = OwnerColours()
    assert colours.of(_block()) == colours.of(_block(application="other"))
    assert colours.of(_block(owner="")) == "c10"
    assert [entry[0] for entry in colours.legend([_block("bob"), _block("ann"), _block("")])] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("deadline", "colour"),
    [(None, "c10"), (49.0, "slack-late"), (55.0, "slack-risk"), (61.0, "slack-time")],
)
def test_slack_is_late_at_risk_or_in_time(deadline: float | None, colour: str) -> None:
    assert SlackColours().of(_block(deadline=deadline)) == colour


def test_the_legend_of_slack_has_what_is_seen_the_worst_first() -> None:
    blocks = [_block(), _block(deadline=61.0), _block(deadline=9.0)]
    assert [name for name, _, _ in SlackColours().legend(blocks)] == ["late", "in time", "no deadline"]
