from __future__ import annotations

import pytest

from cosched.app.submission.field_checks import checked_environment
from cosched.dask.worker import INTERFACE_VARIABLE, main, thread_count, worker_command
from cosched.errors import UserError

TOLD = "tls://node01:4000#/spool/box/answers/dask"


def test_a_worker_is_named_and_proves_itself_by_files() -> None:
    command = worker_command(TOLD, "3", {})
    assert command[1:6] == ["-m", "distributed.cli.dask_worker", "tls://node01:4000", "--name", "3"]
    assert command[command.index("--tls-key") + 1] == "/spool/box/answers/dask/key.pem"
    assert "--interface" not in command


def test_a_worker_has_as_many_threads_as_its_task_has_cores() -> None:
    assert thread_count({}) == 1
    assert thread_count({"COSCHED_CORES": "8"}) == 8
    command = worker_command(TOLD, "3", {"COSCHED_CORES": "8", "COSCHED_DASK_INTERFACE": "ib0"})
    assert command[command.index("--nthreads") + 1] == "8"
    assert command[command.index("--interface") + 1] == "ib0"


def test_the_interface_is_a_variable_that_users_may_set() -> None:
    assert checked_environment({INTERFACE_VARIABLE: "ib0"}) == {INTERFACE_VARIABLE: "ib0"}
    with pytest.raises(UserError, match="COSCHED_CORES is set by cosched itself"):
        checked_environment({"COSCHED_CORES": "8"})


@pytest.mark.parametrize("arguments", [(), ("tls://node01:4000", "3"), (TOLD,), (TOLD, "3", "4")])
def test_what_is_no_address_is_refused_in_one_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_address_without_a_folder_says_how_it_is_written() -> None:
    with pytest.raises(UserError, match="tls://HOST:PORT#FOLDER"):
        worker_command("tls://node01:4000", "3", {})
