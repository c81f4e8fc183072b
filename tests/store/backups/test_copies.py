"""Backups are whole, private, made while others write, and never take another file's place unasked."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cosched.errors import SystemFault, UserError
from cosched.store.backups.copies import back_up, restore
from cosched.store.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST, SECOND = (make_task(number, name=f"task {number}", application="", command=("x" * 3000,)) for number in (1, 2))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(new_database(tmp_path))
    store.commit(changed([FIRST]))
    yield store
    store.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "cosched.db"


def tasks_in(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {str(row[0]) for row in connection.execute("SELECT id FROM tasks")}


def damage(file: Path) -> None:
    """Overwrite every page but the first."""
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(os.urandom(file.stat().st_size - 4096))


def test_a_backup_of_a_database_in_use_is_one_private_file(store: Store, database: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        report = back_up(database, tmp_path / "kept.db")
    finally:
        os.umask(before)
    assert (report.rows["tasks"], report.damage) == (1, ())
    assert stat.S_IMODE((tmp_path / "kept.db").stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir() if "kept" in path.name} == {"kept.db"}
    store.commit(changed([SECOND]))  # the database goes on
    assert tasks_in(tmp_path / "kept.db") == {"1"}


def test_a_backup_is_of_one_moment_while_others_write(store: Store, database: Path, tmp_path: Path) -> None:
    ended = threading.Event()

    def write() -> None:
        number = 2
        while not ended.is_set():
            store.commit(changed([make_task(each, name="", application="") for each in (number, number + 1)]))
            number += 2

    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = [back_up(database, tmp_path / f"{turn}.db").rows["tasks"] for turn in range(5)]
    finally:
        ended.set()
        writer.join()
    assert counts == sorted(counts)
    assert all(count % 2 for count in counts), "a transaction is in a backup by half"


def test_a_file_is_replaced_by_force_alone(store: Store, database: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.db").write_text("precious")
    with pytest.raises(UserError, match=r"is there already: name another file, or replace it with --force"):
        back_up(database, tmp_path / "kept.db")
    assert (tmp_path / "kept.db").read_text() == "precious"
    back_up(database, tmp_path / "kept.db", overwrite=True)
    assert tasks_in(tmp_path / "kept.db") == {"1"}
    for overwrite in (False, True):  # no force makes a file of a folder
        with pytest.raises(UserError, match="is a folder: name a file in it"):
            back_up(database, tmp_path, overwrite=overwrite)
    (tmp_path / "alias.db").symlink_to(database)
    for name in ("cosched.db", "alias.db"):
        with pytest.raises(UserError, match="is the database itself"):
            back_up(database, tmp_path / name, overwrite=True)


def test_a_damaged_database_leaves_no_backup(store: Store, database: Path, tmp_path: Path) -> None:
    store.close()
    damage(database)
    with pytest.raises(SystemFault, match=r"is damaged|cannot be copied"):
        back_up(database, tmp_path / "kept.db")
    assert not list(tmp_path.glob("*kept*"))


def test_a_folder_that_cannot_be_written_is_named(store: Store, database: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemFault, match=r"nowhere/kept\.db cannot be written \(No such file"):
        back_up(database, tmp_path / "nowhere" / "kept.db")


def test_a_restored_database_takes_the_place_of_one_that_is_kept_whole(
    store: Store, database: Path, tmp_path: Path
) -> None:
    back_up(database, tmp_path / "kept.db")
    store.commit(changed([SECOND]))
    with closing(sqlite3.connect(database)) as reader:  # as after SIGKILL, what was written last is in the WAL
        reader.execute("SELECT count(*) FROM tasks").fetchall()
        store.close()
        assert database.with_name("cosched.db-wal").exists()
        replaced = restore(tmp_path / "kept.db", database)
    assert replaced is not None
    assert replaced.name.startswith("cosched.db.replaced-")
    assert tasks_in(replaced) == {"1", "2"}
    assert tasks_in(database) == {"1"}
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert not database.with_name("cosched.db-shm").exists()


def test_a_database_is_restored_where_there_is_none(store: Store, database: Path, tmp_path: Path) -> None:
    back_up(database, tmp_path / "kept.db")
    store.close()
    for left in tmp_path.glob("cosched.db*"):
        left.unlink()
    assert restore(tmp_path / "kept.db", database) is None
    assert tasks_in(database) == {"1"}


def test_what_is_no_sound_backup_changes_nothing(store: Store, database: Path, tmp_path: Path) -> None:
    store.close()
    back_up(database, tmp_path / "damaged.db")
    damage(tmp_path / "damaged.db")
    back_up(database, tmp_path / "newer.db")
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    (tmp_path / "text.db").write_text("precious words " * 1000)
    sqlite3.connect(tmp_path / "empty.db").close()
    for name, reason in (
        ("damaged", "is damaged|cannot be copied"),
        ("newer", "written by a newer cosched"),
        ("text", "cannot be copied .*not a database"),
        ("empty", "no database of cosched"),
        ("missing", "there is no database"),
        ("cosched", "is the database itself"),
    ):
        with pytest.raises(UserError, match=reason):
            restore(tmp_path / f"{name}.db", database)
    assert tasks_in(database) == {"1"}
    assert not list(tmp_path.glob("*replaced*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_restores_is_its_owners(store: Store, database: Path, tmp_path: Path) -> None:
    back_up(database, tmp_path / "kept.db")
    store.close()
    os.chown(database, 12345, 12345)
    restore(tmp_path / "kept.db", database)
    assert (database.stat().st_uid, database.stat().st_gid) == (12345, 12345)
