"""`cosched task submit --file`: from a user's own file to requests. What the command line says wins over the file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.cli.request import request_of
from cosched.connector.userfiles import Place, load, manager_of, read_text
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.connector.userfiles import UserJob
    from cosched.portal.documents import TaskRequest

__all__ = ["requests_of"]


def requests_of(path: Path, *, now: float, options: Mapping[str, Any]) -> tuple[list[TaskRequest], str]:
    """Return the tasks that a file asks for, and what was assumed about their deadline (empty for nothing).

    Args:
        path: the file.
        now: seconds since the epoch.
        options: those of `cosched task submit`, as `request_of` takes them.

    Raises:
        UserError: the file or an option is at fault.
    """
    text = read_text(path)
    if options.get("prepare"):
        raise UserError("--prepare goes with an application or a command: put it into the file")
    place = Place(Path.cwd(), dict(os.environ), path.name)
    jobs = load(manager_of(text, path.name))(text, place)
    made = [_request(job, now, options) for job in jobs]
    return [request for request, _ in made], made[0][1]


def _request(job: UserJob, now: float, options: Mapping[str, Any]) -> tuple[TaskRequest, str]:
    wishes = dict(job.wishes)
    settings = [value for name, value in job.wishes if name == "set"]
    chosen = {
        "deadline": options.get("deadline") or wishes.get("deadline", ""),
        "hosts": options.get("hosts") or wishes.get("hosts", "") or job.hosts,
        "profile": options.get("profile") or wishes.get("profile", ""),
        "name": options.get("name") or wishes.get("name", "") or job.name,
        "directory": options.get("directory") or job.directory,
        "environment": [*(f"{key}={value}" for key, value in job.environment.items()), *_words(options, "environment")],
        "settings": [*settings, *_words(options, "settings")],
        "time_limit": options.get("time_limit", ""),
        "after": dict.fromkeys([*job.after, *_words(options, "after")]),
        "notify": _words(options, "notify"),
        "best_effort": bool(options.get("best_effort")) or "best-effort" in wishes,
    }
    application = str(options.get("application") or wishes.get("application", ""))
    request, note = request_of(application, () if application else ("/bin/true",), now=now, **chosen)
    limit = request.time_limit if chosen["time_limit"] else job.time_limit
    return replace(request, command=job.command, native=job.native, time_limit=limit), note


def _words(options: Mapping[str, Any], name: str) -> Iterable[str]:
    return options.get(name) or ()
