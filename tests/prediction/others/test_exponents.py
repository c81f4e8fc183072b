from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.others.exponents import USUAL_HOSTS, Exponent, HostScaling

_EXPONENTS = st.builds(Exponent, st.floats(-2, 2), st.floats(0.01, 2))
_SCALINGS = st.builds(HostScaling, _EXPONENTS, st.dictionaries(st.integers(0, 6), _EXPONENTS))
_HOSTS = st.integers(1, 4096)


def _between(scaling: HostScaling, hosts: int, count: int) -> tuple[float, float]:
    (mean,), (deviation,) = scaling.between(math.log(hosts), np.log([count]))
    return float(mean), float(deviation)


@pytest.mark.parametrize(("hosts", "count"), [(1, 2), (4, 16), (3, 5), (8, 1)])
def test_where_nothing_is_told_one_exponent_holds_everywhere(hosts: int, count: int) -> None:
    far = math.log(count / hosts)
    assert _between(HostScaling(USUAL_HOSTS, {}), hosts, count) == pytest.approx((-0.7 * far, 0.5 * far))


def test_what_is_told_of_one_doubling_says_nothing_of_others() -> None:
    scaling = HostScaling(USUAL_HOSTS, {1: Exponent(-1.0, 0.1)})
    step = math.log(2)
    assert _between(scaling, 1, 2) == pytest.approx((-0.7 * step, 0.5 * step))
    assert _between(scaling, 2, 4) == pytest.approx((-1.0 * step, 0.1 * step))
    assert _between(scaling, 1, 16) == pytest.approx((-3.1 * step, 1.6 * step))
    for hosts, exponent in ((4, (-1.0, 0.1)), (16, (-1.0, 0.1)), (2, (0.0, 0.0))):
        (mean,), (deviation,) = scaling.between(0.0, np.log([hosts]), told=True)
        assert (mean, deviation) == pytest.approx((exponent[0] * step, exponent[1] * step))


@given(_SCALINGS, _HOSTS, _HOSTS, _HOSTS)
def test_a_way_in_two_parts_is_as_far_as_the_whole(scaling: HostScaling, first: int, second: int, third: int) -> None:
    parts = zip(_between(scaling, first, second), _between(scaling, second, third), strict=True)
    assert [sum(part) for part in parts] == pytest.approx(_between(scaling, first, third), abs=1e-9)


@given(_SCALINGS, _HOSTS, _HOSTS)
def test_the_farther_the_less_sure(scaling: HostScaling, hosts: int, count: int) -> None:
    _, deviation = _between(scaling, hosts, count)
    assert np.sign(deviation) == np.sign(count - hosts)
    assert abs(_between(scaling, hosts, 8192)[1]) >= abs(deviation) or count < hosts
