"""Checks and texts of a launch that all connectors share: start at `check_launch`."""

from __future__ import annotations

import json
import math
import re
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cosched.connector.jobs import Launch, LaunchMode
from cosched.connector.values import NativeDescription, SafeValue, check_native_description, safe
from cosched.counts import number_text
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "check_attempt",
    "check_launch",
    "is_attempt",
    "launch_from_json",
    "launch_to_json",
    "process_environment",
    "shown_application",
    "shown_deadline",
]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_launch(launch: Launch) -> None:
    """Refuse a launch that no operating system or resource manager could carry as it is.

    Raises:
        UserError: the UUID, name, command, environment, deadline, hosts or count is not usable; the message says which
            and why.
    """
    check_attempt(launch.attempt)
    safe(launch.name, "the task's name")
    safe(launch.task, "the task's identifier")
    if not launch.command:
        raise UserError(f"task {launch.name!r} has an empty command: give a program to run")
    for argument in launch.command:
        _check_text(argument, f"an argument of task {launch.name!r}")
    for variable, value in launch.environment.items():
        if not _VARIABLE.match(variable):
            raise UserError(f"environment variable {variable!r}: use letters, digits and underscores only")
        _check_text(value, f"the environment variable {variable}")
    for argument in launch.prepare:
        _check_text(argument, f"the preparation of task {launch.name!r}")
    if launch.native is not None:
        check_native_description(launch.native)
    if launch.deadline is not None and not math.isfinite(launch.deadline):
        raise UserError(f"task {launch.name!r} has the deadline {launch.deadline}: give a time, or none")
    _check_hosts(launch)


def check_attempt(attempt: str) -> None:
    """Refuse an attempt identifier that is not a UUID in its usual form.

    Raises:
        UserError: it is something else.
    """
    if not is_attempt(attempt):
        raise UserError(f"attempt {attempt!r} is not a UUID: write it like {uuid.UUID(int=0)}")


def is_attempt(text: str) -> bool:
    """Return whether a text is a UUID in its usual form, as attempts have."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def process_environment(launch: Launch) -> dict[str, str]:
    """Return the variables that all processes of the launch see.

    COSCHED_RANK and COSCHED_HOST_FILE are added for each, and COSCHED_HOSTS where the manager chooses the hosts.
    """
    return {
        **launch.environment,
        "COSCHED_TASK": launch.task,
        "COSCHED_ATTEMPT": launch.attempt,
        "COSCHED_HOST_COUNT": str(launch.count),
        "COSCHED_HOSTS": ",".join(launch.hosts),
        "COSCHED_HOST_CLASSES": ",".join(launch.classes),
        **({"COSCHED_CORES": str(launch.cores)} if launch.cores else {}),
        **({"COSCHED_PROCESSES_PER_HOST": str(launch.processes_per_host)} if launch.processes_per_host > 1 else {}),
        **{f"COSCHED_PARAMETER_{name}": number_text(value) for name, value in launch.parameters.items()},
    }


def shown_deadline(launch: Launch) -> int | None:
    """Return the deadline for a job's attributes: whole epoch seconds, rounded down; None for none."""
    return None if launch.deadline is None else math.floor(launch.deadline)


def shown_application(launch: Launch) -> SafeValue:
    """Return the application for a job's attributes; empty where no manager could carry its name.

    An application is often named after its program, and a file may have any name: a job is not refused for that.
    """
    try:
        return safe(launch.application, "the application")
    except UserError:
        return SafeValue("")


def launch_to_json(launch: Launch) -> str:
    """Return a launch that was checked as text, to be written down."""
    return json.dumps(asdict(launch))


def launch_from_json(text: str) -> Launch:
    """Return the launch that `launch_to_json` wrote."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(text).items()
    }
    native = fields.pop("native", None)
    fields["launch"] = LaunchMode(fields.get("launch", LaunchMode.EACH))
    return Launch(**fields, native=None if native is None else NativeDescription(**native))


def _check_text(text: str, what: str) -> None:
    try:
        usable = b"\0" not in text.encode()
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise UserError(f"{what} contains NUL or half a surrogate pair, which no program can receive: {text[:80]!r}")


def _check_hosts(launch: Launch) -> None:
    twice = _first_repeated(launch.hosts)
    if twice is not None:
        raise UserError(f"task {launch.name!r} names host {twice} twice: name each host once")
    if launch.count < 1:
        raise UserError(f"task {launch.name!r} asks for {launch.count} processes: ask for at least one")
    if launch.hosts and launch.count != len(launch.hosts):
        raise UserError(
            f"task {launch.name!r} asks for {launch.count} processes on {len(launch.hosts)} hosts: one runs on each"
        )
    if launch.shared and launch.cores < 1:
        raise UserError(f"task {launch.name!r} shares hosts: say how many cores it takes of each")


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
