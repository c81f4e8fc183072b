from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import dependency_order, spans
from cosched.scheduling.heuristics.list_scheduling import list_order, starting_order
from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.scheduling.heuristics.list_scheduling import Completion


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


class LastInFirstOut:
    """Lets whoever has joined last go, if there are hosts enough; keeps in mind when each has joined and gone."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = counts
        self.joined: list[int] = []
        self.gone: dict[int, float] = {}

    def join(self, task: int) -> None:
        self.joined.append(task)

    def leave(self, now: float, idle: int, working: Sequence[Completion]) -> Iterator[int]:
        assert all(until > now for until, _, _ in working)
        while self.joined and self.counts[self.joined[-1]] <= idle:
            task = self.joined.pop()
            idle -= self.counts[task]
            self.gone[task] = now
            yield task


def test_tasks_join_when_they_are_released_and_their_predecessors_have_ended() -> None:
    problem = a_problem([[4.0]] * 4, hosts=2, release=[3.0, 0.0, 0.0, 9.0], depends_on=((), (2,), (), ()))
    queue = LastInFirstOut([1, 2, 1, 1])
    assert starting_order(problem, [1, 2, 1, 1], [4.0] * 4, queue) == [2, 0, 1, 3]
    assert queue.gone == {2: 0.0, 0: 3.0, 1: 7.0, 3: 11.0}


def test_hosts_that_are_busy_come_back_one_by_one() -> None:
    queue = LastInFirstOut([1, 2])
    assert starting_order(a_problem([[5.0], [5.0]], free=[1.0, 3.0]), [1, 2], [5.0, 5.0], queue) == [1, 0]
    assert queue.gone == {1: 3.0, 0: 8.0}


@given(st.data())
def test_all_start_once_and_never_on_more_hosts_than_there_are(data: st.DataObject) -> None:
    problem = data.draw(problems(classes=1))
    counts = data.draw(plans(problem)).counts.tolist()
    seconds = [float(problem.seconds[problem.host_class[0], task, count - 1]) for task, count in enumerate(counts)]
    queue = LastInFirstOut(counts)
    order = starting_order(problem, counts, seconds, queue)
    assert sorted(order) == list(range(len(counts)))
    ends = {task: begin + seconds[task] for task, begin in queue.gone.items()}
    for task, begin in queue.gone.items():
        busy = sum(counts[other] for other in order if queue.gone[other] <= begin < ends[other])
        assert busy <= sum(free <= begin for free in problem.free)
        assert begin >= problem.ready(task, ends)
