from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cosched.app.submission.field_checks import checked_environment
from cosched.dask.tls_files import ClusterTlsFiles, join_address, make_tls_files
from cosched.dask.worker import INTERFACE_VARIABLE, main, thread_count, worker_command
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("others", ["", "key.pem", "certificate.pem"])
def test_a_worker_joins_no_scheduler_by_the_key_of_another_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], others: str
) -> None:
    files = make_tls_files(tmp_path / "tls")
    os.chown(files.folder / others, 65534, 65534)
    with pytest.raises(SystemExit) as ended:
        main((join_address("tls://127.0.0.1:4000", files), "3"))
    assert ended.value.code == 2
    assert "are not this user's alone" in capsys.readouterr().err


def test_a_worker_joins_no_scheduler_by_a_key_that_others_can_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = make_tls_files(tmp_path / "tls")
    files.folder.chmod(0o770)
    (tmp_path / "missing").symlink_to(tmp_path / "nowhere")
    for folder, said in ((files.folder, "are not this user's alone"), (tmp_path / "missing", "cannot be read")):
        with pytest.raises(SystemExit) as ended:
            main((join_address("tls://127.0.0.1:4000", ClusterTlsFiles(folder)), "3"))
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_own_files_are_used_by_a_path_without_links(tmp_path: Path) -> None:
    files = make_tls_files(tmp_path / "tls")
    (tmp_path / "link").symlink_to(files.folder)
    assert ClusterTlsFiles(tmp_path / "link").proven_own().folder == files.folder.resolve()
