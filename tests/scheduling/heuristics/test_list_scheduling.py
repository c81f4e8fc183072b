from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import dependency_order, spans
from cosched.scheduling.heuristics.list_scheduling import list_order
from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_plan, a_problem, plans, problems


def test_a_narrow_task_starts_while_a_wide_one_waits() -> None:
    problem = a_problem([[4.0], [9.0, 2.0], [3.0]])
    assert list_order(problem, [0, 1, 2], [1, 2, 1], [4.0, 2.0, 3.0]) == [0, 2, 1]


def test_releases_and_predecessors_are_waited_for() -> None:
    problem = a_problem([[1.0]] * 3, hosts=1, release=[0.0, 0.0, 9.0], depends_on=((), (2,), ()))
    assert list_order(problem, [1, 2, 0], [1, 1, 1], [1.0, 1.0, 1.0]) == [0, 2, 1]


@given(st.data())
def test_every_task_is_listed_once_behind_its_predecessors(data: st.DataObject) -> None:
    problem = data.draw(problems(classes=1))
    plan = data.draw(plans(problem))
    counts = plan.counts.tolist()
    only = problem.host_class[0]
    seconds = [float(problem.seconds[only, task, count - 1]) for task, count in enumerate(counts)]
    order = list_order(problem, plan.order.tolist(), counts, seconds)
    assert sorted(order) == list(range(len(problem.tasks)))
    assert dependency_order(problem, order) == order
    starts = spans(problem, Plan(a_plan(order, counts).order, plan.counts))[0]
    assert [starts[task] for task in order] == sorted(starts)
