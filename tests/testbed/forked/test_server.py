from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cosched.version import __version__
from tests.testbed.forked.quick_command import quick_command, quick_popen
from tests.testbed.forked.server import Forked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[socket.socket]:
    """A server that never answers: whoever asks it waits."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "silent"))
        listening.listen()
        listening.settimeout(60)
        yield listening


def asking(silent: socket.socket) -> dict[str, str]:
    return {**os.environ, "COSCHED_SERVER": f"unix:{silent.getsockname()}"}


def accepted(silent: socket.socket) -> socket.socket:
    """Return the connection on which a command asks, after the one by which it looks whether anybody is there."""
    silent.accept()[0].close()
    caller, _ = silent.accept()
    caller.settimeout(60)
    while b"\r\n\r\n" not in caller.recv(65536):
        pass
    return caller


@pytest.mark.parametrize(("words", "code", "out"), [(["--version"], 0, f"cosched {__version__}\n"), (["tsak"], 1, "")])
def test_what_a_command_writes_and_its_exit_code_come_back(
    words: list[str], code: int, out: str, tmp_path: Path
) -> None:
    done = subprocess.run([quick_command(tmp_path), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, out)


def test_a_command_ends_with_the_program_that_stands_for_it(tmp_path: Path, silent: socket.socket) -> None:
    with subprocess.Popen([quick_command(tmp_path), "task", "list"], env=asking(silent)) as program:
        with accepted(silent) as caller:
            program.kill()
            assert caller.recv(1) == b""
        assert program.wait(60) == -signal.SIGKILL


def test_a_signal_that_ends_a_process_is_its_exit_code(silent: socket.socket) -> None:
    forked = Forked("cosched", ["task", "list"], asking(silent), (0, 1, 2))
    with accepted(silent):
        assert forked.poll() is None
        forked.send_signal(signal.SIGKILL)
        assert forked.wait(60) == -signal.SIGKILL
    forked.terminate()  # there is nobody any more
    assert forked.poll() == -signal.SIGKILL


def test_two_threads_may_wait_for_the_same_end(silent: socket.socket) -> None:
    """The second one to hear of it asked a connection that the first had closed."""
    forked = Forked("cosched", ["task", "list"], asking(silent), (0, 1, 2))
    with accepted(silent), ThreadPoolExecutor(4) as threads:
        codes = [threads.submit(forked.wait, 60) for _ in range(4)]
        assert forked.poll() is None
        os.kill(forked.pid, signal.SIGKILL)
        assert [code.result() for code in codes] == [-signal.SIGKILL] * 4


@pytest.mark.parametrize("options", [[], ["-P"]])
def test_helpers_of_a_daemon_are_forked_whatever_options_they_begin_with(options: list[str]) -> None:
    """With `-P` each began by itself, in so much time beside other tests that daemons waited for them in vain."""
    module = "cosched.daemon.processes.predictors"
    command = [sys.executable, *options, "-m", module, "models"]
    with quick_popen("/bin/echo")(command, stdout=subprocess.PIPE, text=True) as helper:
        assert helper.communicate()[0] == f"-m {module} models\n"
    with quick_popen("/bin/echo")(["/bin/echo", module, "else"], stdout=subprocess.PIPE, text=True) as other:
        assert other.communicate()[0] == f"{module} else\n"
