"""A scheduler reached over TCP with a token, which shares no folder with cosched: the contract, and what is its own."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState
from cosched.connector.contract import Bench, ConnectorContract
from cosched.connector.userfiles import UserFileOrigin
from cosched_condor import CondorConnector, userfile
from cosched_condor.submit_description import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.connector import Launch
    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """A folder that is closed to everybody else: the pool of root runs as another user."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def connect(
    pool: CondorPool,
    spool: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], CondorConnector]:
    monkeypatch.delenv("CONDOR_CONFIG", raising=False)
    pool.give_token(tmp_path / "tokens", "faraway@pool")
    name = pool.tool("condor_status", "-schedd", "-af", "Name").strip()
    settings = {
        "pool": pool.address,
        "schedd": name,
        "tokens": str(tmp_path / "tokens"),
        "files": "spooled",
        "spool": str(spool),
    }
    return lambda: CondorConnector(settings)


@pytest.fixture
def bench(connect: Callable[[], CondorConnector], shared: Path) -> Iterator[Bench]:
    bench = Bench(connect, shared, patience=60.0)
    yield bench
    bench.clear()


# What a connector leaves behind that dies between its submission and its files.
_CUT_OFF = """
import sys, htcondor2
found = htcondor2.Collector().locate(htcondor2.DaemonType.Schedd, sys.argv[1])
submission = htcondor2.Submit(sys.argv[2])
htcondor2.Schedd(found).submit(submission, itemdata=iter([dict(zip(sys.argv[3::2], sys.argv[4::2]))]), spool=True)
"""


class TestContract(ConnectorContract):
    patience = 60.0
    quiet = 2.0

    @pytest.fixture
    def connect(self, connect: Callable[[], CondorConnector]) -> Callable[[], CondorConnector]:
        return connect

    @pytest.fixture
    def workplace(self, shared: Path) -> Path:
        """Where the tests themselves meet their jobs; the connector does not know of it."""
        folder = shared / "work"
        folder.mkdir()
        folder.chmod(0o1777)
        return folder

    def test_an_unpinned_job_runs_somewhere(self, bench: Bench) -> None:
        """Several processes anywhere run; without a common folder nothing tells them each other's hosts."""
        diary = bench.workplace / "free"
        launch = bench.shell('echo "$COSCHED_RANK $COSCHED_HOST_COUNT [$COSCHED_HOSTS]" >> "$0"', str(diary), count=2)
        bench.submit(launch)
        assert bench.until(launch, JobState.COMPLETED).exit_code == 0
        assert sorted(diary.read_text().splitlines()) == ["0 2 []", "1 2 []"]

    @pytest.fixture
    def take_host(self, pool: CondorPool) -> Callable[[str], None]:
        return pool.take_host

    @pytest.fixture
    def give_host(self, pool: CondorPool) -> Callable[[str], None]:
        return pool.give_host

    @pytest.fixture
    def outputs(self, bench: Bench, spool: Path) -> Callable[[str], Path]:
        def fetched(attempt: str) -> Path:
            bench.connector.events(0.0)  # whoever listens has it all fetched
            return spool / attempt

        return fetched


def test_jobs_are_those_of_the_token(pool: CondorPool, bench: Bench) -> None:
    launch, gate = bench.running("node01")
    assert pool.tool("condor_q", "-allusers", bench.report(launch).job, "-af", "Owner").strip() == "faraway"
    gate.touch()
    bench.until(launch, JobState.COMPLETED)


def test_results_come_back_beside_the_output_of_their_process(bench: Bench, spool: Path) -> None:
    launch = bench.shell('echo "$COSCHED_RANK" > result; echo done', hosts=bench.up(2))
    bench.submit(launch)
    bench.listen(launch, JobState.COMPLETED)
    assert bench.written(launch, "out", 1).data == b"done\n"
    assert [(spool / launch.attempt / str(rank) / "result").read_text() for rank in (0, 1)] == ["0\n", "1\n"]


def test_a_users_own_submit_file_is_carried_with_its_files(bench: Bench, tmp_path: Path) -> None:
    """From the machine that cosched runs on, as `condor_submit -spool` does; results go back beside them."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "program").write_text("#!/bin/sh\ncat input > result; echo $COSCHED_RANK $MINE $1\n")
    (home / "program").chmod(0o755)
    (home / "input").write_text("from afar\n")
    text = "executable = program\narguments = x\ntransfer_input_files = input\noutput = mine.out\n"
    job = userfile.read(text + "environment = MINE=1\nqueue\n", UserFileOrigin(home, {}, "job.sub"))[0]
    launch = replace(
        bench.launch(*job.command, hosts=("node01",)),
        directory=job.directory,
        native=job.native,
        environment=job.environment,
    )
    bench.submit(launch)
    bench.listen(launch, JobState.COMPLETED)
    bench.connector.output(launch.attempt, "out", 0, 0, 9)
    assert (home / "mine.out").read_text() == "0 1 x\n"
    assert (home / "result").read_text() == "from afar\n"


def test_a_token_of_another_pool_opens_nothing(pool: CondorPool, tmp_path: Path) -> None:
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "token").write_text("not.a.token")
    (tmp_path / "tokens" / "token").chmod(0o600)
    connector = CondorConnector(
        {
            "pool": pool.address,
            "schedd": "schedd",
            "tokens": str(tmp_path / "tokens"),
            "files": "spooled",
            "spool": str(tmp_path / "spool"),
        }
    )
    try:
        with pytest.raises(ConnectorError) as refusal:
            connector.hosts()
        assert refusal.value.transient
    finally:
        connector.close()


def test_a_submission_cut_off_before_its_files_is_withdrawn_and_made_again(bench: Bench) -> None:
    launch, diary = bench.diary(hosts=("node01",))
    _cut_off(bench, launch)
    connector = bench.connector
    assert isinstance(connector, CondorConnector)
    found = connector.find(launch.attempt)
    assert found is not None
    assert found.state is JobState.QUEUED
    connector._jobs._cut_off = 0.0
    time.sleep(1.1)
    until(lambda: connector.find(launch.attempt) is None)
    connector._jobs._cut_off = 60.0
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def _cut_off(bench: Bench, launch: Launch) -> None:
    connector = bench.connector
    assert isinstance(connector, CondorConnector)
    connector._make_folder(launch.attempt)
    connector._write_script(launch)
    described = describe(launch, connector._settings, connector._attempts)
    items = [word for pair in described.items[0].items() for word in pair]
    environment = connector._client._environment
    subprocess.run(
        [sys.executable, "-c", _CUT_OFF, connector._settings.schedd, described.text, *items],
        env=dict(environment),
        check=True,
        timeout=240,
    )
