"""From a launch to HTCondor's submit language."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cosched.connector import SafeValue, safe
from cosched.resources import templates
from cosched_condor.eventlog import note

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_condor.attempts import Attempts
    from cosched_condor.settings import CondorSettings

__all__ = ["describe"]


def describe(launch: Launch, settings: CondorSettings, attempts: Attempts) -> tuple[str, list[dict[str, str]]]:
    """Return the submit description of a launch and the item of each of its processes (none when unpinned).

    Raises:
        UserError: a value cannot be carried safely.
    """
    folder = attempts.folder(launch.attempt)
    values: dict[str, SafeValue | int | bool] = {
        "script": _path(folder / "run.sh", "the spool"),
        "folder": _path(folder, "the spool"),
        "log": _path(attempts.log, "the spool"),
        "directory": safe(launch.directory, "the working directory")
        if launch.directory
        else _path(folder, "the spool"),
        "note": safe(note(launch.attempt, launch.count), "the attempt"),
        "attempt": safe(launch.attempt, "the attempt"),
        "name": safe(launch.name, "the task's name"),
        "task": safe(launch.task, "the task's identifier"),
        "count": launch.count,
        "pinned": bool(launch.hosts),
        "job_lease": settings.job_lease,
        "keep_claim": settings.keep_claim,
        "time_limit": 0 if launch.time_limit is None else math.ceil(launch.time_limit),
    }
    environment = Environment(
        loader=FileSystemLoader(templates() / "condor"), undefined=StrictUndefined, finalize=_checked,
        autoescape=False, keep_trailing_newline=True,  # noqa: S701  not HTML; `_checked` lets only safe values through
    )  # fmt: skip
    items = [{"CoschedHost": str(safe(host, "a host's name"))} for host in launch.hosts]
    return environment.get_template("vanilla.sub").render(values), items


def _path(path: Path, what: str) -> SafeValue:
    return safe(str(path), what)


def _checked(value: object) -> object:
    """Let a template print nothing that was not checked."""
    if not isinstance(value, SafeValue | int):
        raise TypeError(f"a template of HTCondor prints {value!r}, which was not checked")
    return value
