"""Commands, daemons and their helpers start at once: forked from a process that has read all of cosched.

Reading the modules is most of what a short command does, and most of a daemon's start: tests that start hundreds of
them need not pay for it each time. What they do at their start is tested with real processes elsewhere.

Start at `fork_server`, then `Forked`. Who asks sends its input and outputs, then by `marshal` what to be, arguments,
folder and environment. The answer is the number of the new process and, when that has ended, its exit code. Workers of
pytest are forked in the same way (`forked_workers.py`).
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import marshal
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import redirect_stderr, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["HELPERS", "Forked", "fork_server", "read_templates", "serve", "started", "warm_up_kernels"]

HELPERS = frozenset(
    (
        "cosched.daemon.processes.planner",
        "cosched.daemon.processes.predictors",
        "cosched.daemon.processes.advising",
        "cosched_condor.htcondor_worker",
    )
)
"""Modules that the daemon runs as processes of their own."""

_LARGE_PAGE, _MADV_COLLAPSE = 2 << 20, 25
_NOUNS = (
    "account",
    "audit",
    "config",
    "database",
    "domain",
    "host",
    "library",
    "model",
    "peer",
    "plan",
    "portal",
    "serve",
    "task",
    "token",
)
_MODULES = (
    "cosched.client",
    "cosched.daemon.config.loading",
    "cosched.daemon.main",
    "cosched.store.migrate",
    "cosched_condor",
    "cosched_local",
    "cosched_simulated",
    "cosched_slurm",
    "httptools",
    "tests.testbed.forked.nursery",
    "tests.testbed.trouble",
    "uvicorn",
    "uvloop",
    *(f"cosched.cli.{noun}" for noun in _NOUNS),
    *sorted(HELPERS),
)


@cache
def fork_server() -> Path:
    """Return the socket of the process that others are forked from; it is started by the first who asks.

    The workers of one run of the tests share it. It keeps the environment of that moment for all to see, and ends with
    the run, or with this process where it is no worker.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        folder = Path(tempfile.mkdtemp(prefix="cosched-forks-"))
    else:
        folder = Path(tempfile.gettempdir(), f"cosched-forks-{run}")
        folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # programs of other users are there, too
    path = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            started("tests.testbed.forked.server", path, os.getpid() if run is None else os.getppid())
    return path


def started(module: str, path: Path, owner: int, *words: str) -> None:
    """Start a module that calls `serve`, and wait until it is ready.

    Args:
        module: its name.
        path: the socket to be.
        owner: number of the process with which it ends.
        words: more that it is told.
    """
    command = [sys.executable, "-m", module, str(path), str(owner), *words]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert server.stdout is not None
    with server.stdout:
        assert server.stdout.readline() == b"ready\n"
    server.returncode = 0  # it outlives whoever waits: nothing is to be said of it at the end


class Forked:
    """A process that was forked, to be handled like `subprocess.Popen`; it ends with whoever asked for it.

    Attributes:
        pid: its number.
    """

    def __init__(
        self, what: str, words: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int, int]
    ) -> None:
        """Have a process forked.

        Args:
            what: "cosched", "python" (`-m` and a module of the helpers) or "daemon".
            words: its arguments.
            environment: all of it.
            streams: descriptors that become its input and outputs.
        """
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(fork_server()))
        socket.send_fds(self._server, [b" "], streams)
        self._server.sendall(marshal.dumps([what, [*words], str(Path.cwd()), dict(environment)]))
        self.pid = _number(self._server.recv(4, socket.MSG_WAITALL))
        self._code: int | None = None
        self._hearing = threading.Lock()  # a timer may wait for its end beside the test

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("cosched", timeout or 0.0)
        return code

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _ended(self, timeout: float | None) -> int | None:
        if not self._hearing.acquire(timeout=-1.0 if timeout is None else timeout):
            return self._code
        try:
            if self._code is None and select.select([self._server], [], [], timeout)[0]:
                self._code = _number(self._server.recv(4, socket.MSG_WAITALL))
                self._server.close()
            return self._code
        finally:
            self._hearing.release()


def _number(said: bytes) -> int:
    assert len(said) == 4, "what processes are forked from has ended"
    return int.from_bytes(said, "little", signed=True)


def serve(path: str, owner: int, kinds: Mapping[str, Callable[[list[str]], int]]) -> None:
    """Fork whoever is asked for until the owner ends, and remove the socket's folder.

    Args:
        path: the socket.
        owner: number of a process.
        kinds: what a forked process does with its arguments, by what it is to be; it returns the exit code.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted ends, and we with him
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        over = os.pidfd_open(owner)
        waiting = select.poll()
        waiting.register(over, select.POLLIN)
        waiting.register(listening, select.POLLIN)
        pairs: dict[int, _Pair] = {}  # by the descriptors of both
        while over not in (ready := dict(waiting.poll())):
            for pair in {pairs[number] for number in ready if number in pairs}:
                for number in (pair.caller.fileno(), pair.forked):
                    waiting.unregister(number)
                    del pairs[number]
                pair.end()
            if listening.fileno() not in ready:
                continue
            caller, _ = listening.accept()
            pid = os.fork()
            if pid == 0:
                for each in (listening, *(pair.caller for pair in pairs.values())):
                    each.close()  # else their other ends do not hear that they were closed
                _be(caller, kinds)
            pair = _Pair(caller, pid, os.pidfd_open(pid))
            pairs[caller.fileno()] = pairs[pair.forked] = pair
            waiting.register(pair.forked, select.POLLIN)
            waiting.register(caller, 0)  # nothing but its end is of interest
        for pair in set(pairs.values()):
            pair.end()
    shutil.rmtree(Path(path).parent, ignore_errors=True)


class _Pair(NamedTuple):
    """A forked process lives as long as whoever asked for it.

    Attributes:
        caller: socket of the one who asked.
        pid: number of the process.
        forked: its pidfd.
    """

    caller: socket.socket
    pid: int
    forked: int

    def end(self) -> None:
        signal.pidfd_send_signal(self.forked, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        with suppress(OSError):  # whoever asked has ended
            self.caller.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True))
        os.close(self.forked)
        self.caller.close()


def _prepare() -> None:
    for module in _MODULES:
        importlib.import_module(module)
    with suppress(ImportError):  # of HTCondor's library the half that reads no configuration
        importlib.import_module("classad2")
    # What commands read as they run (pydantic, HTTP) is most of what they would do.
    unanswered = {"COSCHED_SERVER": "unix:/nonexistent"}
    with mock.patch.dict(os.environ, unanswered), redirect_stderr(io.StringIO()) as said:
        assert _run_command(["task", "list"]) == 2, said.getvalue()
    _begin_as_daemons_do()
    read_templates()
    warm_up_kernels()
    _take_large_pages()


def read_templates() -> None:
    """Read all templates of pages, which a process does once."""
    from cosched.portal.pages.rendering import page_templates

    templates = page_templates()
    for name in templates.list_templates(["html"]):
        templates.get_template(name)


def warm_up_kernels() -> None:
    """Load what the search has compiled, once for all processes; each planner would compile, and answer meanwhile."""
    if kernel_cache.ready():
        from cosched.scheduling.search.genetic_search import warm_up

        warm_up()


def _take_large_pages() -> None:
    """Have Linux keep what was read in large pages, where it can.

    Of the 14 ms that a fork and the end of its process took, the table of small ones was 8.
    """
    madvise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split()
        begin, end = (int(address, 16) for address in words[0].split("-"))
        if words[1].startswith("rw") and (len(words) < 6 or words[5] == "[heap]"):
            for page in range(-(-begin // _LARGE_PAGE), end // _LARGE_PAGE):
                madvise(ctypes.c_void_p(page * _LARGE_PAGE), ctypes.c_size_t(_LARGE_PAGE), _MADV_COLLAPSE)


def _begin_as_daemons_do() -> None:
    """Ask for connectors and open a database as each daemon does: what Python and SQLAlchemy keep of it is forked."""
    from cosched.connector import available_connectors
    from cosched.daemon.recovery import saved_state
    from cosched.store.store import Store
    from tests.store.compiled_once import compile_once
    from tests.store.new_database import new_database

    assert available_connectors()
    compile_once()
    with tempfile.TemporaryDirectory(prefix="cosched-forks-") as folder:
        store = Store(new_database(Path(folder)))
        saved_state(store, 0.0)
        store.close()


def _be(caller: socket.socket, kinds: Mapping[str, Callable[[list[str]], int]]) -> None:
    code = 70
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()  # what was read before the fork lives to the end: to look through it would copy it
    try:
        _, given, _, _ = socket.recv_fds(caller, 1, 3)
        for standard, number in enumerate(given):
            os.dup2(number, standard)
            os.close(number)
        with caller.makefile("rb") as words:
            what, arguments, folder, environment = marshal.load(words)
        caller.sendall(os.getpid().to_bytes(4, "little"))
        caller.close()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = kinds[what](arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run_command(arguments: list[str]) -> int:
    from cosched.cli.main import run

    return run(arguments)


def _run_module(arguments: list[str]) -> int:
    _, module, *rest = arguments
    sys.argv = [module, *rest]
    importlib.import_module(module).main()
    return 0


def _run_daemon(arguments: list[str]) -> int:
    """Be `cosched serve`: its helpers are forked, too."""
    from tests.testbed import trouble
    from tests.testbed.forked.quick_command import quick_popen

    config, python, troubles = arguments
    if troubles:
        trouble.begin(Path(troubles))
    subprocess.Popen = quick_popen(python)  # type: ignore[misc,assignment]
    return _run_command(["serve", "--config", config])


_KINDS: Mapping[str, Callable[[list[str]], int]] = {
    "cosched": _run_command,
    "python": _run_module,
    "daemon": _run_daemon,
}


if __name__ == "__main__":
    _prepare()
    serve(sys.argv[1], int(sys.argv[2]), _KINDS)
