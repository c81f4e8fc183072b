"""Programs at once: forked from a process that has read their modules, with all that a process is given.

`quick_command` is the command `cosched`, `quick_popen` forks the daemon's helpers. For tests that run
them hundreds of times; what they do at their start is tested with real processes elsewhere.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

__all__ = ["quick_command", "quick_popen", "quick_python"]

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
    "task",
    "token",
)
_COMMAND = ("cosched.client", "cosched.daemon.config", *(f"cosched.cli.{noun}" for noun in _NOUNS))
_HELPERS = (
    "cosched.daemon.processes.planner",
    "cosched.daemon.processes.predictors",
    "cosched.daemon.processes.advising",
    "cosched_condor.htcondor_worker",
)

# It gives its arguments, folder, environment, input and outputs away, and ends with the exit code that comes back.
_CALLER = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [b" "], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    code = server.recv(1)
sys.exit(code[0] if code else "cosched died")
"""


def quick_command(folder: Path) -> AbstractContextManager[Path]:
    """Make a program in a folder that does what `cosched` does, as long as the context lasts."""
    return _program(folder, "cosched")


def quick_popen(python: str) -> type[subprocess.Popen[Any]]:
    """Return a class like `subprocess.Popen` that forks the daemon's helpers and starts all other programs.

    Args:
        python: a program that `quick_python` returned, here or in a process that outlives this one.
    """

    class QuickPopen(subprocess.Popen[Any]):
        def __init__(self, command: Sequence[str], **options: Any) -> None:
            helper = list(command[:2]) == [sys.executable, "-m"] and command[2] in _HELPERS
            super().__init__([python, *command[1:]] if helper else command, **options)

    return QuickPopen


@cache
def quick_python() -> Path:
    """Return a program that is `python -m` for helpers of the daemon, as long as this process lasts.

    What is forked ends with the program that stands for it, as if they were one process.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cosched-helpers-")))
    folder.chmod(0o755)
    return stack.enter_context(_program(folder, "python"))


@contextmanager
def _program(folder: Path, name: str) -> Iterator[Path]:
    path, program = folder / "socket", folder / name
    program.write_text(_CALLER.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.testbed.quick_command", str(path), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield program  # the server ends with its input


def _prepare(name: str) -> None:
    for module in _COMMAND if name == "cosched" else _HELPERS:
        importlib.import_module(module)
    if name == "cosched":  # what commands read as they run (pydantic, HTTP) is most of what they would do
        unanswered = {"COSCHED_SERVER": "unix:/nonexistent"}
        with mock.patch.dict(os.environ, unanswered), redirect_stderr(io.StringIO()) as said:
            assert _run_command(["task", "list"]) == 2, said.getvalue()
    if name == "python" and kernel_cache.ready():  # else each planner compiles, and answers meanwhile
        from cosched.scheduling.search.genetic_search import warm_up

        warm_up()


def _serve(path: str, name: str) -> None:
    _prepare(name)
    run = _run_command if name == "cosched" else _run_module
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        waiting = select.poll()
        waiting.register(sys.stdin)
        waiting.register(listening, select.POLLIN)
        pairs: dict[int, _Pair] = {}  # by the descriptors of both
        while sys.stdin.fileno() not in (ready := dict(waiting.poll())):
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
                _be_the_program(caller, run)
            pair = _Pair(caller, pid, os.pidfd_open(pid))
            pairs[caller.fileno()] = pairs[pair.forked] = pair
            waiting.register(pair.forked, select.POLLIN)
            waiting.register(caller, 0)  # nothing but its end is of interest


class _Pair(NamedTuple):
    """A program, by its socket, and the process that was forked for it, by its pidfd: with one ends the other."""

    caller: socket.socket
    pid: int
    forked: int

    def end(self) -> None:
        signal.pidfd_send_signal(self.forked, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        with suppress(OSError):  # the program has ended
            self.caller.sendall(bytes([abs(os.waitstatus_to_exitcode(status))]))
        os.close(self.forked)
        self.caller.close()


def _be_the_program(caller: socket.socket, run: Callable[[list[str]], int]) -> None:
    code = 70
    gc.freeze()  # what was read before the fork lives to the end: to look through it would copy it
    try:
        _, given, _, _ = socket.recv_fds(caller, 1, 3)
        for standard, number in enumerate(given):
            os.dup2(number, standard)
            os.close(number)
        with caller.makefile("rb") as words:
            arguments, folder, environment = json.loads(words.readline())
        caller.close()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _run_command(arguments: list[str]) -> int:
    from cosched.cli.main import run

    return run(arguments)


def _run_module(arguments: list[str]) -> int:
    _, module, *rest = arguments
    sys.argv = [module, *rest]
    importlib.import_module(module).main()
    return 0


if __name__ == "__main__":
    _serve(*sys.argv[1:])
