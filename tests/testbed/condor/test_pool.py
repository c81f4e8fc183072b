"""The testbed's pool comes, changes and goes as it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.condor.__main__ import main
from tests.testbed.condor.pool import CondorPool, PoolError
from tests.testbed.keeping import printed_settings

pytestmark = pytest.mark.pool


def test_the_command_starts_a_pool_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.testbed.condor", "--hosts", "2"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        settings = printed_settings(keeper.stdout, "condor")
        pool = CondorPool.at(Path(settings["config"]).parent)
        assert settings == pool.settings
        assert pool.hosts == ("node01", "node02")
        assert main(["--dir", str(pool.directory), "--take", "node02"]) == 0
        assert pool.tool("condor_status", "-af", "Machine").split() == ["node01"]
        assert main(["--dir", str(pool.directory), "--give", "node02"]) == 0
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait() == 0
    assert pool.processes() == []
    assert not pool.directory.exists()


def test_two_pools_live_side_by_side() -> None:
    with CondorPool(1) as one, CondorPool(1) as two:
        assert one.processes_of("collector") != two.processes_of("collector")
        one.stop()
        assert two.tool("condor_status", "-af", "Machine").split() == ["node01"]


def test_a_folder_in_use_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious").touch()
    assert main(["--dir", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert (tmp_path / "precious").exists()


def test_a_pool_that_cannot_start_says_why_at_once() -> None:
    with pytest.raises(PoolError, match=r"ended at once: .*ProcD"):
        CondorPool(1, settings="PROCD = /nonexistent\n")


def test_an_unknown_host_is_named() -> None:
    with CondorPool(1) as pool, pytest.raises(PoolError, match="node09"):
        pool.take_host("node09")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's pool runs as another user")
def test_a_folder_closed_to_the_daemons_user_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(PoolError, match="nobody"):
        CondorPool(1, tmp_path / "pool")
