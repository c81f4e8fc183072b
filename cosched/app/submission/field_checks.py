"""Field checks find faults in a field of a request that hold in every domain.

A new field of a task has its check here. All raise `UserError`, which says what would be accepted.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.api.command_names import command_name
from cosched.connector.values import check_native_description, safe
from cosched.durations import parse_duration
from cosched.errors import UserError
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched.sizes import parse_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.api.documents import TaskRequest
    from cosched.coscheduler.task import TaskSpec

__all__ = [
    "check_fields",
    "check_length",
    "checked_array_limit",
    "checked_command",
    "checked_environment",
    "checked_name",
    "checked_path",
    "checked_predecessors",
    "checked_priority",
    "checked_program",
    "checked_retries",
    "checked_time_limit",
    "name_of_command",
    "observed_parameters",
    "with_needs_per_host",
]

_LONGEST_NAME = 200
_LONGEST_TASK = 1 << 20  # bytes of command, environment, model, script and so on together
_MOST_PREDECESSORS = 100
_MOST_PROCESSES_PER_HOST = 1024
_MOST_RETRIES = 100
_LARGEST_INDEX = 1 << 30
_LARGEST_PRIORITY = 1_000_000
_MOST_FILES = 64
_LARGEST_FILE = 1 << 60
_MOST_BYTES = 128 * 1024  # what one argument may have on Linux; a command of many is bounded by the task's length
_DASK_INTERFACE = "COSCHED_DASK_INTERFACE"  # users' own to set: cosched.dask.worker reads it in the job
_NOT_IN_NAMES = re.compile(r"[^\w .,:=@+-]|^-")
_INVISIBLE = ("Cc", "Cf", "Zl", "Zp")  # control and format characters, separators of lines and paragraphs
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DIGEST = re.compile(r"[A-Za-z0-9]{0,64}", re.ASCII)


def check_fields(request: TaskRequest, connector: str) -> None:
    """Refuse a request with a field that cannot be.

    Args:
        request: what is asked for.
        connector: name of the domain's connector, for which a file of the user's own must be written.
    """
    if request.application and request.command and request.native is None:
        raise UserError("give an application or a command, not both")
    _check_native(request, connector)
    _check_launch(request)
    checked_retries(request.retries)
    _check_files(request)
    checked_priority(request.priority)
    if request.array_index is not None and not 0 <= request.array_index <= _LARGEST_INDEX:
        raise UserError(f"the index is {request.array_index}: give a number from 0 to {_LARGEST_INDEX}")
    checked_array_limit(request.array_at_most)
    if request.array_at_most and request.array_index is None:
        raise UserError("array_at_most goes with array_index: only of an array a part may run at once")


def with_needs_per_host(request: TaskRequest) -> TaskRequest:
    """Return a request with the needs of all processes on a host in place of those of each.

    Raises:
        UserError: one is below 0 or cannot be read, or the same is said for each host as well.
    """
    processes, needs = request.processes_per_host, dict[str, Any]()
    for name in ("memory", "cores", "gpus"):
        each = getattr(request, f"{name}_per_process")
        if not each:
            continue
        if getattr(request, name):
            raise UserError(f"its {name} and its {name} for each process both say what it needs: give one of them")
        size = parse_memory(each) if name == "memory" else each
        if size < 0:
            raise UserError(f"{name}_per_process is {size}: give a number from 0 on")
        needs[name] = size * processes
    return replace(request, **needs)


def _check_native(request: TaskRequest, connector: str) -> None:
    native = request.native
    if native is None:
        return
    if native.manager != connector:
        raise UserError(
            f"the file is written for {native.manager!r}, and this domain's resource manager is "
            f"{connector!r}: submit it where {native.manager!r} runs"
        )
    if request.stdin:
        raise UserError("a file of the user's own says itself what its program reads: leave stdin out")
    if request.prepare:
        raise UserError("a task from a file of the user's own has no preparation beside it: put it into the file")
    check_native_description(native)


def _check_launch(request: TaskRequest) -> None:
    if request.native is not None and request.launch.once:
        raise UserError("a file of the user's own says itself how its program is launched: leave launch and mpi out")
    if not 1 <= request.processes_per_host <= _MOST_PROCESSES_PER_HOST:
        raise UserError(
            f"processes per host is {request.processes_per_host}: give a number from 1 to {_MOST_PROCESSES_PER_HOST}"
        )
    if request.processes_per_host > 1 and not request.launch.once:
        raise UserError(
            "the command runs once on each host: for several processes there have it launched by MPI "
            '(launch "openmpi", "mpich" or "intel"; in commands --mpi) or once, on the first host (launch "once")'
        )


def checked_retries(retries: int) -> int:
    """Return how many more times a task is run where it fails.

    Raises:
        UserError: it is out of bounds.
    """
    if not 0 <= retries <= _MOST_RETRIES:
        raise UserError(f"retries is {retries}: give a number from 0 to {_MOST_RETRIES}")
    return retries


def _check_files(request: TaskRequest) -> None:
    sizes = request.file_sizes
    if len(sizes) > _MOST_FILES:
        raise UserError(f"file_sizes names {len(sizes)} files: give at most {_MOST_FILES}")
    for name, size in sizes.items():
        if not name or not 0 <= size <= _LARGEST_FILE:
            raise UserError(f"file_sizes says {size} of {name[:80]!r}: give a name, and its bytes from 0 on")
    if not _DIGEST.fullmatch(request.program_digest):
        raise UserError("program_digest is no digest: give at most 64 letters and digits")


def checked_priority(priority: int) -> int:
    """Return the priority of a task.

    Raises:
        UserError: it is out of bounds.
    """
    if abs(priority) > _LARGEST_PRIORITY:
        raise UserError(f"the priority is {priority}: give a number from -{_LARGEST_PRIORITY} to {_LARGEST_PRIORITY}")
    return priority


def checked_array_limit(most: int) -> int:
    """Return how many tasks of an array may run at once, 0 for all.

    Raises:
        UserError: it is out of bounds.
    """
    if not 0 <= most <= _LARGEST_INDEX:
        raise UserError(f"array_at_most is {most}: give how many of the array may run at once, or 0 for all")
    return most


def check_length(spec: TaskSpec) -> None:
    """Refuse a task with too much text."""
    length = spec.text_bytes
    if length > _LONGEST_TASK:
        raise UserError(
            f"the task has {length} bytes of text: at most {_LONGEST_TASK} are allowed; keep what is long in files "
            "that its hosts can read"
        )


def checked_name(name: str) -> str:
    """Return the name of a task.

    Raises:
        UserError: it is too long, or could break a line.
    """
    if len(name) > _LONGEST_NAME:
        raise UserError(f"the task name has {len(name)} characters: at most {_LONGEST_NAME} are allowed")
    return str(safe(name, "the task name"))


def checked_program(program: str) -> str:
    """Return the path of a command's program.

    Raises:
        UserError: it is not absolute, or has characters that nobody sees, which lists and logs would show.
    """
    if not program.startswith("/") or program.endswith("/"):
        raise UserError(f"the command starts with {program[:80]!r}: give the program's absolute path")
    for character in program:
        if unicodedata.category(character) in _INVISIBLE:
            raise UserError(f"the program's path {program[:80]!r} contains {character!r}: give it another name")
    return program


def name_of_command(command: tuple[str, ...]) -> str:
    """Return the name of a task that was given none: its command's, with '_' for what no task's name may have."""
    return _NOT_IN_NAMES.sub("_", command_name(command))[:_LONGEST_NAME]


def checked_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command that a system can start."""
    for argument in command:
        if "\0" in argument:
            raise UserError(f"the argument {argument[:80]!r} contains a zero byte: leave it out")
        if len(_encoded(argument)) >= _MOST_BYTES:
            raise UserError(f"the argument {argument[:40]!r}… has more than {_MOST_BYTES} bytes: put it into a file")
    return tuple(command)


def checked_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return additions to the environment that leave cosched's own variables alone."""
    for name, value in environment.items():
        if not _VARIABLE.fullmatch(name):
            raise UserError(f"{name[:80]!r} cannot name an environment variable: use letters, digits and '_'")
        if name == SHIM_VARIABLE:  # a program that is to be watched
            checked_path(value, f"value of {SHIM_VARIABLE}")
        elif name.startswith("COSCHED_") and name != _DASK_INTERFACE:
            raise UserError(f"the environment variable {name} is set by cosched itself: choose another name")
        if "\0" in value or len(_encoded(value)) >= _MOST_BYTES:
            raise UserError(f"the environment variable {name} has a zero byte or is too long: shorten it")
    return dict(environment)


def observed_parameters(given: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return what decides how long an observed command runs: numbers, by names that a model can have.

    Raises:
        UserError: one is something else.
    """
    found: dict[str, float | str] = {}
    for name, value in given.items():
        if not _VARIABLE.fullmatch(name):
            raise UserError(f"{name[:80]!r} cannot name a parameter: use letters, digits and '_'")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise UserError(f"{name} is {str(value)[:80]!r}: an observed command's parameters are numbers") from error
        if not math.isfinite(float(value)):
            raise UserError(f"{name} is {str(value)[:80]!r}: an observed command's parameters are numbers")
    return found


def checked_path(path: str, what: str) -> str:
    """Return an absolute path, or the empty text."""
    if path and (not path.startswith("/") or "\0" in path):
        raise UserError(f"the {what} {path[:80]!r} is not an absolute path: write it from / on")
    return str(safe(path, f"the {what}"))


def checked_predecessors(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that a task comes after, each once."""
    if len(names) > _MOST_PREDECESSORS:
        raise UserError(f"the task comes after {len(names)} others: at most {_MOST_PREDECESSORS} are allowed")
    return tuple(dict.fromkeys(names))


def checked_time_limit(given: float | str | None) -> float | None:
    """Return a time limit in seconds."""
    if given is None:
        return None
    limit = parse_duration(given, "the time limit")
    if limit <= 0:
        raise UserError("the time limit is 0: give the seconds after which the task may be ended, or leave it out")
    return limit


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{text[:80]!r} contains half of a surrogate pair: leave it out") from error
