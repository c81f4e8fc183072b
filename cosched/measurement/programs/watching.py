"""A task's program is watched by a library in a folder that its hosts can see.

`watched_command` begins the program; what the library writes is read by `collecting.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BEGUN",
    "BEGUN_VARIABLE",
    "LIBRARY",
    "PROCESS_VARIABLE",
    "SHIM_VARIABLE",
    "STARTED_LINE",
    "STARTED_VARIABLE",
    "TIMES_VARIABLE",
    "watched_command",
]

SHIM_VARIABLE = "COSCHED_OBSERVED"
"""Environment variable: the folder that processes write what was seen into."""

TIMES_VARIABLE = "COSCHED_OBSERVED_TIMES"
"""Environment variable: where it is there, calls are not noted."""

PROCESS_VARIABLE = "COSCHED_OBSERVED_PROCESS"
"""Environment variable: the number of the process that a task has started, with room for when it began."""

LIBRARY = "watch.so"
"""Name of the library in the folder."""

STARTED_VARIABLE = "COSCHED_STARTED"
"""Environment variable: when a task's launcher was started, in seconds since the epoch."""

BEGUN_VARIABLE = "COSCHED_BEGUN"
"""Environment variable: when a process began."""

BEGUN = "begun"
"""Beginning of the names of the files in which each process of a task leaves its command and what cosched told it."""

STARTED_LINE = f'export {STARTED_VARIABLE}="$(date +%s.%N 2> /dev/null)"\n'
"""Line of a shell before the launcher of a program that is watched."""

_ROOM = " " * 64
# Where anything of it fails, the program runs unwatched. `exec`: signals and exit code are the program's own.
_SCRIPT = f"""\
all=${SHIM_VARIABLE} own=${SHIM_VARIABLE}/$COSCHED_TASK.$COSCHED_ATTEMPT
unset {SHIM_VARIABLE}
export {BEGUN_VARIABLE}="$(date +%s.%N 2> /dev/null)"
if [ -r "$all/{LIBRARY}" ] && (
    PATH=$PATH:/usr/bin:/bin
    mkdir -p "$own" && (printf '%s\\0' "$#" "$@"; env -0 | grep -z ^COSCHED_) > "$own/{BEGUN}.$COSCHED_RANK.$$"
) 2> /dev/null; then
    export {SHIM_VARIABLE}="$own" {PROCESS_VARIABLE}="$$ {_ROOM}"
    export LD_PRELOAD="$all/{LIBRARY}${{LD_PRELOAD:+:$LD_PRELOAD}}"
fi
exec "$@\""""


def watched_command(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command that watches a program and becomes it.

    The folder is that of `SHIM_VARIABLE`; each attempt at a task gets a folder of its own there.
    """
    return "/bin/sh", "-c", _SCRIPT, "cosched", *command
