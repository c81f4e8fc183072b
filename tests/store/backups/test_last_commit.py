"""A database that lacks changes is noticed before anything of it is touched."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cosched.daemon.recovery import saved_state
from cosched.errors import SystemFault
from cosched.store.backups.copies import accept_loss, back_up, restore
from cosched.store.backups.last_commit import LastCommit, LostChangesFault, accept_state, lost_changes
from cosched.store.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.store.older import make_older
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Leave a database as SIGKILL does: of its three tasks, the last two are in the WAL alone."""
    new_database(tmp_path / "first")
    url = f"sqlite:///{tmp_path}/first/cosched.db"
    store = Store(url)
    store.commit(changed([make_task(1, name="", application="")]))
    store.close()
    store = Store(url)
    for number in (2, 3):
        store.commit(changed([make_task(number, name="", application="")]))
    shutil.copytree(tmp_path / "first", tmp_path / "killed")
    store.close()
    return tmp_path / "killed" / "cosched.db"


def opened(database: Path) -> set[str]:
    """Open a database, as a daemon does, and return its tasks."""
    store = Store(f"sqlite:///{database}")
    tasks = {task.id for task in store.tasks()}
    store.close()
    return tasks


def scramble_the_header(wal: Path) -> None:
    with wal.open("r+b") as file:
        file.write(b"\xff" * 32)


def scramble_a_frame(wal: Path) -> None:
    with wal.open("r+b") as file:
        file.seek(32 + 24 + 4096 + 24)
        file.write(b"\xff" * 512)


def remove(wal: Path) -> None:
    wal.unlink()


def empty(wal: Path) -> None:
    wal.write_bytes(b"")


def test_a_database_that_lacks_nothing_is_opened(database: Path) -> None:
    assert opened(database) == {"1", "2", "3"}
    assert opened(database) == {"1", "2", "3"}


@pytest.mark.parametrize("harm", [scramble_the_header, scramble_a_frame, remove, empty])
def test_a_wal_that_is_lost_is_noticed_and_nothing_touched(database: Path, harm: Callable[[Path], None]) -> None:
    wal = database.with_name("cosched.db-wal")
    harm(wal)
    database.with_name("cosched.db-shm").unlink()
    before = database.read_bytes(), wal.read_bytes() if wal.exists() else b""
    for _ in range(2):
        with pytest.raises(LostChangesFault, match=r"lacks its last 2 changes .*database restore .*accept-loss"):
            opened(database)
    assert (database.read_bytes(), wal.read_bytes()) == before


def test_an_older_copy_is_noticed(database: Path) -> None:
    with closing(sqlite3.connect(database)) as now, closing(sqlite3.connect(database.with_name("old.db"))) as old:
        now.backup(old)
    store = Store(f"sqlite:///{database}")
    store.commit(changed([make_task(4, name="", application="")]))
    store.close()
    database.with_name("old.db").replace(database)
    with pytest.raises(LostChangesFault, match=r"lacks its last 1 change \("):
        opened(database)


@pytest.mark.parametrize("content", [None, b""])
def test_a_database_that_is_gone_is_not_begun_anew(database: Path, content: bytes | None) -> None:
    for path in database.parent.glob("cosched.db*"):
        if not path.name.endswith("last-commit"):
            path.unlink()
    if content is not None:
        database.write_bytes(content)
    with pytest.raises(LostChangesFault, match="is not the one that was used here last, or has lost all"):
        opened(database)
    assert database.exists() == (content is not None)
    accept_loss(database)
    assert opened(database) == set()


def test_another_database_is_noticed(database: Path, tmp_path: Path) -> None:
    new_database(tmp_path / "other")
    remove(database.with_name("cosched.db-wal"))
    (tmp_path / "other" / "cosched.db").replace(database)
    with pytest.raises(LostChangesFault, match="is not the one that was used here last"):
        opened(database)


def test_a_loss_is_accepted_once_and_its_files_are_kept(database: Path) -> None:
    wal = database.with_name("cosched.db-wal")
    scramble_the_header(wal)
    scrambled = wal.read_bytes()
    kept = accept_loss(database)
    assert kept is not None
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == scrambled
    assert opened(database) == {"1"}
    store = Store(f"sqlite:///{database}")
    store.commit(changed([make_task(2, name="", application="")]))
    store.close()
    assert opened(database) == {"1", "2"}


def test_a_restored_backup_lacks_nothing(database: Path) -> None:
    file = database.with_name("backup.db")
    back_up(database, file)
    store = Store(f"sqlite:///{database}")
    store.commit(changed([make_task(4, name="", application="")]))
    store.close()
    restore(file, database)
    assert opened(database) == {"1", "2", "3"}


def test_a_restored_database_knows_which_tasks_it_may_have_forgotten_changes_of(database: Path) -> None:
    file = database.with_name("backup.db")
    back_up(database, file)
    restore(file, database)
    store = Store(f"sqlite:///{database}")
    store.commit(changed([make_task(4)]))
    assert saved_state(store, 0.0).forgotten == 3
    store.close()


def test_a_backup_of_earlier_tables_is_restored(database: Path) -> None:
    file = database.with_name("backup.db")
    back_up(database, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        make_older(connection, "0011")
    restore(file, database)
    assert opened(database) == {"1", "2", "3"}


def test_what_lacks_changes_is_not_backed_up(database: Path) -> None:
    remove(database.with_name("cosched.db-wal"))
    database.with_name("cosched.db-shm").unlink()
    with pytest.raises(SystemFault, match="lacks its last 2 changes"):
        back_up(database, database.with_name("backup.db"))


def test_a_file_that_lags_behind_or_is_damaged_stops_nobody(database: Path) -> None:
    file = database.with_name("cosched.db.last-commit")
    written = file.read_bytes()
    for content in (b"", b"nonsense\n", written[:20]):
        file.write_bytes(content)
        assert opened(database) == {"1", "2", "3"}
        assert file.read_bytes() == written
    file.unlink()
    accept_state(database)
    assert file.read_bytes() == written
    assert not lost_changes(database)


def test_a_commit_that_is_noted_late_does_not_hide_a_later_one(database: Path) -> None:
    noted = LastCommit(database, "0" * 36, 1)
    for number in (3, 2):
        noted.note(number)
    noted.close()
    assert database.with_name("cosched.db.last-commit").read_bytes().endswith(b" 00000000000000000003\n")
