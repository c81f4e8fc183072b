from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from cosched.app.core_access import CoreClient
from cosched.app.figures.deadline_outlook import DeadlineCounts, OutlookCounts
from cosched.app.neighbours.neighbour_access import NoNeighbours
from tests.coscheduler.makers import a_core, a_task, submit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from cosched.coscheduler.core import Coscheduler

    _T = TypeVar("_T")


class AnsweringCore:
    """A core that answers at once, at a time that the test sets, each answer with a cost of processor time."""

    def __init__(self, core: Coscheduler, cost: float) -> None:
        self.core, self.cost = core, cost
        self.time, self.spent, self.asked = 0.0, 0.0, list[float]()
        self.store_fault = ""
        self.costed = False

    def now(self) -> float:
        return self.time

    def processor_time(self) -> float:
        return self.spent

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> Future[_T]:
        self.asked.append(self.time)
        self.costed = False

        class Costing:
            """The core as the question sees it: a look at what runs and waits costs."""

            def __getattr__(other, name: str) -> object:  # noqa: N805  the outer self is meant
                if name == "attempts" and not self.costed:
                    self.spent, self.costed = self.spent + self.cost, True
                return getattr(self.core, name)

        answer: Future[_T] = Future()
        answer.set_result(question(Costing(), self.time))  # type: ignore[arg-type]  # as much as the question needs of it
        return answer


LATE = DeadlineCounts(late=1)


@pytest.mark.parametrize(
    ("cost", "asked"),
    [(0.001, [0.0, 3.0, 6.0, 9.0, 12.0]), (0.05, [0.0, 5.0, 10.0]), (0.5, [0.0])],
)
def test_counts_that_take_long_are_asked_for_seldom(cost: float, asked: list[float]) -> None:
    core = a_core(1)
    for number in (1, 2):
        submit(core, a_task(number, [50.0], deadline=80.0 if number == 2 else None, owner="ann"))
    access = AnsweringCore(core, cost)
    counts = OutlookCounts(CoreClient(access), NoNeighbours(), access.processor_time)  # type: ignore[arg-type]  # as much as it needs
    for second in range(13):
        access.time = float(second)
        assert [counts.counted(owner) for owner in ("ann", "bob", None)] == [LATE, DeadlineCounts(), LATE]
    assert access.asked == asked


def test_after_a_costly_count_the_next_is_as_young_as_it_may_be() -> None:
    access = AnsweringCore(a_core(1), 0.5)
    counts = OutlookCounts(CoreClient(access), NoNeighbours(), access.processor_time)  # type: ignore[arg-type]  # as much as it needs
    assert counts.counted("ann") == DeadlineCounts()
    for number in (1, 2):
        submit(access.core, a_task(number, [50.0], deadline=80.0 if number == 2 else None, owner="ann"))
    access.time = 49.0
    assert counts.counted("ann") == DeadlineCounts()
    access.time = 50.0
    assert counts.counted("ann") == LATE


def test_each_owner_has_counts_of_all_that_is_expected() -> None:
    core = a_core(1)
    for number, (owner, deadline) in enumerate((("ann", 60.0), ("bob", 80.0), ("ann", 500.0), ("bob", None)), 1):
        submit(core, a_task(number, [50.0], deadline=deadline, owner=owner))
    access = AnsweringCore(core, 0.0)
    counts = OutlookCounts(CoreClient(access), NoNeighbours(), access.processor_time)  # type: ignore[arg-type]  # as much as it needs
    assert counts.counted("ann") == DeadlineCounts(on_time=2)
    assert counts.counted("bob") == LATE
    assert counts.counted(None) == DeadlineCounts(on_time=2, late=1)


def test_a_mistake_with_the_counts_is_not_made_on_every_page_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer was kept: no page came any more, nor the status, until the next start."""
    core = a_core(1)
    submit(core, a_task(1, [50.0], deadline=40.0, owner="ann"))
    access = AnsweringCore(core, 0.0)
    failed: Future[Any] = Future()
    failed.set_exception(ZeroDivisionError("made by a test"))
    answered = access.ask
    monkeypatch.setattr(access, "ask", lambda question: answered(question) if access.time else failed)
    counts = OutlookCounts(CoreClient(access), NoNeighbours(), access.processor_time)  # type: ignore[arg-type]  # as much as it needs
    assert counts.counted("ann") is None
    access.time = 10.0
    assert counts.counted("ann") == LATE
