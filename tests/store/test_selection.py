from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.task import Task, TaskState
from cosched.store import Store, TaskSelection
from tests.changes import changed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/cosched.db")
    opened.commit(
        changed(
            [
                Task("7", 7, "Night run", "fft", ("/x",), 1e9, "ann"),
                Task("8", 8, "100% of it", "fft_wide", ("/x",), 1e9, "ben", state=TaskState.COMPLETED, finished=1e9),
                Task("9", 9, "under_score", "jacobi", ("/x",), 1e9, "ann", state=TaskState.FAILED, finished=1e9),
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
