from __future__ import annotations

import pytest

from benchmarks.kernels import KERNELS as PUBLISHED
from demo.workload import KERNELS, draw, seconds


@pytest.mark.parametrize("kernel", KERNELS)
def test_models_say_what_was_published_scaled(kernel: str) -> None:
    assert seconds(kernel, 0.5) == pytest.approx([0.5 * value for value in PUBLISHED[kernel]])


def test_a_draw_is_repeatable_and_another_seed_is_another_draw() -> None:
    assert draw(30, 1, 0.1) == draw(30, 1, 0.1) != draw(30, 2, 0.1)


def test_deadlines_lie_between_the_shortest_run_and_four_times_one_host() -> None:
    orders = draw(300, 1, 0.1)
    assert {order.kernel for order in orders} == set(KERNELS)
    for order in orders:
        times = PUBLISHED[order.kernel]
        assert 0.1 * min(times) <= order.allowance <= 0.4 * times[0] + 1e-9
