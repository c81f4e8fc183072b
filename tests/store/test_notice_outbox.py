from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.task import TaskState
from cosched.store import Store
from cosched.store.notice_outbox import NoticeOutbox
from cosched.store.rows import Notice, end_notices
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASK = make_task(7, name="n", submitted=1.0, notify=("mailto:a@b", "https://h"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


def test_only_an_end_is_told() -> None:
    assert end_notices([TASK, change_task(TASK, state=TaskState.RUNNING)]) == []
    told = end_notices([change_task(TASK, state=TaskState.FAILED, finished=5.0)])
    assert told == [Notice("7", "failed", target, 5.0, 5.0) for target in TASK.spec.notify]


def test_an_end_and_its_notices_are_written_together_and_once(store: Store) -> None:
    outbox = NoticeOutbox(store)
    for _ in range(2):
        store.commit(changed([change_task(TASK, state=TaskState.COMPLETED, finished=5.0)]))
    assert outbox.due(4.9, 9) == []
    assert [notice.target for notice in outbox.due(5.0, 9)] == ["mailto:a@b", "https://h"]


def test_a_notice_that_was_sent_stays_sent(store: Store) -> None:
    outbox = NoticeOutbox(store)
    notice = Notice("7", "late", "https://h", 1.0, 1.0)
    outbox.add([notice, notice])
    outbox.put(replace(notice, due=9.0, tries=1, fault="f"))
    assert outbox.due(9.0, 9) == [replace(notice, due=9.0, tries=1, fault="f")]
    outbox.put(replace(notice, due=None))
    outbox.add([notice])
    assert outbox.due(1e9, 9) == []
