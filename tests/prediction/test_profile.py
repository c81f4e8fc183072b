from __future__ import annotations

import math

import pytest

from cosched.errors import UserError
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile


def a_profile(*seconds: float) -> Profile:
    return Profile(seconds, PredictionSource.USER)


def test_more_hosts_may_be_slower() -> None:
    profile = a_profile(17.0, 10.0, 10.0, 12.0)
    assert (profile.shortest, profile.best_count) == (10.0, 2)
    assert (profile.on(4), profile.on(5), profile.on(0)) == (12.0, math.inf, math.inf)


@pytest.mark.parametrize("bad", [math.nan, -math.inf, 0.0, -0.0, -1.0, 1e-320, 1e308])
def test_a_time_that_cannot_be_is_refused_with_its_host_count(bad: float) -> None:
    with pytest.raises(UserError, match="for 2 hosts"):
        a_profile(1.0, bad)


def test_no_usable_count_at_all_is_refused() -> None:
    with pytest.raises(UserError, match="no host count"):
        a_profile(math.inf, math.inf)


def test_limits_make_counts_impossible() -> None:
    assert a_profile(4.0, 3.0, 2.0, 1.0).limited(3, least=2).seconds == (math.inf, 3.0, 2.0)
    assert a_profile(4.0, 3.0).scaled(0.5).seconds == (2.0, 1.5)


def test_what_runs_have_taught_never_leads_beyond_what_a_prediction_may_be() -> None:
    assert a_profile(3e8, 1.0).scaled(10.0).seconds == (10 * 365 * 86400.0, 10.0)
    assert a_profile(1e-8, 1.0).scaled(1e-3).seconds == (1e-9, 1e-3)


RANGED = Profile((10.0, 6.0, math.inf), PredictionSource.MODEL, "hw", (9.0, 4.0, math.inf), (11.0, 9.0, math.inf))


def test_quantiles_give_back_both_ends_and_the_middle() -> None:
    assert RANGED.at_quantile(0.05).seconds == pytest.approx(RANGED.low)
    assert RANGED.at_quantile(0.5).seconds == pytest.approx(RANGED.seconds)
    assert RANGED.at_quantile(0.95).seconds == pytest.approx(RANGED.high)
    # 0.8416 standard deviations of the 1.6449 that lie between 6 and 9: 6 * 1.5 ** 0.5117
    assert RANGED.at_quantile(0.8).on(2) == pytest.approx(6 * 1.5 ** (0.8416 / 1.6449), rel=1e-4)
    assert RANGED.at_quantile(0.8).low is None


def test_without_uncertainty_every_quantile_is_the_expected_time() -> None:
    assert a_profile(4.0, 3.0).at_quantile(0.99) == a_profile(4.0, 3.0)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, math.nan])
def test_a_quantile_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        RANGED.at_quantile(share)


def test_the_range_follows_what_is_done_to_the_times() -> None:
    assert RANGED.scaled(2.0).high == (22.0, 18.0, math.inf)
    limited = RANGED.limited(2, least=2)
    assert (limited.low, limited.high) == ((math.inf, 4.0), (math.inf, 9.0))
    assert RANGED.limited(2, least=1).low == (9.0, 4.0)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ((9.0,), None, "both low and high"),
        ((9.0,), (11.0, 12.0), "another number"),
        ((10.5,), (11.0,), "must ascend"),
        ((0.0,), (11.0,), "must ascend"),
        ((9.0,), (math.inf,), "must ascend"),
        ((math.nan,), (11.0,), "must ascend"),
    ],
)
def test_a_range_that_cannot_be_is_refused(
    low: tuple[float, ...] | None, high: tuple[float, ...] | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        Profile((10.0,), PredictionSource.MODEL, "hw", low, high)


def test_the_slowest_class_decides_count_by_count_and_brings_its_range() -> None:
    other = Profile((8.0, 7.0, math.inf), PredictionSource.MODEL, "other")
    both = slowest_profile([RANGED, other], "hw+other")
    assert (both.seconds, both.low, both.high) == (
        (10.0, 7.0, math.inf),
        (9.0, 7.0, math.inf),
        (11.0, 7.0, math.inf),
    )
    assert slowest_profile([other, other], "x").low is None


def test_what_holds_on_some_classes_is_kept_and_changed_with_the_whole() -> None:
    fast, slow = (
        Profile((4.0, 3.0), PredictionSource.MODEL, "fast"),
        Profile((9.0, 8.0), PredictionSource.MODEL, "slow", (8.0, 7.0), (9.5, 9.0)),
    )
    both = slowest_profile([fast, slow], "fast+slow")
    assert (both.classes, slowest_profile([fast], "fast").classes) == ((fast, slow), ())
    assert (both.among(["fast"]).seconds, both.among(["fast"]).hardware) == ((4.0, 3.0), "fast")
    assert both.among(["fast"]).among(["slow", "fast"]) == both
    assert both.among(["fast"]).among(["other"]) == both
    assert fast.among(["other"]) == fast
    assert both.scaled(2.0).among(["fast"]).seconds == (8.0, 6.0)
    assert both.limited(1).among(["slow"]).low == (8.0,)
    assert both.at_quantile(0.95).among(["slow"]).seconds == pytest.approx((9.5, 9.0))


def test_a_wider_range_has_the_same_middle() -> None:
    narrow = Profile((10.0, math.inf), PredictionSource.MODEL, low=(8.0, math.inf), high=(15.0, math.inf))
    wide = narrow.widened(2.0)
    assert wide.seconds == narrow.seconds
    assert wide.low is not None
    assert wide.high is not None
    assert (wide.low[0], wide.high[0]) == pytest.approx((6.4, 22.5))
    assert Profile((1.0,), PredictionSource.MODEL).widened(2.0).high is None


def test_a_range_without_bound_is_planned_with_and_widened() -> None:
    """A model may state `error_above = 1e300`; exp() of a few times that is no number."""
    wide = Profile((100.0,), PredictionSource.MODEL, low=(50.0,), high=(1e302,))
    assert wide.at_quantile(0.99).seconds == (10 * 365 * 86400.0,)
    widened = wide.widened(4)
    assert widened.low is not None
    assert widened.high is not None
    assert 0 < widened.low[0] < 50 < 1e200 < widened.high[0] < math.inf
