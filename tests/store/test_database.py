from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, inspect
from sqlalchemy.pool import Pool

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.errors import UserError
from cosched.store.database import RefusedError, StoreFault, open_engine, read_only
from cosched.store.store import Store
from cosched.store.tables import metadata
from tests.changes import changed
from tests.store.new_database import new_database
from tests.store.older import make_older
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def test_the_migrations_make_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/cosched.db")
    made = inspect(engine)
    for table in metadata.sorted_tables:
        columns = {column["name"]: (str(column["type"]), column["nullable"]) for column in made.get_columns(table.name)}
        wanted = {column.name: (str(column.type), bool(column.nullable)) for column in table.columns}
        assert columns == wanted
        assert {index["name"] for index in made.get_indexes(table.name)} == {index.name for index in table.indexes}
    engine.dispose()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///relative.db", "sqlite:///:memory:", "", "no url", "oracle://x/y"]
)
def test_a_url_that_would_not_last_is_refused(url: str) -> None:
    with pytest.raises(UserError, match=r"\[database\] url"):
        open_engine(url)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/cosched.db"
    Store(url).close()
    with sqlite3.connect(tmp_path / "cosched.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreFault, match=r"newer cosched.*9999.*install that version"):
        Store(url)


def test_a_database_of_this_version_is_opened_without_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/cosched.db"
    first = Store(url)
    first.close()
    monkeypatch.setitem(sys.modules, "cosched.store.migrate", None)  # to import it fails
    again = Store(url)
    again.close()
    assert again.instance == first.instance


def test_a_database_of_an_older_version_is_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/cosched.db"
    Store(url).close()
    with sqlite3.connect(tmp_path / "cosched.db") as connection:
        connection.execute("DROP TABLE reservations")
        make_older(connection, "0009")
    connection.close()
    engine = open_engine(url)
    assert inspect(engine).has_table("reservations")
    engine.dispose()


def test_owners_of_guests_are_no_users_of_this_domain_after_a_migration(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/cosched.db"
    owners = ("ann@north", "ann@site.org@north", "a\nb@north", "@north")
    store = Store(url)
    guests = [replace(make_task(number, owner=owner), origin="north") for number, owner in enumerate(owners, 1)]
    store.commit(changed([*guests, make_task(9, owner="bob@north")]))
    store.close()
    with sqlite3.connect(tmp_path / "cosched.db") as connection:
        make_older(connection, "0012")
    connection.close()
    store = Store(url)
    found = {task.number: task.owner for task in store.tasks()}
    store.close()
    assert found == {1: "ann:north", 2: "ann@site.org:north", 3: ":north", 4: ":north", 9: "bob@north"}


def test_tasks_that_ran_before_a_migration_say_what_their_last_attempts_took(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/cosched.db"
    store = Store(url)
    tasks = [make_task(number, hosts=("h1",)) for number in (1, 2)]
    attempts = [
        Attempt("a", "1", ("h1",), 1, None, 5.0, AttemptState.FAILED, cores=4),
        Attempt("b", "1", ("h1",), 1, None, 6.0, AttemptState.COMPLETED, cores=8),
        Attempt("c", "1", ("h1",), 1, None, 7.0, AttemptState.COMPLETED, cores=1, worker=1),
    ]
    store.commit(changed([*tasks, make_task(3)], attempts))
    store.close()
    with sqlite3.connect(tmp_path / "cosched.db") as connection:
        make_older(connection, "0042")
    connection.close()
    store = Store(url)
    found = {task.number: task.status.host_cores for task in store.tasks()}
    store.close()
    assert found == {1: 8, 2: 0, 3: 0}


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "cosched.db").write_text("precious words " * 100)
    with pytest.raises(StoreFault, match="is not an SQLite database"):
        Store(f"sqlite:///{tmp_path}/cosched.db")
    assert (tmp_path / "cosched.db").read_text().startswith("precious")


def test_a_damaged_page_is_found_before_anything_is_touched(tmp_path: Path) -> None:
    """Else the daemon meets it when it reads that page, days later, and what it has written by then is lost, too."""
    url = new_database(tmp_path)
    store = Store(url)
    store.commit(changed([make_task(number) for number in range(1, 30)]))
    store.close()
    database = tmp_path / "cosched.db"
    content = bytearray(database.read_bytes())
    content[-4096:] = b"\xa5" * 4096
    database.write_bytes(content)
    with pytest.raises(StoreFault, match=r"is damaged\b.* cosched database restore FILE"):
        Store(url)
    assert database.read_bytes() == content


def test_a_database_on_a_disk_that_has_become_read_only_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cosched database check` and `backup` could not open it, just when they were needed."""
    store = Store(new_database(tmp_path))
    store.commit(changed([make_task(1)]))
    database = tmp_path / "cosched.db"
    with closing(read_only(database)) as connection:  # the daemon has it open: its changes are not in the file yet
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (1,)
    store.close()
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("cosched.store.database.os.access", lambda *_: False)
    with closing(read_only(database)) as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (1,)
        assert sorted(tmp_path.iterdir()) == before  # nothing was made beside it, as nothing could be


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreFault, match=r"file/cosched\.db cannot be opened"):
        Store(f"sqlite:///{tmp_path}/file/cosched.db")


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
