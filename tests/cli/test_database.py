from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.daemon.locks import DaemonLocks
from cosched.store.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Configure a database with one task."""
    store = Store(new_database(tmp_path / "state"))
    store.commit(changed([make_task(1, name="", application="")]))
    store.close()
    file = tmp_path / "cosched.toml"
    file.write_text(f'[domain]\nstate = "{tmp_path}/state"\n')
    return str(file)


def test_a_backup_is_made_and_restored(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = str(tmp_path / "kept.db")
    assert run(["database", "backup", kept, "--config", config]) == 0
    assert f"{kept}: 1 task" in capsys.readouterr().out
    assert run(["database", "backup", kept, "--config", config]) == 1
    assert "--force" in capsys.readouterr().err
    assert run(["database", "backup", kept, "--force", "--config", config]) == 0
    assert run(["database", "restore", kept, "--config", config]) == 0
    said = capsys.readouterr().out
    assert f"{tmp_path}/state/cosched.db.replaced-" in said
    assert "Tasks submitted since then are unknown" in said
    assert "neighbour" not in said


def test_nothing_is_restored_under_a_running_daemon(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = str(tmp_path / "kept.db")
    running = DaemonLocks(tmp_path / "state", f"sqlite:///{tmp_path}/state/cosched.db")
    assert run(["database", "backup", kept, "--config", config]) == 0
    assert run(["database", "restore", kept, "--config", config]) == 1
    assert "a daemon uses" in capsys.readouterr().err
    running.release()
    assert run(["database", "restore", kept, "--config", config]) == 0


def test_a_database_that_is_not_there_is_one_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told to name another file, and names none."""
    monkeypatch.setenv("COSCHED_DOMAIN__STATE", str(tmp_path))
    for words in (["check"], ["backup", str(tmp_path / "kept.db")]):
        assert run(["database", *words]) == 2
        said = capsys.readouterr().err
        assert f"there is no database {tmp_path}/cosched.db: a daemon makes it when it first starts" in said
        assert "correct --config, [domain] state or [database] url" in said


def test_a_backup_is_restored_behind_a_link(config: str, tmp_path: Path) -> None:
    """SQLite keeps the WAL beside the file that a link leads to."""
    link, kept = tmp_path / "state" / "cosched.db", str(tmp_path / "kept.db")
    file = link.rename(tmp_path / "elsewhere.db")
    link.with_name("cosched.db.last-commit").rename(tmp_path / "elsewhere.db.last-commit")
    link.symlink_to(file)
    assert run(["database", "backup", kept, "--config", config]) == 0
    assert run(["database", "restore", kept, "--config", config]) == 0
    assert link.readlink() == file
    assert not any(path.is_symlink() for path in tmp_path.glob("elsewhere.db.replaced-*"))
    assert list(tmp_path.glob("elsewhere.db.replaced-*"))
    Store(f"sqlite:///{link}").close()


def test_what_a_database_lacks_is_told_and_accepted(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "state" / "cosched.db"
    assert run(["database", "accept-loss", "--config", config]) == 0
    assert "nothing was done" in capsys.readouterr().out
    older = database.read_bytes()
    store = Store(f"sqlite:///{database}")
    store.commit(changed([make_task(2, name="", application="")]))
    store.close()
    database.write_bytes(older)
    assert run(["database", "check", "--config", config]) == 2
    assert "lacks its last 1 change (" in capsys.readouterr().err
    assert run(["database", "backup", str(tmp_path / "kept.db"), "--config", config]) == 2
    assert run(["database", "accept-loss", "--config", config]) == 0
    assert "Accepted: " in capsys.readouterr().out
    assert run(["database", "check", "--config", config]) == 0


def test_a_check_says_what_there_is_and_fails_on_a_fault(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["database", "check", "--config", config]) == 0
    found = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (found["integrity"], found["tasks"], found["references"]) == ("ok", "1: 1 queued", "ok")
    assert found["retention"] == "ended tasks are kept for 90 days, 0 are due to be deleted"
    with closing(sqlite3.connect(tmp_path / "state" / "cosched.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert run(["database", "check", "--json", "--config", config]) == 2
    said = capsys.readouterr()
    assert "newer cosched" in said.err
    assert json.loads(said.out)["faults"]
