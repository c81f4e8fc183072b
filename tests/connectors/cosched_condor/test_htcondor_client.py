"""Our end of the worker process, with a real worker that follows a log: that needs no pool."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import sys
import termios
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError
from cosched_condor.condor_settings import CondorSettings
from cosched_condor.htcondor_client import CondorClient, refusal_error

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.daemon


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "events.log").touch()
    return str(tmp_path / "events.log")


@pytest.fixture
def worker() -> Iterator[CondorClient]:
    worker = CondorClient(CondorSettings.read({"timeout": 20}))
    yield worker
    worker.close()


def pid_of(worker: CondorClient) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_a_process_is_started_by_the_first_call_and_kept(worker: CondorClient, log: str) -> None:
    assert worker._process is None
    assert worker.call("follow", logs=[log], timeout=0.0) == []
    first = pid_of(worker)
    assert worker.call("follow", logs=[log], timeout=0.0) == []
    assert pid_of(worker) == first
    assert os.getsid(first) == first  # a Ctrl-C for the daemon does not reach it


def test_one_that_hangs_is_given_up_and_its_answer_never_passes_for_the_next(worker: CondorClient, log: str) -> None:
    worker.call("follow", logs=[log], timeout=0.0)
    hanging = pid_of(worker)
    os.kill(hanging, signal.SIGSTOP)
    worker._timeout = 0.1
    with pytest.raises(ConnectorError, match=r"did not answer within .* is its scheduler well\?") as caught:
        worker.call("follow", logs=[log], timeout=0.0)
    assert caught.value.transient
    worker._timeout = 60.0
    assert worker.call("follow", logs=[log], timeout=0.0) == []
    assert pid_of(worker) != hanging


def kill_when_asked(worker: CondorClient, process: int) -> None:
    """Kill a process that has been stopped, once a request waits in its pipe."""
    assert worker._process is not None
    assert worker._process.stdin is not None
    until = time.monotonic() + 60
    while time.monotonic() < until:
        waiting = fcntl.ioctl(worker._process.stdin, termios.FIONREAD, bytes(4))
        if int.from_bytes(waiting, sys.byteorder):
            break
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("when", ["between", "during"])
def test_one_that_was_killed_is_replaced(worker: CondorClient, log: str, when: str) -> None:
    worker.call("follow", logs=[log], timeout=0.0)
    killed = pid_of(worker)
    if when == "during":
        os.kill(killed, signal.SIGSTOP)
        os.waitid(os.P_PID, killed, os.WSTOPPED | os.WNOWAIT)  # until then it may take the request out of its pipe
        killer = threading.Thread(target=kill_when_asked, args=(worker, killed))
        killer.start()
        with pytest.raises(ConnectorError, match="the process that talks to HTCondor ended") as caught:
            worker.call("follow", logs=[log], timeout=0.0)
        assert caught.value.transient
        killer.join()
    else:
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert worker.call("follow", logs=[log], timeout=0.0) == []
    assert pid_of(worker) != killed


def test_what_the_library_refuses_says_what_was_asked_of_it(worker: CondorClient, tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match=r"HTCondor, asked to tell its events: .*no.log") as caught:
        worker.call("follow", logs=[str(tmp_path / "no.log")], timeout=0.0)
    assert caught.value.transient


def test_closing_ends_the_process_and_twice_is_as_good_as_once(worker: CondorClient, log: str) -> None:
    worker.call("follow", logs=[log], timeout=0.0)
    process = worker._process
    assert process is not None
    worker.close()
    worker.close()
    assert process.returncode == -signal.SIGKILL


def test_a_token_is_named_by_its_folder_and_never_told(tmp_path: Path) -> None:
    """Neither the command line nor the environment of the process holds it."""
    tokens = tmp_path / "tokens.d"
    tokens.mkdir()
    (tokens / "cosched").write_text("a-secret")
    (tokens / "cosched").chmod(0o600)
    settings = {"pool": "127.0.0.1:1", "schedd": "s@h", "tokens": str(tokens)}
    worker = CondorClient(CondorSettings.read(settings))
    try:
        (tmp_path / "events.log").touch()
        worker.call("follow", logs=[str(tmp_path / "events.log")], timeout=0.0)
        place = Path(f"/proc/{pid_of(worker)}")
        for file in ("cmdline", "environ"):
            assert b"a-secret" not in (place / file).read_bytes()
        variables = (place / "environ").read_bytes().split(b"\0")
        assert f"_CONDOR_SEC_TOKEN_DIRECTORY={tokens}".encode() in variables
        assert {b"CONDOR_CONFIG=ONLY_ENV", b"_CONDOR_COLLECTOR_HOST=127.0.0.1:1"} <= set(variables)
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("expected next ProcId to be 5, but Schedd says -4", "MAX_JOBS_PER_SUBMISSION"),
        ("expected next ProcId to be 0, but Schedd says -3", "MAX_JOBS_PER_OWNER"),
        ("expected next ProcId to be 1, but Schedd says -2", "MAX_JOBS_SUBMITTED"),
        ("Failed to create new cluster.SCHEDD:22:MAX_JOBS_SUBMITTED exceeded. Limit=4", "MAX_JOBS_SUBMITTED"),
    ],
)
def test_a_limit_is_named_and_passes(words: str, limit: str) -> None:
    """In words that 25.14 was seen to use."""
    error = refusal_error("HTCondor, asked to submit", words, submitting=True)
    assert (error.transient, error.refused) == (True, True)
    assert limit in str(error)
    assert not refusal_error("HTCondor, asked to list its hosts", words, submitting=False).refused


@pytest.mark.parametrize(
    ("words", "transient"),
    [
        ("Failed to create job ad, errmsg=Submit:-1: no such thing", False),
        ("expected next ProcId to be 5, but Schedd says -1", True),
        ("Failed to connect", True),
    ],
)
def test_what_is_no_limit_is_final_or_passes(words: str, transient: bool) -> None:
    error = refusal_error("HTCondor, asked to submit", words, submitting=True)
    assert (error.transient, error.refused) == (transient, False)
    assert words in str(error)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pool": "cm:9618", "schedd": "submit"}, r"collector \(cm:9618\): does `condor_status -pool cm:9618` list"),
        ({}, r"collector \(COLLECTOR_HOST of HTCondor's configuration\): does `condor_status` list"),
    ],
)
def test_a_collector_that_does_not_answer_is_named_with_what_to_look_at(settings: dict[str, str], said: str) -> None:
    client = CondorClient(CondorSettings.read(settings))
    error = client.refusal("slots", "Failed communication with collector.")
    client.close()
    assert error.transient
    assert re.search(said, str(error))


def test_a_refused_edit_names_what_may_be_missing() -> None:
    """The library's words are the same for a job that is gone and for a user who may not edit it."""
    client = CondorClient(CondorSettings.read({}))
    error = client.refusal("edit", "Unable to edit jobs matching constraint")
    client.close()
    assert re.search(r"asked to change a job: Unable to edit .*QUEUE_SUPER_USERS .*condor_qusers -add", str(error))
