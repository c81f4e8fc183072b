from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability, normalised_availability, time_to_offer

TIMES = st.integers(0, 12).map(float)
ABSENCES = st.lists(
    st.builds(
        lambda host, begin, length: Unavailability(host, begin, begin + length),
        st.integers(0, 2),
        TIMES,
        st.integers(1, 5).map(float) | st.just(math.inf),
    ),
    max_size=6,
)


def there(free: np.ndarray[tuple[int], np.dtype[np.float64]], unavailability: object, host: int, time: float) -> bool:
    return time >= free[host] and not any(
        period.host == host and period.begin <= time < period.end
        for period in unavailability  # type: ignore[attr-defined]
    )


@given(st.lists(TIMES, min_size=3, max_size=3).map(np.array), ABSENCES)
def test_settled_absences_say_the_same_in_order_and_apart(
    free: np.ndarray[tuple[int], np.dtype[np.float64]], unavailability: list[Unavailability]
) -> None:
    later, kept = normalised_availability(free, unavailability)
    for host in range(3):
        mine = [period for period in kept if period.host == host]
        assert all(one.end < other.begin for one, other in pairwise(mine))
        assert all(period.begin > later[host] for period in mine)
        for time in np.arange(0.5, 30.0):
            assert there(free, unavailability, host, time) == there(later, kept, host, time)


@given(st.lists(TIMES, min_size=3, max_size=3).map(np.array), ABSENCES, st.integers(1, 40))
def test_hosts_have_offered_the_area_just_then(
    free: np.ndarray[tuple[int], np.dtype[np.float64]], unavailability: list[Unavailability], area: int
) -> None:
    later, kept = normalised_availability(free, unavailability)
    when = time_to_offer(later, kept, float(area))
    steps = [sum(there(later, kept, host, time) for host in range(3)) for time in np.arange(0.5, 80.0)]
    if math.isinf(when):
        assert sum(steps) < area
    else:
        whole = int(when)
        offered = sum(steps[:whole]) + (when - whole) * steps[whole]
        assert offered == pytest.approx(area)
