"""Starting the runner of an attempt."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector.attempts import prepared_command
from cosched.connector.launches import environment
from cosched_local import runner

if TYPE_CHECKING:
    from cosched.connector import Launch

__all__ = ["reap", "start_runner"]

# What a job gets of the daemon's own environment; the rest may hold the daemon's secrets.
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_NO_LIMIT = "inf"
# Children belong to the process, not to the connector object that started them: another may be closed before they end.
_children: set[int] = set()


def start_runner(launch: Launch, folder: Path, grace: float) -> int:
    """Start the runner in a session of its own and return its pid.

    Raises:
        OSError: the machine cannot start one more process, or the command is longer than it takes (E2BIG).
    """
    limit = _NO_LIMIT if launch.time_limit is None else str(launch.time_limit)
    marks = shlex.quote(str(folder))
    command = ("/bin/sh", "-c", prepared_command(launch, marks)) if launch.prepare else launch.command
    arguments = [
        sys.executable,
        "-I",
        "-S",
        str(Path(runner.__file__)),
        str(folder),
        launch.directory or str(folder),
        str(launch.count),
        limit,
        str(grace),
        *command,
    ]
    variables = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    log = (os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = os.posix_spawn(
        sys.executable,
        arguments,
        {**variables, **environment(launch)},
        setsid=True,
        setsigmask=(),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "runner.log"), *log),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    _children.add(pid)
    return pid


def reap() -> None:
    """Take note of runners of this process that have ended, so that they do not stay as zombies."""
    for pid in list(_children):
        try:
            gone = os.waitpid(pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:  # somebody else in this process waited for it, or it was started before a fork
            gone = True
        if gone:
            _children.discard(pid)
