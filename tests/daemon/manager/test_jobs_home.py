from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.daemon.config.loading import load_configuration
from cosched.daemon.main import Daemon
from cosched.daemon.manager.jobs_home import check_jobs_home
from cosched.errors import SystemFault, UserError
from cosched.store.store import Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

CONDOR, LOCAL = "condor (spool /shared)", "local (spool /var/spool)"


def nobody() -> int:
    raise AssertionError("nobody asks how many are live")


def test_the_manager_of_the_last_daemon_is_kept_and_none_is_refused_without_live_jobs(tmp_path: Path) -> None:
    file = tmp_path / "jobs-home"
    check_jobs_home(file, CONDOR, nobody)
    check_jobs_home(file, CONDOR, nobody)
    assert file.read_text() == f"{CONDOR}\n"
    check_jobs_home(file, LOCAL, lambda: 0)
    assert file.read_text() == f"{LOCAL}\n"


def test_another_manager_is_refused_while_jobs_are_live_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "jobs-home"
    check_jobs_home(file, CONDOR, nobody)
    with pytest.raises(
        UserError, match=r"^2 jobs of this domain may still run with condor \(spool /shared\), and "
    ) as no:
        check_jobs_home(file, LOCAL, lambda: 2)
    assert str(no.value).endswith(f"remove {file}")
    assert file.read_text() == f"{CONDOR}\n"
    file.unlink()
    check_jobs_home(file, LOCAL, nobody)


def test_a_file_that_cannot_be_used_is_a_fault_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "jobs-home").mkdir()
    with pytest.raises(SystemFault, match="jobs-home cannot be used"):
        check_jobs_home(tmp_path / "jobs-home", CONDOR, nobody)


def test_running_tasks_do_not_run_twice_because_the_daemon_was_given_another_manager(tmp_path: Path) -> None:
    """Its manager did not know their jobs, so that they were begun again beside themselves."""
    store = Store(new_database(tmp_path / "state"))
    store.commit(changed([make_task(1)], [Attempt("a", "1", ("h1",), 1, None, 5.0, AttemptState.RUNNING)]))
    store.close()
    (tmp_path / "state" / "jobs-home").write_text(f"{CONDOR}\n")
    config = tmp_path / "cosched.toml"
    config.write_text(
        f'[domain]\nstate = "{tmp_path}/state"\n[planning]\npolicy = "fcfs-maximum"\n'
        f'[connector.local]\nspool = "{tmp_path}/spool"\n'
    )
    with pytest.raises(UserError, match=rf"1 job .* with condor .* names local \(spool {tmp_path}/spool\), which"):
        Daemon(load_configuration(config, {}))
