"""The command `cosched` at once: forked from a process that has read its modules, with all that a process is given.

For tests that run it hundreds of times; what it does at its start is tested with real processes elsewhere.
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
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["quick_command"]

_NOUNS = ("account", "audit", "config", "domain", "host", "library", "model", "peer", "plan", "portal", "task", "token")
_MODULES = ("cosched.client", "cosched.daemon.config", *(f"cosched.cli.{noun}" for noun in _NOUNS))

# It gives its arguments, folder, environment, input and outputs away, and ends with the exit code that comes back.
_CALLER = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [b" "], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    code = server.recv(1)
sys.exit(code[0] if code else "cosched died")
"""


@contextmanager
def quick_command(folder: Path) -> Iterator[Path]:
    """Make a program in a folder that does what `cosched` does, as long as the context lasts."""
    path, program = folder / "socket", folder / "cosched"
    program.write_text(_CALLER.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.testbed.quick_command", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield program  # the server ends with its input


def _serve(path: str) -> None:
    for module in _MODULES:
        importlib.import_module(module)
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
                _be_the_command(caller)
            caller.close()


def _be_the_command(caller: socket.socket) -> None:
    from cosched.cli.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 70
    try:
        _, given, _, _ = socket.recv_fds(caller, 1, 3)
        for standard, number in enumerate(given):
            os.dup2(number, standard)
            os.close(number)
        with caller.makefile("rb") as words:
            arguments, folder, environment = json.load(words)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        caller.sendall(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
