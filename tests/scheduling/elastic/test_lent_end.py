from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.elastic.lent_end import LoanTerms, end_with_loans
from cosched.scheduling.elastic.tasks import ElasticTask

HALVED = (120.0, 60.0, 40.0, 30.0)  # on 1 to 4 hosts
AT_ONCE = LoanTerms(payback=2.0, settle=0.0)


def task(grow: float = 0.0, drain: float = 0.0) -> ElasticTask:
    return ElasticTask("new", HALVED, 1, 4, 1, grow, drain, drain)


def test_alone_on_its_promised_hosts_it_ends_as_promised() -> None:
    assert end_with_loans(task(), 2, 5.0, {}, AT_ONCE) == 65.0
    assert end_with_loans(task(), 2, 5.0, {"h3": [(0.0, math.inf)]}, AT_ONCE) == 65.0


def test_what_is_idle_all_the_time_is_lent_at_once_or_when_it_has_settled() -> None:
    idle = {"h3": [(0.0, 1.0)], "h4": list[tuple[float, float]]()}
    assert end_with_loans(task(), 2, 5.0, idle, AT_ONCE) == 35.0
    # A quarter of the work is done after 15 of 60 s; the rest takes three quarters of 30 s.
    assert end_with_loans(task(), 2, 5.0, idle, LoanTerms(2.0, 15.0)) == pytest.approx(20.0 + 22.5)


def test_a_host_is_lent_once_it_is_free_and_leaves_in_time() -> None:
    # 20 s on 2 hosts (a third), 10 s on 3 (a quarter), then on 2 again: 5 s to drain before 40 s.
    ends = end_with_loans(task(drain=5.0), 2, 0.0, {"h3": [(0.0, 20.0), (40.0, 99.0)]}, LoanTerms(0.0, 0.0))
    done = 20 / 60 + 15 / 40
    assert ends == pytest.approx(35.0 + (1 - done) * 60)


def test_a_worker_does_nothing_before_it_has_begun() -> None:
    assert end_with_loans(task(grow=6.0), 2, 0.0, {"h3": []}, AT_ONCE) == pytest.approx(6 + 0.9 * 40)


def test_a_loan_that_does_not_pay_is_not_made() -> None:
    soon = {"h3": [(30.0, 99.0)]}
    assert end_with_loans(task(grow=10.0, drain=10.0), 2, 0.0, soon, AT_ONCE) == 60.0


SPANS = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.5, 50.0)), max_size=3)


@given(
    spans=st.lists(SPANS, max_size=4),
    costs=st.tuples(st.sampled_from([0.0, 1.0, 9.0]), st.sampled_from([0.0, 4.0])),
    terms=st.tuples(st.sampled_from([0.0, 2.0]), st.sampled_from([0.0, 10.0])),
    promised=st.integers(1, 4),
)
def test_loans_make_no_end_later_and_none_better_than_all_hosts(
    spans: list[list[tuple[float, float]]],
    costs: tuple[float, float],
    terms: tuple[float, float],
    promised: int,
) -> None:
    busy = {f"h{place}": sorted((begin, begin + length) for begin, length in each) for place, each in enumerate(spans)}
    end = end_with_loans(task(*costs), promised, 3.0, busy, LoanTerms(*terms))
    assert 3.0 + HALVED[-1] - 1e-6 <= end <= 3.0 + HALVED[promised - 1] + 1e-6
