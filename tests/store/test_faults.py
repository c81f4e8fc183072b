"""Real faults of a real SQLite, each with its advice."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from cosched.store import Store, StoreFault
from cosched.store.database import RefusedError
from tests.changes import changed
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TASK = make_task(1, name="name", application="sleep", command=("sleep",))


@pytest.fixture
def pragma() -> Iterator[Callable[[str], None]]:
    """Have every connection set a pragma before it is used."""
    set_: list[Callable[..., None]] = []

    def add(text: str) -> None:
        def run(connection: sqlite3.Connection, _record: object, _proxy: object) -> None:
            connection.execute(f"PRAGMA {text}").close()

        event.listen(Pool, "checkout", run)
        set_.append(run)

    yield add
    for run in set_:
        event.remove(Pool, "checkout", run)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/cosched.db"


def test_a_lock_held_by_another_program(url: str, tmp_path: Path, pragma: Callable[[str], None]) -> None:
    store = Store(url)
    pragma("busy_timeout=1")
    other = sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFault, match="locked by another program"):
        store.commit(changed([TASK]))
    other.execute("ROLLBACK")
    other.close()
    store.commit(changed([TASK]))
    assert store.task("1") == TASK
    store.close()


def test_a_full_disk(url: str, pragma: Callable[[str], None]) -> None:
    store = Store(url)
    pragma("max_page_count=1")
    with pytest.raises(StoreFault, match="disk is full: free some space"):
        store.commit(
            changed([make_task(number, name="x" * 5000, application="", command=()) for number in range(1, 20)])
        )
    assert store.tasks() == ()
    store.close()


def test_a_database_that_may_not_be_written(url: str, pragma: Callable[[str], None]) -> None:
    store = Store(url)
    pragma("query_only=1")
    with pytest.raises(StoreFault, match="is read-only"):
        store.commit(changed([TASK]))
    store.close()


def test_what_a_database_will_never_take_is_not_to_be_tried_again(url: str) -> None:
    store = Store(url)
    store.commit(changed([TASK]))
    with pytest.raises(
        RefusedError, match=r"refuses a change \(UNIQUE .*tasks.number\): see to it that no other"
    ) as caught:
        store.commit(changed([replace(TASK, id="another")]))
    assert not isinstance(caught.value, StoreFault)
    assert store.tasks() == (TASK,)
    store.close()
