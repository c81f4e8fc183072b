from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.heuristics.batch_queue import easy
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.kernels.search.backfill_kernel import easy_order
from tests.scheduling.problems import a_problem, plans, problems, unconstrained

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem


def orders(problem: Problem, counts: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    seconds = best_seconds(problem)[np.arange(len(counts)), counts - 1]
    return easy_order(np.sort(problem.free), counts, seconds).tolist(), easy(problem, counts).order.tolist()


@given(st.data())
def test_the_order_is_that_of_plain_python(data: st.DataObject) -> None:
    problem = unconstrained(data.draw(problems(tasks=12, hosts=8, whole=data.draw(st.booleans()))))
    compiled, plain = orders(problem, data.draw(plans(problem)).counts)
    assert compiled == plain


def test_a_queue_longer_than_the_hosts_are_many() -> None:
    draw = np.random.default_rng(2)
    for _ in range(5):
        profiles = np.full((26, 6), np.inf)
        counts = draw.integers(1, 7, 26)
        profiles[np.arange(26), counts - 1] = draw.integers(1, 9, 26)
        compiled, plain = orders(a_problem(profiles.tolist(), hosts=6), counts)
        assert compiled == plain
