from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.task import TaskState
from cosched.store.backups.inspection import inspect_database
from cosched.store.database import StoreFault
from cosched.store.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.store.older import make_older
from tests.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path


def filled(folder: Path) -> Path:
    store = Store(new_database(folder))
    ended = make_task(1, name="", application="", state=TaskState.COMPLETED, finished=100.0)
    store.commit(changed([ended, make_task(2, name="", application="")]))
    store.close()
    return folder / "cosched.db"


def test_a_whole_database_is_counted(tmp_path: Path) -> None:
    report = inspect_database(filled(tmp_path), keep_days=7)
    assert report.faults() == []
    assert (report.version, report.journal, report.wal) == (report.newest, "wal", 0)
    assert report.tasks == {"completed": 1, "queued": 1}
    assert (report.rows["tasks"], report.rows["attempts"], report.due) == (2, 0, 1)
    assert inspect_database(tmp_path / "cosched.db", keep_days=0).due == 0


def test_a_database_says_itself_how_long_it_keeps_what_has_ended(tmp_path: Path) -> None:
    file = filled(tmp_path)
    report = inspect_database(file)
    assert (report.keep_days, report.due) == (90, 1)
    with closing(sqlite3.connect(file)) as connection, connection:
        make_older(connection, "0013")
    report = inspect_database(file)
    assert (report.keep_days, report.due) == (0, 0)


def test_rows_that_refer_to_nothing_are_a_fault(tmp_path: Path) -> None:
    file = filled(tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        values = "'u', 'none', '[]', 1, NULL, 0, 'lost', '', 0, 0, 0, '', 0, 0, 0, 1, 0, 0, NULL, NULL, ''"
        connection.execute(f"INSERT INTO attempts SELECT {values}")
    (fault,) = inspect_database(file).faults()
    assert "1 rows that refer to missing ones" in fault


def test_a_damaged_page_is_a_fault(tmp_path: Path) -> None:
    file = filled(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks'").fetchone()[0]
    with file.open("r+b") as opened:
        opened.seek((page - 1) * 4096)
        opened.write(b"\xff" * 4096)
    (fault,) = inspect_database(file).faults()
    assert "is damaged" in fault
    assert "cosched database restore" in fault


def test_what_is_no_database_of_cosched_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE words (word)")
    (tmp_path / "text").write_text("precious words " * 100)
    for name, reason in (("other.db", "no database of cosched"), ("text", "not an SQLite"), ("none", "there is no")):
        with pytest.raises(StoreFault, match=reason):
            inspect_database(tmp_path / name)
