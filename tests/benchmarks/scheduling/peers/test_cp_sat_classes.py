"""The peer on several classes, on queues that are small enough to know better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.kernels import mixed
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.run import Limit
from tests.scheduling.problems import a_problem

pytest.importorskip("ortools", reason="the extra exact is not installed")
from benchmarks.scheduling.peers.cp_sat_classes import cp_sat_classes  # loads OR-Tools


def test_the_shorter_task_goes_to_the_slow_host() -> None:
    alike = a_problem([[4.0, 3.0], [2.0, 2.0]], hosts=2)
    problem = replace(
        alike,
        classes=("fast", "slow"),
        host_class=np.array([0, 1]),
        seconds=np.concatenate([alike.seconds, 2 * alike.seconds]),
    )
    assert cp_sat_classes(problem, 60.0) == (4.0, 4.0)


def test_what_is_proved_is_between_our_bound_and_our_plan() -> None:
    problem = mixed(4, 4, 1, (1.0, 1.6))
    makespan, bound = cp_sat_classes(problem, 60.0)
    schedule, _ = plan(problem, PolicyName.GENETIC, Limit(1e6, generations=100), seed=1)
    assert tight_bound(problem) <= bound + 1e-9
    assert bound == pytest.approx(makespan)
    assert makespan <= schedule.makespan + 1e-9
