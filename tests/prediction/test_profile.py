from __future__ import annotations

import math

import pytest

from cosched.errors import UserError
from cosched.prediction.profile import Profile, Source


def a_profile(*seconds: float) -> Profile:
    return Profile(seconds, Source.USER)


def test_more_hosts_may_be_slower() -> None:
    profile = a_profile(17.0, 10.0, 10.0, 12.0)
    assert (profile.shortest, profile.best_count) == (10.0, 2)
    assert (profile.on(4), profile.on(5), profile.on(0)) == (12.0, math.inf, math.inf)


@pytest.mark.parametrize("bad", [math.nan, -math.inf, 0.0, -0.0, -1.0, 1e308])
def test_a_time_that_cannot_be_is_refused_with_its_host_count(bad: float) -> None:
    with pytest.raises(UserError, match="for 2 hosts"):
        a_profile(1.0, bad)


def test_no_usable_count_at_all_is_refused() -> None:
    with pytest.raises(UserError, match="no host count"):
        a_profile(math.inf, math.inf)


def test_limits_make_counts_impossible() -> None:
    assert a_profile(4.0, 3.0, 2.0, 1.0).limited(3, least=2).seconds == (math.inf, 3.0, 2.0)
    assert a_profile(4.0, 3.0).scaled(0.5).seconds == (2.0, 1.5)
