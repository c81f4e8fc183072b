from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.packed_tasks import packed_plans
from tests.scheduling.packed import a_packed_problem, packed_problems


@settings(deadline=None)
@given(st.data())
def test_every_heuristic_plan_can_be_decoded(data: st.DataObject) -> None:
    problem = data.draw(packed_problems(unavailability=data.draw(st.booleans())))
    assert problem.packing is not None
    for plan in packed_plans(problem, problem.packing):
        assert sorted(plan.order.tolist()) == list(range(len(problem.tasks)))
        assert max(spans(problem, plan)[1]) > 0


def test_the_shapes_of_the_first_plan_promise_the_shortest_makespan() -> None:
    problem = a_packed_problem([[(1, (1,), (8.0,)), (1, (8,), (4.0,))]] * 8, [(8,)])
    assert problem.packing is not None
    first = next(packed_plans(problem, problem.packing))
    assert max(spans(problem, first)[1]) == 8.0
