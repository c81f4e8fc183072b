from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.task import TaskState
from cosched.store import Store, TaskSelection
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    opened.commit(
        changed(
            [
                make_task(7, name="Night run", application="fft", submitted=1e9, owner="ann"),
                make_task(
                    8,
                    name="100% of it",
                    application="fft_wide",
                    submitted=1e9,
                    owner="ben",
                    state=TaskState.COMPLETED,
                    finished=1e9,
                ),
                make_task(
                    9,
                    name="under_score",
                    application="jacobi",
                    submitted=1e9,
                    owner="ann",
                    state=TaskState.FAILED,
                    finished=1e9,
                ),
            ]
        )
    )
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (TaskSelection(), {"7", "8", "9"}),
        (TaskSelection((TaskState.COMPLETED, TaskState.FAILED)), {"8", "9"}),
        (TaskSelection(owner="ann"), {"7", "9"}),
        (TaskSelection((TaskState.FAILED,), "ann"), {"9"}),
        (TaskSelection(text="NIGHT"), {"7"}),
        (TaskSelection(text="fft"), {"7", "8"}),
        (TaskSelection(text="9"), {"9"}),
        (TaskSelection(text="%"), {"8"}),
        (TaskSelection(text="_"), {"8", "9"}),
        (TaskSelection(text="\\"), set()),
        (TaskSelection(text="' OR 1=1 --"), set()),
    ],
)
def test_everything_asked_for_must_hold_and_text_means_itself(
    store: Store, selection: TaskSelection, found: set[str]
) -> None:
    assert {task.id for task in store.tasks(selection)} == found
    assert sum(store.counts(selection).values()) == len(found)
