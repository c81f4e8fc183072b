from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.kernels.search.load_balancing import balanced_load
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_plan, a_problem, plans, problems, unconstrained


@settings(deadline=None)
@given(st.data())
def test_no_plan_ends_later_or_takes_other_counts(data: st.DataObject) -> None:
    problem = unconstrained(data.draw(problems(classes=1)))
    plan = data.draw(plans(problem))
    better = balanced_load(problem, plan, best_seconds(problem))
    schedule = decode(problem, better)
    assert check_schedule(problem, schedule) == []
    assert better.counts.tolist() == plan.counts.tolist()
    assert schedule.makespan <= decode(problem, plan).makespan * (1 + 1e-9)


def test_unequal_tasks_change_places_where_longest_first_fails() -> None:
    problem = a_problem([[3.0], [3.0], [2.0], [2.0], [2.0]])
    longest_first = a_plan(range(5), [1] * 5)
    assert decode(problem, longest_first).makespan == 7.0
    assert decode(problem, balanced_load(problem, longest_first, best_seconds(problem))).makespan == 6.0


def test_a_task_moves_to_a_host_that_has_none() -> None:
    problem = a_problem([[9.0, 1.0], [4.0], [1.0], [4.0]], free=[0.0, 3.0])
    plan = a_plan([1, 3, 2, 0], [2, 1, 1, 1])
    assert decode(problem, plan).makespan == 8.0
    assert decode(problem, balanced_load(problem, plan, best_seconds(problem))).makespan == 8.0
    alone = a_problem([[2.0], [4.0], [2.0]], hosts=3, free=[0.0, 0.0, 9.0])
    assert decode(alone, balanced_load(alone, a_plan([0, 1, 2], [1, 1, 1]), best_seconds(alone))).makespan == 4.0


def test_who_runs_beside_a_wide_task_that_comes_later_stays() -> None:
    problem = a_problem([[5.0], [9.0, 4.0], [3.0]])
    plan = a_plan([0, 1, 2], [1, 2, 1])
    starts = {
        item.task: item.start
        for item in decode(problem, balanced_load(problem, plan, best_seconds(problem))).assignments
    }
    assert starts == {"a": 0.0, "b": 5.0, "c": 9.0}
