"""Programs at once: what stands for them gives all that it was given to a process that is forked (`fork_server`).

`quick_command` is the command `cosched`, `quick_popen` forks the daemon's helpers; `stand_in` makes such programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.testbed.forked.server import HELPERS, fork_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["quick_command", "quick_popen", "quick_python", "stand_in"]

# It gives its arguments, folder, environment, input and outputs away, and ends with the exit code that comes back.
# Hundreds of them start: what `socket` and `json` read would be more than half of what each takes.
_CALLER = """#!{python} -IS
import _socket, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({path!r})
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([b" "], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(marshal.dumps([{what!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]))
said = server.recv(8, _socket.MSG_WAITALL)
sys.exit(abs(int.from_bytes(said[4:], "little", signed=True)) if len(said) == 8 else "cosched died")
"""


def quick_command(folder: Path) -> Path:
    """Make a program in a folder that does what `cosched` does, and return it."""
    return stand_in(folder, "cosched", fork_server())


def quick_popen(python: str) -> type[subprocess.Popen[Any]]:
    """Return a class like `subprocess.Popen` that forks the daemon's helpers and starts all other programs.

    Args:
        python: a program that `quick_python` returned.
    """

    class QuickPopen(subprocess.Popen[Any]):
        def __init__(self, command: Sequence[str], **options: Any) -> None:
            if command[0] == sys.executable and HELPERS.intersection(command):
                module = next(place for place, word in enumerate(command) if word in HELPERS)
                command = [python, "-m", *command[module:]]  # without options: they are for one that reads modules
            super().__init__(command, **options)

    return QuickPopen


@cache
def quick_python() -> Path:
    """Return a program that is `python -m` for helpers of the daemon.

    What is forked ends with the program that stands for it, as if they were one process.
    """
    return stand_in(fork_server().parent, "python", fork_server())


def stand_in(folder: Path, what: str, server: Path) -> Path:
    """Return a program in a folder that has itself forked by a server: its kind `what`."""
    program = folder / what
    if not program.exists():
        text = _CALLER.format(python=sys.executable, path=str(server), what=what)
        written = folder / f"{what}.{os.getpid()}"
        written.write_text(text)
        written.chmod(0o755)
        written.replace(program)  # other workers may run it
    return program
