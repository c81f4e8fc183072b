from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.tunable.planning import check_tunable, plan_tunable
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableQueue, TunableTask

HOSTS = ("a", "b", "c", "d")
seconds = st.one_of(st.integers(1, 5).map(float), st.floats(0.1, 5.0))
stages = st.builds(Stage, st.integers(1, 4), seconds, st.sampled_from([6.0, 12.0, float("inf")]))
ways = st.lists(st.lists(stages, min_size=1, max_size=3).map(tuple).map(Chain), min_size=1, max_size=3).map(tuple)
queues = st.lists(st.tuples(st.floats(0.0, 20.0), ways), max_size=10).map(
    lambda rows: TunableQueue(
        HOSTS, tuple(TunableTask(str(n), release, chains) for n, (release, chains) in enumerate(rows))
    )
)


@given(queues)
def test_whatever_is_planned_is_feasible(queue: TunableQueue) -> None:
    plan = plan_tunable(queue)
    assert check_tunable(queue, plan) == []
    assert len(plan.placements) + len(plan.refused) == len(queue.tasks)


def test_tasks_are_looked_at_in_order_of_arrival() -> None:
    rigid = (Chain((Stage(4, 5.0, 5.0),)),)
    queue = TunableQueue(HOSTS, (TunableTask("late", 1.0, rigid), TunableTask("early", 0.0, rigid)))
    assert plan_tunable(queue).refused == ("late",)
