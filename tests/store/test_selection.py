from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.store import Store, TaskColumn, TaskOrder, TaskSelection
from tests.changes import changed
from tests.exploring import examples
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NIGHT = make_task(7, name="Night run", application="fft", submitted=1e9, owner="ann", deadline=1e9 + 50, count=3)
PERCENT = make_task(
    8,
    name="100% of it",
    application="fft_wide",
    submitted=1e9 + 1,
    owner="ben",
    state=TaskState.COMPLETED,
    finished=1e9 + 9,
    deadline=1e9 + 19,
    hosts=("a", "b"),
)
UNDERSCORE = make_task(
    9,
    name="under_score",
    application="jacobi",
    submitted=1e9 + 2,
    owner="ann",
    state=TaskState.FAILED,
    finished=1e9 + 7,
    deadline=1e9 + 8,
    hosts=("a",),
)
RUNNING = make_task(10, name="a last", application="", submitted=1e9 + 3, owner="cleo", state=TaskState.RUNNING)
EXPECTED = (("7", 1e9 + 40), ("10", 1e9 + 5))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store(new_database(tmp_path_factory.mktemp("store")))
    opened.commit(changed([NIGHT, PERCENT, UNDERSCORE, RUNNING]))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (TaskSelection(), {"7", "8", "9", "10"}),
        (TaskSelection((TaskState.COMPLETED, TaskState.FAILED)), {"8", "9"}),
        (TaskSelection(owner="ann"), {"7", "9"}),
        (TaskSelection((TaskState.FAILED,), "ann"), {"9"}),
        (TaskSelection(application="fft"), {"7"}),
        (TaskSelection(ids=("8", "11")), {"8"}),
        (TaskSelection(since=1e9 + 3), {"10"}),
        (TaskSelection(owner="ann", since=1e9 + 3), set()),
        (TaskSelection(text="NIGHT"), {"7"}),
        (TaskSelection(text="fft"), {"7", "8"}),
        (TaskSelection(text="9"), {"9"}),
        (TaskSelection(text="cleo"), {"10"}),
        (TaskSelection(text="%"), {"8"}),
        (TaskSelection(text="_"), {"8", "9"}),
        (TaskSelection(text="\\"), set()),
        (TaskSelection(name="*_s*"), {"9"}),
        (TaskSelection(name="? last"), {"10"}),
        (TaskSelection(name="[a-z] last"), set()),
        (TaskSelection(text="' OR 1=1 --"), set()),
    ],
)
def test_everything_asked_for_must_hold_and_text_means_itself(
    store: Store, selection: TaskSelection, found: set[str]
) -> None:
    assert {task.id for task in store.tasks(selection)} == found
    assert sum(store.counts(selection).values()) == len(found)


def test_brackets_in_the_pattern_of_a_name_mean_themselves(tmp_path: Path) -> None:
    """Regression: `--name 'fit[3]'` chose the task fit3, and not fit[3]."""
    store = Store(new_database(tmp_path))
    store.commit(changed([make_task(number, name=name) for number, name in enumerate(("fit3", "fit[3]", "fit]3["), 1)]))
    patterns = ("fit[3]", "fit[*", "*[", "fit]3[", "fit?3*")
    found = {name: [task.id for task in store.tasks(TaskSelection(name=name))] for name in patterns}
    assert found == {"fit[3]": ["2"], "fit[*": ["2"], "*[": ["3"], "fit]3[": ["3"], "fit?3*": ["3", "2"]}
    store.close()


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("-number", "10 9 8 7"),
        ("name", "8 10 7 9"),  # letters of either case stand together
        ("state", "8 9 7 10"),
        ("application", "10 7 8 9"),
        ("-owner", "10 8 9 7"),
        ("hosts", "10 9 8 7"),  # those that it has, else those that it wants
        ("submitted", "7 8 9 10"),
        ("end", "10 9 8 7"),  # past or expected
        ("-end", "7 8 9 10"),
        ("deadline", "9 8 7 10"),
        ("-deadline", "7 8 9 10"),  # without one last, in either direction
        ("slack", "8 7 10 9"),  # a failed task has none
    ],
)
def test_a_list_is_sorted_by_any_column(store: Store, sort: str, found: str) -> None:
    order = TaskOrder.read(sort)
    order = TaskOrder(order.column, order.descending, EXPECTED if order.column.predicted else ())
    assert [row["id"] for row in store.listed(order=order)] == found.split()


@settings(max_examples=examples(10))
@given(column=st.sampled_from(TaskColumn), descending=st.booleans(), limit=st.integers(1, 3))
def test_pages_of_a_sorted_list_have_each_task_once(
    store: Store, column: TaskColumn, descending: bool, limit: int
) -> None:
    order = TaskOrder(column, descending, EXPECTED)
    whole = [row["id"] for row in store.listed(order=order)]
    pages = [row["id"] for offset in range(0, 4, limit) for row in store.listed(None, limit, offset, order)]
    assert pages == whole
    assert sorted(pages) == ["10", "7", "8", "9"]


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match="sorted by 'age': give one of number, name, state"):
        TaskOrder.read("-age")
