"""Changes and outcomes of several events, joined into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.changes import CancelAttempt, Changes, KeyedSubmission, LogEntry, Outcome
from tests.coscheduler.makers import a_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task

TASKS = st.builds(lambda number, time: a_task(number, submitted=time), st.integers(1, 3), st.floats(0.0, 9.0))
CHANGES = st.builds(
    Changes,
    tasks=st.lists(TASKS, max_size=3).map(lambda tasks: {task.id: task for task in tasks}),
    log=st.lists(st.builds(LogEntry, st.floats(0.0, 9.0), st.just("submitted")), max_size=2).map(tuple),
    submissions=st.lists(
        st.builds(KeyedSubmission, st.text(max_size=2), st.just("d"), st.just(()), st.just(0.0)), max_size=2
    ).map(tuple),
)
OUTCOMES = st.builds(Outcome, CHANGES, st.lists(st.builds(CancelAttempt, st.text(max_size=2)), max_size=2).map(tuple))


@given(st.lists(OUTCOMES, max_size=5))
def test_joined_outcomes_have_the_latest_records_and_every_line_in_order(outcomes: list[Outcome]) -> None:
    joined = Outcome.joined(outcomes)
    latest: dict[str, Task] = {}
    for outcome in outcomes:
        latest |= dict(outcome.changes.tasks)
    assert list(joined.changes.tasks.items()) == list(latest.items())
    assert list(joined.changes.log) == [line for outcome in outcomes for line in outcome.changes.log]
    assert list(joined.changes.submissions) == [key for outcome in outcomes for key in outcome.changes.submissions]
    assert list(joined.decisions) == [decision for outcome in outcomes for decision in outcome.decisions]


@given(OUTCOMES, OUTCOMES, OUTCOMES)
def test_outcomes_joined_by_pairs_equal_those_joined_at_once(first: Outcome, second: Outcome, third: Outcome) -> None:
    assert first | second | third == Outcome.joined((first, second, third))
    assert Outcome() | first == first == first | Outcome()
