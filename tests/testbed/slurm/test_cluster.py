"""The testbed's cluster comes, changes and goes as it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed.keeping import printed_settings
from tests.testbed.slurm.__main__ import main
from tests.testbed.slurm.cluster import ClusterError, SlurmCluster
from tests.testbed.slurm.install import prefix
from tests.testbed.software.debian import PackageError

pytestmark = pytest.mark.pool


@pytest.fixture(autouse=True)
def installed() -> None:
    try:
        prefix()
    except PackageError as error:
        pytest.skip(f"Debian's Slurm cannot be had here: {error}")


# Installed and not configured: its commands look for slurm.conf before they tell their version.
FRESH_SLURM = """#!/bin/sh
case $(basename $0) in
slurmctld) [ "$1" = -V ] && echo slurm {version} ;;
*) echo "fatal: Could not establish a configuration source" >&2; exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("version", "missing", "message"),
    [
        ("25.11.2", "", ""),
        ("24.11.5", "", "24.11.5 and pyslurm's is 25.11"),
        ("25.11.2", "bin/sbatch", "no .*/bin/sbatch"),
        ("25.11.2", "lib/slurm/auth_munge.so", "with munge"),
        ("25.11.2", "include/slurm/slurm.h", "headers"),
    ],
)
def test_a_slurm_that_pyslurm_does_not_fit_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str, missing: str, message: str
) -> None:
    for name in ("bin/sbatch", "sbin/slurmctld", "lib/slurm/auth_munge.so", "include/slurm/slurm.h"):
        if name != missing:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(FRESH_SLURM.format(version=version))
            (tmp_path / name).chmod(0o755)
    assert main(["--check", str(tmp_path)]) == (2 if message else 0)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == bool(message)
    assert re.search(message, said)


def test_the_command_starts_a_cluster_and_leaves_nothing() -> None:
    command = [sys.executable, "-m", "tests.testbed.slurm", "--hosts", "2"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        settings = printed_settings(keeper.stdout, "slurm")
        environment = {**os.environ, "SLURM_CONF": settings["config"]}
        sinfo = [f"{settings['bin']}/sinfo", "--noheader", "--Node", "--format=%N"]
        listed = subprocess.run(sinfo, env=environment, capture_output=True, text=True, check=True).stdout
        assert listed.split() == ["node01", "node02"]
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait() == 0
    directory = Path(settings["config"]).parent
    assert not directory.exists()
    assert not _processes_with(str(directory))


def test_two_clusters_live_side_by_side() -> None:
    with SlurmCluster(1) as one, SlurmCluster(1) as two:
        assert not set(one.processes()) & set(two.processes())
        one.stop()
        assert one.processes() == []
        assert two.tool("sinfo", "--noheader", "--Node", "--format=%N").split() == ["node01"]


def test_a_cluster_takes_its_jobs_along() -> None:
    with SlurmCluster(1) as cluster:
        cluster.tool("sbatch", f"--chdir={cluster.spool}", "--wrap", "sleep 1000")
        cluster.wait("the job", lambda: "RUNNING" in cluster.tool("squeue", "--noheader", "--format=%T"))
    assert cluster.processes() == []


def test_an_unknown_host_is_named() -> None:
    with SlurmCluster(1) as cluster, pytest.raises(ClusterError, match="node09"):
        cluster.take_host("node09")


def _processes_with(folder: str) -> list[str]:
    lines = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if folder in line]
