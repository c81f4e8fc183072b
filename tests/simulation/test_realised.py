from __future__ import annotations

import math
import statistics

from cosched.simulation.realised import realised
from tests.coscheduler.makers import a_task


def test_without_error_a_task_takes_what_was_predicted() -> None:
    assert realised(0.0, 3)(a_task(1, [8.0, 5.0]), 2) == 5.0


def test_the_factor_is_the_tasks_own_on_any_number_of_hosts() -> None:
    seconds = realised(0.3, 3)
    task = a_task(1, [8.0, 5.0])
    assert math.isclose(seconds(task, 1) / 8.0, seconds(task, 2) / 5.0)
    assert seconds(task, 1) == realised(0.3, 3)(task, 1)
    assert seconds(task, 1) != realised(0.3, 4)(task, 1)


def test_the_factors_spread_as_asked_around_one() -> None:
    seconds = realised(0.12, 1)
    logs = [math.log(seconds(a_task(number, [1.0]), 1)) for number in range(1, 2001)]
    assert abs(statistics.fmean(logs)) < 0.01
    assert abs(statistics.stdev(logs) - 0.12) < 0.01
