from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

from cosched.coscheduler.task import Task, TaskState
from cosched.daemon import housekeeping
from cosched.daemon.housekeeping import Housekeeping
from cosched.errors import SystemFault
from cosched.store import KeyedSubmission, Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.store.older import make_older
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest
    from sqlalchemy import Executable, RowMapping

NOW = 1e9


def ended(number: int, days: float) -> Task:
    return make_task(number, name="n", submitted=1.0, state=TaskState.FAILED, finished=NOW - days * 86400)


def test_old_tasks_are_deleted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "_AT_ONCE", 2)
    monkeypatch.setattr(housekeeping, "_BREATH", 0.0)
    store = Store(new_database(tmp_path))
    store.commit(changed([ended(number, 8) for number in range(1, 6)] + [ended(6, 6)]))
    assert Housekeeping(store, 7, lambda: NOW).sweep() == 5
    assert [task.id for task in store.tasks()] == ["6"]
    store.close()


def test_submission_keys_are_read_once_for_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading all of them for each part took the square of the time: 100,000 tasks are 200 parts."""
    monkeypatch.setattr(housekeeping, "_AT_ONCE", 2)
    monkeypatch.setattr(housekeeping, "_BREATH", 0.0)
    store = Store(new_database(tmp_path))
    keys = [KeyedSubmission(f"key-{number}", "d", (str(number), str(number + 1)), 1.0) for number in range(1, 9, 2)]
    store.commit(changed([ended(number, 8) for number in range(1, 9)], submissions=keys))
    asked, read = list[str](), store.read

    def noted(query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[RowMapping]:
        asked.append(str(query))
        return read(query, values)

    monkeypatch.setattr(store, "read", noted)
    assert Housekeeping(store, 7, lambda: NOW).sweep() == 7
    assert sum("FROM submission_keys" in query for query in asked) == 1
    assert [store.by_key(key.key) is None for key in keys] == [True, True, True, False]  # the newest task stays
    store.close()


def test_a_new_database_keeps_what_has_ended_for_90_days_and_an_old_one_for_ever(tmp_path: Path) -> None:
    """Nobody's tasks are deleted by an upgrade."""
    url = new_database(tmp_path)
    store = Store(url)
    store.commit(changed([ended(1, 91), ended(2, 89), ended(3, 0)]))
    assert Housekeeping(store, 0, lambda: NOW).sweep() == 0
    assert Housekeeping(store, None, lambda: NOW).sweep() == 1
    store.close()
    with closing(sqlite3.connect(tmp_path / "cosched.db")) as connection, connection:
        make_older(connection, "0013")
    store = Store(url)
    assert Housekeeping(store, None, lambda: NOW + 1000 * 86400).sweep() == 0
    assert Housekeeping(store, 30, lambda: NOW + 1000 * 86400).sweep() == 1
    assert [task.id for task in store.tasks()] == ["3"]
    store.close()


def test_sweeps_run_also_where_tasks_are_kept(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    store.commit(changed([ended(1, 8), ended(2, 1)]))
    done = threading.Event()

    def fails() -> None:
        raise SystemFault("not now")

    keeper = Housekeeping(store, 0, lambda: NOW, [fails, done.set])
    keeper.start()
    assert done.wait(60)
    keeper.stop()
    assert len(store.tasks()) == 2
    store.close()


def test_housekeeping_starts_unless_everything_is_kept(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    store.commit(changed([ended(1, 8), ended(2, 1)]))
    forever = Housekeeping(store, 0, lambda: NOW)
    forever.start()
    assert not forever.is_alive()
    forever.stop()
    week = Housekeeping(store, 7, lambda: NOW)
    week.start()
    while len(store.tasks()) > 1:
        pass
    week.stop()
    assert not week.is_alive()
    store.close()
