"""A process of its own interprets a user's submit file.

It takes the text and returns the tasks, one JSON document each way.

Reading a submit file can run commands and read files (`include command : …`, `queue … from command |`). So it happens
never in the daemon but here, with the submitter's rights, little time, memory and environment and, where the machine
allows it, no network. `cosched_condor.userfile` starts it as a file of its own: it imports nothing of cosched.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main"]

_CPU_SECONDS = 20
_MEMORY = 2 << 30  # bytes of address space
_FILE = 16 << 20  # bytes of any file that is written
_MOST_TASKS = 10_000
_COUNT = "cosched_count"  # a command of our own, through which the number of jobs is expanded
_SEVERAL = re.compile(r"\b(in|from|matching)\b", re.IGNORECASE)
# What is known only when the job is there, or on its host: kept as it is for HTCondor to fill in.
_LATE_MACROS = {"Cluster": "ClusterId", "ClusterId": "ClusterId", "Node": "Node"}
_PARALLEL_MACROS = {"Process": "ProcId", "ProcId": "ProcId"}
# Commands that stay among a task's own also where a variable of the queue statement has the same name.
_COMMANDS = (
    "executable",
    "arguments",
    "input",
    "output",
    "error",
    "initialdir",
    "environment",
    "transfer_input_files",
    "request_cpus",
    "request_memory",
    "request_disk",
    "request_gpus",
)


class _SubmitFileError(Exception):
    """The file cannot be taken; the message says why."""


def _confine() -> None:
    """Limit this process's time, memory and files, as far as they are not less already."""
    for limit, most in (
        (resource.RLIMIT_CPU, _CPU_SECONDS),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (value, value))


def _placeholder(name: str) -> str:
    return f"@cosched:{name}@"


def _expanded(submit: Any, later: dict[str, str]) -> dict[str, str]:
    """Return all commands with their macros filled in; the macros of `later` stay for HTCondor."""
    for name, meant in later.items():
        submit[name] = _placeholder(meant)
    found = {}
    for key in list(submit.keys()):
        if key not in later and key != _COUNT:  # a key cannot be taken out again
            value = str(submit.expand(key))
            for meant in later.values():
                value = value.replace(_placeholder(meant), f"$({meant})")
            found[key] = value
    return found


def _items(submit: Any) -> list[dict[str, str]]:
    """Return the variables of each job that the queue statement asks for."""
    arguments = str(submit.getQArgs()).strip()
    if not _SEVERAL.search(arguments):
        return [{}] * _count(submit, arguments or "1")
    first = arguments.split(None, 1)[0]
    times = _count(submit, first) if first[0].isdigit() or first.startswith("$(") else 1
    found: list[dict[str, str]] = []
    for item in submit.itemdata() or ():
        found += [dict(item)] * times
        if len(found) > _MOST_TASKS:
            raise _SubmitFileError(f"it queues more than {_MOST_TASKS} jobs: split it")
    if not found:
        raise _SubmitFileError("its queue statement finds nothing to queue")
    return found


def _count(submit: Any, text: str) -> int:
    """Return a number of jobs, its macros filled in."""
    submit[_COUNT] = text
    value = str(submit.expand(_COUNT)).strip()
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_TASKS:
        raise _SubmitFileError(f"it queues {value or 'nothing'}: ask for 1 to {_MOST_TASKS} jobs")
    return int(value)


def _tasks(text: str) -> Iterator[dict[str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no configuration here, and none is needed
        import htcondor2
    submit = htcondor2.Submit(text)
    items = _items(submit)
    commands = {key.lower(): value for key, value in submit.items()}
    parallel = commands.get("universe", "").strip().lower() in ("parallel", "mpi", "10", "11")
    gang = parallel or "my.coschedhosts" in commands or "cosched_hosts" in commands
    if gang and len(items) > 1 and any(items):
        raise _SubmitFileError(
            "a task on several hosts (+CoschedHosts, universe = parallel) takes `queue` or `queue N`"
        )
    if gang:
        yield {**_expanded(submit, {**_LATE_MACROS, **_PARALLEL_MACROS}), "cosched.queued": str(len(items))}
        return
    for number, item in enumerate(items):
        submit.update({"Process": str(number), "ProcId": str(number), "ItemIndex": str(number), **item})
        found = _expanded(submit, _LATE_MACROS)
        yield {
            key: value
            for key, value in found.items()
            if key not in ("Process", "ProcId", "ItemIndex", *item) or key.lower() in _COMMANDS
        }


def main() -> None:
    """Read a submit file from the standard input and print its tasks, or its fault."""
    _confine()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what commands and the library print must not get in between
    text = sys.stdin.read()
    with open(os.devnull) as nothing:  # noqa: PTH123  commands of the file read nothing of ours
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    try:
        answer: dict[str, object] = {"tasks": list(_tasks(text))}
    except Exception as error:  # the library raises many kinds; all of them are about the file
        answer = {"error": " ".join(str(error).split()) or type(error).__name__}
    json.dump(answer, answers)
    answers.close()


if __name__ == "__main__":
    main()
