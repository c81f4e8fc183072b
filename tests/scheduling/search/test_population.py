from __future__ import annotations

import numpy as np

from cosched.scheduling.search.initial_population import Population
from tests.scheduling.problems import a_plan


def test_plans_go_in_and_come_out_and_are_not_judged_yet() -> None:
    plans = [a_plan([1, 0], [1, 2]), a_plan([0, 1], [3, 1])]
    people = Population.of(plans)
    assert np.isinf(people.costs).all()
    for index, plan in enumerate(plans):
        assert people.plan(index).order.tolist() == plan.order.tolist()
        assert people.plan(index).counts.tolist() == plan.counts.tolist()


def test_copies_and_plans_share_nothing_with_the_population() -> None:
    people = Population.of([a_plan([1, 0], [1, 2])])
    copy, plan = people.copy(), people.plan(0)
    people.orders[:], people.counts[:], people.costs[:] = 0, 9, 1.0
    for order, counts in ((copy.orders[0], copy.counts[0]), (plan.order, plan.counts)):
        assert order.tolist() == [1, 0]
        assert counts.tolist() == [1, 2]
    assert np.isinf(copy.costs).all()
