from __future__ import annotations

from cosched.simulation.kernels import HOSTS, KERNELS, draw, kernel_profile


def test_the_profiles_are_the_published_ones() -> None:
    assert kernel_profile("sweep3d").seconds[:3] == (50.0, 40.0, 30.0)
    assert all(len(kernel_profile(kernel).seconds) == HOSTS for kernel in KERNELS)


def test_deadlines_are_drawn_between_the_shortest_time_and_four_times_that_on_one_host() -> None:
    orders = draw(300, 5, 1)
    assert {order.kernel for order in orders} == set(KERNELS[:5])
    for order in orders:
        times = kernel_profile(order.kernel)
        assert times.shortest <= order.allowance <= 4 * times.on(1)
    assert orders == draw(300, 5, 1)
