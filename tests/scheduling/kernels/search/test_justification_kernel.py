from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.kernels.objective import packing_kernel
from cosched.scheduling.kernels.search.justification_kernel import justify
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from tests.scheduling.packed import a_packed_problem, packed_problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def justified(problem: Problem, order: list[int], share: float = 1.0) -> list[int]:
    """Return the order of the tasks, each in its first shape, after justification."""
    assert problem.packing is not None
    orders, shapes = np.array([order]), problem.packing.first[np.newaxis, :-1].copy()
    state = np.array([11], dtype=np.uint64)
    justify(packing_kernel.tabulate(problem, Weights(), 1.0), state, share, orders, shapes)
    return [int(task) for task in orders[0]]


def makespan(problem: Problem, order: list[int]) -> float:
    assert problem.packing is not None
    return decode(problem, Plan(np.array(order), problem.packing.first[:-1])).makespan


def test_who_ends_last_and_might_have_run_beside_others_does() -> None:
    """Three cores: a takes two of them for 2 s, b one for 2 s, c one for 4 s.

    Whoever places b before c has c wait for it; seen from the end, c comes first.
    """
    problem = a_packed_problem([[(1, (2,), (2.0,))], [(1, (1,), (2.0,))], [(1, (1,), (4.0,))]], [(3,)])
    assert makespan(problem, [0, 1, 2]) == 6.0
    assert makespan(problem, justified(problem, [0, 1, 2])) == 4.0


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=9).flatmap(
        lambda tasks: st.tuples(st.just(tasks), st.permutations(range(len(tasks))))
    )
)
@settings(max_examples=60)
def test_a_plan_on_the_cores_of_one_host_becomes_no_longer(
    drawn: tuple[list[tuple[int, int]], list[int]],
) -> None:
    tasks, order = drawn
    problem = a_packed_problem([[(1, (cores,), (float(seconds),))] for cores, seconds in tasks], [(6,)])
    assert makespan(problem, justified(problem, order)) <= makespan(problem, order)


@given(packed_problems().filter(lambda problem: not problem.depends_on))
@settings(max_examples=20)
def test_it_leaves_an_order_of_all_tasks(problem: Problem) -> None:
    every = list(range(len(problem.tasks)))
    assert sorted(justified(problem, every)) == every
    assert justified(problem, every, share=0.0) == every
