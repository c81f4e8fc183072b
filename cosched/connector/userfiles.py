"""Users' own submit files and batch scripts become tasks: start at `UserJob`.

The package of a connector that knows such files has a module `userfile` with `read(text, origin) -> list[UserJob]`.
It runs with the submitter's rights, on the command line's side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, cast

from cosched.connector.hosts import HostShare
from cosched.connector.registry import connector_points
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.values import NativeDescription

__all__ = [
    "UserFileOrigin",
    "UserFileReader",
    "UserJob",
    "array_places",
    "decode_user_file",
    "load_user_file_reader",
    "manager_of_user_file",
    "read_user_file",
]

_LARGEST_FILE = 4 << 20  # bytes, as sbatch has it
_BATCH_LINE = re.compile(r"#(SBATCH|COSCHED)\b")
_QUEUE_STATEMENT = re.compile(r"\s*queue\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UserFileOrigin:
    """Origin of a user's file.

    Attributes:
        folder: base of relative paths.
        environment: environment of the submitter; readers take from it only the variables that the file asks for.
        name: name of the file, for errors.
        trusted: False where the file came from elsewhere (an upload): nothing in it may reach files or run commands.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    name: str = "the file"
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class UserJob:
    """One task that a file asks for.

    Attributes:
        native: the job in its manager's words; hosts, times and names are taken out of it.
        command: its program, for people.
        name: for people; empty for the program's.
        hosts: their number: "4" or "2-8".
        directory: working directory of the job, absolute.
        environment: additions to its environment.
        time_limit: seconds after which the manager may end it.
        begin: time before which it may not start, as `cosched task submit --begin` takes it; empty: at once.
        needs: what it takes of each host; 0 for what it does not say.
        whole_hosts: whether it wants its hosts for itself.
        array: its index, and how many jobs of its array may run at once (0: all); None for a job by itself.
        requests: to cosched, by the names of the options of `cosched task submit`, in order.
        files: files and folders that must be there before it runs, absolute, each with the command that names it.
        remark: a line for who submits it, on what of the file nothing heeds; empty: there is nothing of the kind.
    """

    native: NativeDescription
    command: tuple[str, ...]
    name: str = ""
    hosts: str = ""
    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    time_limit: float | None = None
    begin: str = ""
    needs: HostShare = field(default_factory=HostShare)
    whole_hosts: bool = False
    array: tuple[int, int] | None = None
    requests: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    remark: str = ""

    @property
    def after(self) -> tuple[str, ...]:
        """Identifiers of the tasks that the file wants it to come after."""
        return tuple(
            task for name, value in self.requests if name == "after" for task in re.split(r"[\s,]+", value) if task
        )


def array_places(jobs: Sequence[UserJob]) -> list[tuple[int | None, int]]:
    """Return each job's index in its file's array, and the array's limit.

    A single job is of no array: its index is None. 0 stands for no limit.
    """
    if len(jobs) == 1:
        return [(None, 0)]
    return [job.array or (place, 0) for place, job in enumerate(jobs)]


UserFileReader = Callable[[str, UserFileOrigin], list[UserJob]]


def load_user_file_reader(manager: str) -> UserFileReader:
    """Return the reader for a manager's files.

    Raises:
        UserError: there is none, or the package that it needs is not installed.
    """
    points = [point for point in connector_points() if point.name == manager]
    if not points:
        raise UserError(f"no connector reads files of {manager!r}: give a submit file or a batch script")
    try:
        return cast("UserFileReader", import_module(f"{points[0].module}.userfile").read)
    except ImportError as error:
        raise UserError(
            f"a file of {manager!r} needs a package that is not installed ({error}): pip install 'cosched[{manager}]'"
        ) from error


def read_user_file(path: Path) -> str:
    """Return the text of a user's file.

    Raises:
        UserError: it cannot be read, is too large, or is not text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    return decode_user_file(content, path.name)


def decode_user_file(content: bytes, name: str) -> str:
    """Return the text of a file's content.

    Raises:
        UserError: it is too large, or is not text.
    """
    if len(content) > _LARGEST_FILE:
        raise UserError(f"{name} has more than {_LARGEST_FILE >> 20} MiB: a submit file or batch script is smaller")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    if "\0" in text:
        raise UserError(f"{name} contains a zero byte: it is not a text file")
    if text.startswith("\ufeff"):
        raise UserError(f"{name} begins with a byte order mark: save it as UTF-8 without one")
    return text


def manager_of_user_file(text: str, name: str) -> str:
    """Return the manager that a file is written for: "slurm" or "condor".

    A script is Slurm's, and a file with a `queue` statement HTCondor's.

    Raises:
        UserError: neither.
    """
    if text.startswith("#!") or any(_BATCH_LINE.match(line) for line in text.splitlines()):
        return "slurm"
    if any(_QUEUE_STATEMENT.match(line) for line in text.splitlines()):
        return "condor"
    raise UserError(
        f"{name} is neither a batch script (its first line begins with #!) nor a submit file (it has no "
        "`queue` statement): give one of the two"
    )
