from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.kernels import queue
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.kernels.search import generation_kernel
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.problem import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem

MAKESPAN = Weights(1.0, 0.0, 0.0)
PLAIN = queue(12, 8, 3)
IN_TURN = replace(PLAIN, turns=Turns(np.arange(12) % 2, np.tile([0, 1], 6)))
AFTER = replace(PLAIN, depends_on=((), *(((each,) if each % 3 else ()) for each in range(11))))


class People:
    """Twelve plans on single hosts, and calls of the kernel."""

    def __init__(self, problem: Problem) -> None:
        draw = np.random.default_rng(1)
        self.tables = objective_kernel.tabulate(problem, MAKESPAN, lower_bound(problem))
        self.genes = generation_kernel.tabulate_genes(problem)
        self.state = np.array([7], dtype=np.uint64)
        self.orders = np.array([draw.permutation(12) for _ in range(12)])
        objective_kernel.repair_orders(self.tables.before, self.tables.first, self.orders)
        self.counts = np.ones((12, 12), dtype=np.int64)
        self.costs = generation_kernel.judge_plans(
            self.tables, self.genes, self.orders, self.counts, np.full(12, np.inf)
        )
        self.rooms = self.orders.copy(), self.counts.copy()

    def go_on(self, most: int, better: float = 0.0) -> tuple[int, int]:
        people = self.orders, self.counts, self.costs
        return generation_kernel.generations(self.state, self.tables, self.genes, most, better, *people, *self.rooms)

    @property
    def plans(self) -> Sequence[object]:
        return self.orders.tolist(), self.counts.tolist(), self.costs.tolist(), self.state.tolist()


@pytest.mark.parametrize("problem", [PLAIN, IN_TURN, AFTER])
def test_many_generations_in_one_call_are_as_many_calls(problem: Problem) -> None:
    together, apart = People(problem), People(problem)
    done, best = together.go_on(40)
    assert done == 40
    assert together.costs[best] == together.costs.min()
    for _ in range(40):
        assert apart.go_on(1)[0] == 1
    assert together.plans == apart.plans
    judged = generation_kernel.judge_plans(
        together.tables, together.genes, together.orders, together.counts, np.full(12, np.inf)
    )
    assert judged.tolist() == together.costs.tolist()


def test_the_first_better_plan_ends_a_call() -> None:
    people = People(PLAIN)
    before = people.costs.min()
    done, best = people.go_on(1000, before)
    assert done < 1000
    assert people.costs[best] < before
    again = People(PLAIN)
    again.go_on(done - 1, before)
    assert again.costs.min() == before


def test_users_take_turns_and_predecessors_come_first_in_every_generation() -> None:
    in_turn, after = People(IN_TURN), People(AFTER)
    for people in (in_turn, after):
        people.go_on(30)
    assert (in_turn.orders % 2 == np.tile([0, 1], 6)).all()
    for order in after.orders.tolist():
        assert all(order.index(each) < order.index(each + 1) for each in range(11) if each % 3)
