"""Slurm through pyslurm, which is played: it can only be built against an installed Slurm of its own version."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector import ConnectorError, Host, JobState
from cosched_slurm.cluster.nodes import cluster_hosts
from cosched_slurm.jobs import job_comment, job_records
from cosched_slurm.pyslurm_client import PyslurmClient, submit_description
from cosched_slurm.slurm_settings import SlurmSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon


ATTEMPT = "12345678-1234-1234-1234-123456789abc"
PYSLURM = """
import os, sys, types
print("pyslurm prints what it likes")
if os.environ["PLAYED"] == "fatal":
    sys.exit("slurm: fatal: Unable to process configuration file")
__version__ = "25.11.2"
COMMENT = "cosched:ATTEMPT:1 deadline=1795215376 application=jacobi"

class RPCError(Exception):
    pass

class JobSubmitDescription:
    def __init__(self, **words):
        self.words = words
    def submit(self):
        if self.words.get("partitions") == "none":
            raise RPCError("Invalid partition\\nname specified")
        if self.words.get("partitions") == "busy":
            raise RPCError("Unable to contact slurm controller")
        return 7

class Job:
    time_limit = None
    def __init__(self, id):
        self.id, self.comment, self.state, self.state_reason = id, COMMENT, "FAILED", "NonZeroExitCode"
        self.start_time, self.end_time, self.exit_code, self.exit_code_signal = 100, 109, 3, 0
        self.allocated_nodes, self.user_name = "node[01,03]", "ann"
    def cancel(self):
        print("cancelled", self.id, type(self.id).__name__, file=sys.stderr)

class Node:
    name, state, reason, partitions, active_features = "node01", "IDLE+DRAIN", "new memory", ["all"], ["class-fast"]

class Of:
    def __init__(self, found): self.found = found
    def load(self): return {'cluster': self.found}
Jobs, Nodes = Of(Job(7)), Of(Node())
version = "22.05.8" if os.environ["PLAYED"] == "old" else "25.11.4"
slurmctld = types.SimpleNamespace(Config=types.SimpleNamespace(load=lambda: types.SimpleNamespace(version=version)))
"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], PyslurmClient]]:
    made: list[PyslurmClient] = []

    def library(played: str) -> PyslurmClient:
        if played == "absent":  # also where there is one
            (tmp_path / "sitecustomize.py").write_text('import sys; sys.modules["pyslurm"] = None')
        else:
            (tmp_path / "pyslurm.py").write_text(PYSLURM.replace("ATTEMPT", ATTEMPT))
        paths = [str(tmp_path), *os.environ.get("PYTHONPATH", "").split(":")]
        monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, paths)))
        made.append(PyslurmClient(SlurmSettings.read({"spool": str(tmp_path), "interface": "pyslurm"})))
        made[-1]._environment = {**made[-1]._environment, "PLAYED": played}
        return made[-1]

    yield library
    for one in made:
        one.close()


def test_what_it_says_of_jobs_and_nodes_is_understood(play: Callable[[str], PyslurmClient]) -> None:
    library = play("25.11")
    (record,) = job_records(library.jobs())[ATTEMPT]
    assert (record.job, record.state, record.exit_code, record.hosts) == ("7", JobState.FAILED, 3, ("node01", "node03"))
    assert (record.started, record.finished) == (100, 109)
    assert cluster_hosts(library.nodes(), "all", "class-") == [
        Host("node01", "fast", up=False, reason="drain: new memory", partitions=("all",))
    ]


def test_jobs_are_submitted_and_ended(play: Callable[[str], PyslurmClient], capfd: pytest.CaptureFixture[str]) -> None:
    library = play("25.11")
    assert library.submit(["--partition=all", "--exclusive", "/spool/job.sh"]) == "7"
    library.cancel(["7", "9"])
    library.cancel([])
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("cancelled")] == [
        "cancelled 7 int",
        "cancelled 9 int",
    ]
    assert library.calls == {"submit": 1, "cancel": 1}


@pytest.mark.parametrize(("partition", "transient"), [("none", False), ("busy", True)])
def test_a_refusal_says_what_was_asked_and_whether_to_try_again(
    play: Callable[[str], PyslurmClient], partition: str, transient: bool
) -> None:
    with pytest.raises(ConnectorError, match="pyslurm, asked to submit a job: ") as refusal:
        play("25.11").submit([f"--partition={partition}", "/spool/job.sh"])
    assert refusal.value.transient is transient


def test_a_slurm_of_another_version_is_refused(play: Callable[[str], PyslurmClient]) -> None:
    with pytest.raises(ConnectorError, match=r"pyslurm 25\.11\.2 is for Slurm 25\.11 and the controller is 22\.05\.8"):
        play("old").nodes()


def test_a_package_that_is_not_there_is_named(play: Callable[[str], PyslurmClient]) -> None:
    with pytest.raises(ConnectorError, match=r"pyslurm is not installed: .*interface = \"cli\""):
        play("absent").nodes()


def test_a_library_that_ends_its_process_ends_nothing_else(play: Callable[[str], PyslurmClient]) -> None:
    """So pyslurm does where Slurm's configuration cannot be read."""
    library = play("fatal")
    for _ in range(2):
        with pytest.raises(ConnectorError, match="the process that talks to pyslurm ended") as caught:
            library.nodes()
        assert caught.value.transient


def test_a_process_that_died_is_replaced(play: Callable[[str], PyslurmClient]) -> None:
    library = play("25.11")
    library.nodes()
    assert library._process is not None
    killed = library._process.pid
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert library.nodes()
    assert library._process.pid != killed


def test_sbatchs_options_in_pyslurms_words() -> None:
    given = [
        "--exclusive",
        "--no-requeue",
        "--job-name=a b",
        f"--comment={job_comment(ATTEMPT, 2, deadline=1795215376, application='jacobi')}",
        "--chdir=/spool/x",
        "--nodes=2",
        "--nodelist=node01,node03",
        "--time=0:90",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--mem=0",
        "--output=/spool/x/slurm.log",
        "/spool/x/job.sh",
    ]
    found: dict[str, Any] = submit_description(given)
    assert found == {
        "script": "/spool/x/job.sh",
        "resource_sharing": "exclusive",
        "is_requeueable": False,
        "name": "a b",
        "comment": f"cosched:{ATTEMPT}:2 deadline=1795215376 application=jacobi",
        "working_directory": "/spool/x",
        "nodes": 2,
        "required_nodes": "node01,node03",
        "time_limit": "0:90",
        "ntasks": 2,
        "ntasks_per_node": 1,
        "standard_output": "/spool/x/slurm.log",
    }


@pytest.mark.parametrize("option", ["--bb=x", "--ntasks=two", "--exclusive=user", "--hold"])
def test_an_option_that_it_has_no_word_for_is_refused(option: str) -> None:
    with pytest.raises(ConnectorError, match="pyslurm cannot be told") as refusal:
        submit_description([option, "/spool/job.sh"])
    assert not refusal.value.transient
