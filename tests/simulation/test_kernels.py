from __future__ import annotations

import pytest

from benchmarks.kernels import KERNELS as PUBLISHED
from cosched.simulation.kernels import HOSTS, KERNELS, draw_kernel_tasks, kernel_profile


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_profiles_are_the_published_ones_scaled(kernel: str) -> None:
    assert kernel_profile(kernel, 0.5).seconds == pytest.approx([0.5 * value for value in PUBLISHED[kernel]])
    assert len(kernel_profile(kernel).seconds) == HOSTS


def test_a_draw_is_repeatable_and_another_seed_is_another_draw() -> None:
    assert (
        draw_kernel_tasks(30, 1, scale=0.1)
        == draw_kernel_tasks(30, 1, scale=0.1)
        != draw_kernel_tasks(30, 2, scale=0.1)
    )


def test_deadlines_lie_between_the_shortest_run_and_four_times_one_host() -> None:
    orders = draw_kernel_tasks(300, 5, scale=0.1)
    assert {order.kernel for order in orders} == set(KERNELS)
    for order in orders:
        times = PUBLISHED[order.kernel]
        assert 0.1 * min(times) <= order.relative_deadline <= 0.4 * times[0] + 1e-9


def test_fewer_kernels_are_drawn_from_where_so_asked() -> None:
    assert {order.kernel for order in draw_kernel_tasks(300, 5, kernels=5)} == set(KERNELS[:5])
