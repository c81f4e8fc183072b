from __future__ import annotations

from xml.etree import ElementTree

import pytest

from cosched.api.documents import ProfileView
from cosched.portal.pages.curves import run_time_curve
from cosched.portal.pages.preview import PreviewVerdict, preview_submission
from tests.documents import NOW, forecast


@pytest.mark.parametrize(
    ("changes", "refusal", "verdict"),
    [
        ({"profile": None, "planned_start": None, "planned_end": None}, "", PreviewVerdict.PASSES),
        ({"planned_start": None, "planned_end": None}, "", PreviewVerdict.STUCK),
        ({}, "", PreviewVerdict.OPEN),
        ({"deadline": NOW + 50, "meets_deadline": True}, "", PreviewVerdict.MET),
        ({"deadline": NOW + 15, "planned_end": NOW + 40, "meets_deadline": False}, "", PreviewVerdict.LATE),
        ({"deadline": NOW + 5, "planned_end": NOW + 40, "meets_deadline": False}, "why", PreviewVerdict.REFUSED),
    ],
)
def test_a_forecast_is_judged(changes: dict[str, float | bool | None], refusal: str, verdict: PreviewVerdict) -> None:
    found = preview_submission(forecast(**changes), refusal=refusal, now=NOW)
    assert found.verdict is verdict
    assert (found.acceptable is not None) == (verdict in (PreviewVerdict.LATE, PreviewVerdict.REFUSED))
    assert (found.picture is None) == (verdict is PreviewVerdict.PASSES)


def test_what_is_offered_can_be_met() -> None:
    late = forecast(deadline=NOW + 5, planned_end=NOW + 4000, meets_deadline=False)
    found = preview_submission(late, refusal="why", now=NOW)
    assert found.acceptable is not None
    assert found.acceptable > NOW + 4000
    assert found.slack == -3995


def test_the_curve_leaves_out_what_cannot_be_used_and_is_xml() -> None:
    view = ProfileView(
        seconds=(None, 8.0, 6.0), source="model", hardware="<&>", low=(None, 7.0, 5.0), high=(None, 9.0, 8.0)
    )
    picture = ElementTree.fromstring(run_time_curve(view, 2))
    marks = [each for each in picture.iter() if each.get("class", "").startswith("mark")]
    assert len(marks) == 3  # two of the curve, one for what is planned
    assert not [each for each in picture.iter() if each.tag.endswith("style")]  # the page's policy would not let it in
