"""From the words of `cosched task submit` to a request."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.cli.deadline import read_deadline
from cosched.errors import UserError
from cosched.portal.documents import TaskRequest
from cosched.service.duration import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["pair", "request_of"]


def request_of(
    application: str,
    command: Sequence[str],
    *,
    now: float,
    deadline: str = "",
    settings: Iterable[str] = (),
    hosts: str = "",
    profile: str = "",
    name: str = "",
    directory: str = "",
    environment: Iterable[str] = (),
    time_limit: str = "",
    best_effort: bool = False,
    prepare: str = "",
    notify: Iterable[str] = (),
    after: Iterable[str] = (),
) -> tuple[TaskRequest, str]:
    """Return the request, and what was assumed about its deadline (empty for nothing).

    Args:
        application: name in the catalogue, or empty.
        command: program and arguments; the program is looked up like a shell does, here and now.
        now: seconds since the epoch.
        deadline: as typed; empty for none.
        settings: parameters, NAME=VALUE.
        hosts: a number or a range; empty for any.
        profile: seconds on 1, 2, … hosts, separated by commas, `-` where that count cannot be used.
        name: for people.
        directory: where it runs; a relative one starts here.
        environment: additions, NAME=VALUE.
        time_limit: a duration; empty for none.
        best_effort: accept also if the deadline cannot be met.
        prepare: a command line that runs on each host before the task, split into words as a shell does.
        notify: mailto:… and https://… addresses; a bare mail address is one, too.
        after: identifiers of tasks that must have completed first.

    Raises:
        UserError: a word cannot be read; says how to write it.
    """
    if bool(application) == bool(command):
        raise UserError(
            "name an application of the catalogue, or put a command after --: "
            "`cosched task submit -- /path/program argument`"
        )
    seconds, note = read_deadline(deadline, now) if deadline else (None, "")
    where = directory or ("." if command else "")
    request = TaskRequest(
        application=application,
        command=(_program(command[0]), *command[1:]) if command else (),
        parameters=dict(pair(word, "--set") for word in settings),
        deadline=seconds,
        hosts=hosts or None,
        profile=tuple(map(_figure, profile.split(","))) if profile else None,
        name=name,
        environment=dict(pair(word, "--env") for word in environment),
        directory=str(Path(where).absolute()) if where else "",
        best_effort=best_effort,
        prepare=_words(prepare) if prepare else (),
        notify=tuple(word if ":" in word else f"mailto:{word}" for word in notify),
        after=tuple(after),
        time_limit=parse_duration(time_limit) if time_limit else None,
    )
    return request, note


def _words(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"--prepare {text!r} cannot be split into words ({error}): close its quotes") from error
    if not words:
        raise UserError("--prepare is empty: give a program, or leave it out")
    return (_program(words[0]), *words[1:])


def _program(word: str) -> str:
    found = shutil.which(word)
    if found is None:
        raise UserError(f"there is no program {word!r} here: give its path, or correct PATH")
    return str(Path(found).absolute())


def pair(word: str, option: str) -> tuple[str, str]:
    """Return the two halves of NAME=VALUE.

    Args:
        word: as typed.
        option: where it stands, for the error.

    Raises:
        UserError: it is something else.
    """
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise UserError(f"{option} {word!r} is not NAME=VALUE")
    return name, value


def _figure(word: str) -> float | None:
    if word.strip() == "-":
        return None
    try:
        return float(word)
    except ValueError as error:
        raise UserError(
            f"--profile has {word!r}: write seconds on 1, 2, … hosts, such as 50,40,30, "
            "and - for a count that cannot be used"
        ) from error
