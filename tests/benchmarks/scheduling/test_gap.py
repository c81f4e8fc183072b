from __future__ import annotations

import math

import pytest

from benchmarks.scheduling.gap import Trace, accompanied, searched
from cosched.scheduling.bounds import lower_bound
from tests.scheduling.problems import a_problem


def test_the_gap_is_that_of_what_was_known_by_then() -> None:
    trace = Trace([(0.0, 12.0), (3.0, 11.0)], [(0.0, 8.0), (2.0, 10.0), (5.0, 11.0)])
    assert trace.gap(1.0) == 0.5
    assert trace.gap(2.0) == pytest.approx(0.2)
    assert trace.gap(4.0) == pytest.approx(0.1)
    assert trace.gap(9.0) == 0.0
    assert trace.proved() == 5.0
    assert Trace([(0.0, 12.0)], [(0.0, 8.0)]).proved() == math.inf


def test_the_partner_begins_with_the_searchs_plan_and_proves_it() -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    problem = a_problem([[6.0], [6.0], [5.0]])
    own, early = searched(problem, 0.1)
    assert own.gap(1.0) == pytest.approx(11 / 9 - 1)
    assert own.bounds[0][1] > lower_bound(problem)
    trace = accompanied(problem, own, early)
    assert trace.gap(100.0) == 0.0
    assert trace.proved() < math.inf
