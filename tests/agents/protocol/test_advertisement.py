from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.protocol.advertisement import (
    AdvertisedHostClass,
    AdvertisedService,
    AvailabilityStep,
    availability_steps,
    debited,
    estimate_end,
)
from cosched.prediction.profile import PredictionSource, Profile

times = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


@given(times)
def test_steps_promise_no_host_before_it_is_free(free: list[float]) -> None:
    known = AdvertisedHostClass("h", availability_steps(free)).times()
    assert len(known) == len(free)
    assert all(told >= real for told, real in zip(known, sorted(free), strict=True))
    assert len(availability_steps(free)) <= 64


@given(times, st.lists(st.floats(0.1, 1e5), min_size=1, max_size=8))
def test_an_estimate_is_the_earliest_end_and_a_debit_makes_it_no_earlier(free: list[float], row: list[float]) -> None:
    service = AdvertisedService("b", 0.0, 0, (AdvertisedHostClass("h", availability_steps(free)),))
    profile = Profile(tuple(row), PredictionSource.USER)
    found = estimate_end(service, lambda _hardware, _hosts: profile)
    assert found is not None
    known = service.classes[0].times()
    assert found.end == min(known[n - 1] + row[n - 1] for n in range(1, min(len(row), len(known)) + 1))
    later = estimate_end(debited(service, found), lambda _hardware, _hosts: profile)
    assert later is not None
    assert later.end >= found.end


def test_time_that_has_gone_by_counts() -> None:
    service = AdvertisedService("b", 4.0, 0, (AdvertisedHostClass("h", (AvailabilityStep(10.0, 1),)),))
    found = estimate_end(service, lambda _hardware, _hosts: Profile((5.0,), PredictionSource.USER))
    assert found is not None
    assert found.end == pytest.approx(11.0)


def test_hosts_that_vanish_are_no_profile() -> None:
    with pytest.raises(ValueError, match="grow"):
        AdvertisedHostClass("h", (AvailabilityStep(1.0, 5), AvailabilityStep(2.0, 3)))
