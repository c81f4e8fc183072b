"""A process that runs a library, with a library of our own; connectors test it with theirs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cosched.connector.interface import ConnectorError
from cosched.connector.worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon


_MODULE = """
import os, sys, time
from cosched.connector.worker_process import serve_requests

class Verbs:
    def add(self, one, two): return one + two
    def argument(self): return sys.argv[1]
    def speak(self): print("the library prints"); os.write(1, b"past Python, too"); return "said"
    def fail(self): raise ValueError("of two\\nlines")
    def hang(self): time.sleep(60)
    def die(self): os._exit(1)

serve_requests(Verbs())
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    (tmp_path / "played_worker.py").write_text(_MODULE)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    worker = WorkerProcess(
        ["played_worker", "x"], {**os.environ, "PYTHONPATH": path}, 60.0, manager="The library", daemon="its daemon"
    )
    yield worker
    worker.close()


def test_verbs_are_answered_and_counted(worker: WorkerProcess) -> None:
    assert worker.call("add", one=1, two=2) == 3
    assert worker.call("argument") == "x"
    assert worker.calls == {"add": 1, "argument": 1}


def test_what_the_library_prints_is_no_answer(worker: WorkerProcess) -> None:
    assert worker.call("speak") == "said"
    assert worker.call("add", one=1, two=1) == 2


@pytest.mark.parametrize(("verb", "says"), [("fail", "The library, asked to fail: of two lines"), ("none", "none")])
def test_an_error_is_one_line_and_ends_nothing(worker: WorkerProcess, verb: str, says: str) -> None:
    with pytest.raises(ConnectorError, match=says) as caught:
        worker.call(verb)
    assert caught.value.transient
    assert worker.call("add", one=1, two=1) == 2


def test_one_that_hangs_or_dies_is_replaced(worker: WorkerProcess) -> None:
    worker.call("argument")
    worker._timeout = 0.1
    with pytest.raises(ConnectorError, match=r"The library did not answer within 0 s: is its daemon well\?"):
        worker.call("hang")
    worker._timeout = 60.0
    with pytest.raises(ConnectorError, match="the process that talks to The library ended"):
        worker.call("die")
    assert worker.call("argument") == "x"


def test_one_that_was_killed_between_two_calls_is_replaced(worker: WorkerProcess) -> None:
    worker.call("argument")
    assert worker._process is not None
    killed = worker._process.pid
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert worker.call("argument") == "x"
    assert worker._process.pid != killed


def test_one_that_is_abandoned_ends_at_once_and_is_not_started_again(worker: WorkerProcess) -> None:
    worker.call("argument")
    with ThreadPoolExecutor(2) as pool:
        under_way, behind = (pool.submit(worker.call, "hang") for _ in range(2))
        while worker.calls["hang"] < 2:
            time.sleep(0.001)
        worker.abandon()
        for call in (under_way, behind):
            with pytest.raises(ConnectorError, match=r"ended|cosched is ending"):
                call.result(60)
    with pytest.raises(ConnectorError, match="cosched is ending"):
        worker.call("argument")
    assert worker._process is None


def test_one_whose_daemon_was_killed_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "played_worker.py").write_text(_MODULE.replace("time.sleep(60)", "sys.stdin.readline()"))
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "played_worker", "x"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # At work until its input ends, as it does with its daemon.
        process.stdin.write(b'{"verb": "hang", "arguments": {}}\n')
        process.stdin.flush()
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_modules_where_the_daemon_was_started_are_not_taken_for_pythons_own(
    worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with a file json.py the process died at each call; in one that others may write it ran theirs."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(here)
    assert worker.call("add", one=1, two=2) == 3
