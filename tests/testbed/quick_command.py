"""Programs at once: forked from a process that has read their modules, with all that a process is given.

`quick_command` is the command `cosched`, `quick_modules` is `python -m` of the daemon's helpers. For tests that run
them hundreds of times; what they do at their start is tested with real processes elsewhere.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["MODULES", "quick_command", "quick_modules"]

_NOUNS = ("account", "audit", "config", "domain", "host", "library", "model", "peer", "plan", "portal", "task", "token")
_COMMAND = ("cosched.client", "cosched.daemon.config", *(f"cosched.cli.{noun}" for noun in _NOUNS))
MODULES = ("cosched.daemon.planner", "cosched.daemon.predictors", "cosched.daemon.advising")
"""Modules that `quick_modules` runs."""

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


def quick_modules(folder: Path) -> AbstractContextManager[Path]:
    """Make a program that does what `python` does with `-m`, one of `MODULES` and its arguments.

    What is forked ends with the program that stands for it, as if they were one process.
    """
    return _program(folder, "python")


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
    for module in _COMMAND if name == "cosched" else MODULES:
        importlib.import_module(module)
    if name == "python" and kernel_cache.ready():  # else each planner compiles, and answers meanwhile
        from cosched.scheduling.search.genetic_search import warm_up

        warm_up()


def _serve(path: str, name: str) -> None:
    _prepare(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for commands here: they answer for themselves
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as selector:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        selector.register(listening, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while not any(key.fileobj is sys.stdin for key, _ in selector.select()):
            caller, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _be_the_program(caller, _run_command if name == "cosched" else _run_module)
            caller.close()


def _be_the_program(caller: socket.socket, run: Callable[[list[str], socket.socket], int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 70
    try:
        _, given, _, _ = socket.recv_fds(caller, 1, 3)
        for standard, number in enumerate(given):
            os.dup2(number, standard)
            os.close(number)
        with caller.makefile("rb") as words:
            arguments, folder, environment = json.loads(words.readline())
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = run(arguments, caller)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        caller.sendall(bytes([code]))
        os._exit(code)


def _run_command(arguments: list[str], _caller: socket.socket) -> int:
    from cosched.cli.main import run

    return run(arguments)


def _run_module(arguments: list[str], caller: socket.socket) -> int:
    def end_with_the_caller() -> None:
        caller.recv(1)
        os._exit(1)

    threading.Thread(target=end_with_the_caller, daemon=True).start()
    _, module, *rest = arguments
    sys.argv = [module, *rest]
    importlib.import_module(module).main()
    return 0


if __name__ == "__main__":
    _serve(*sys.argv[1:])
