"""From an uploaded submit file or batch script to requests. What the form says wins over the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector.userfiles import Place, load, manager_of
from cosched.portal.pages.forms import read_profile, read_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from cosched.connector.userfiles import UserJob
    from cosched.portal.documents import TaskRequest

__all__ = ["requests_of"]

_NOWHERE = Path("/")


def requests_of(text: str, name: str, fields: Mapping[str, str], zone: tzinfo | None) -> list[TaskRequest]:
    """Return the tasks that a file asks for.

    Nothing in it may reach files or run commands here: it comes from somebody else's machine.

    Args:
        text: of the file.
        name: of the file, for errors.
        fields: of the form.
        zone: of whoever submits.

    Raises:
        UserError: the file or a field is at fault.
    """
    place = Place(_NOWHERE, {}, Path(name or "the file").name, trusted=False)
    form = read_request({**fields, "application": "", "command": ""}, zone)
    return [_request(job, form) for job in load(manager_of(text, place.name))(text, place)]


def _request(job: UserJob, form: TaskRequest) -> TaskRequest:
    wishes = dict(job.wishes)
    settings = (value.partition("=") for name, value in job.wishes if name == "set")
    return replace(
        form,
        application=wishes.get("application", ""),
        command=job.command,
        native=job.native,
        parameters={key.strip(): value for key, _, value in settings},
        deadline=form.deadline if form.deadline is not None else wishes.get("deadline") or None,
        hosts=form.hosts or wishes.get("hosts") or job.hosts or None,
        profile=form.profile or read_profile(wishes.get("profile", "")),
        name=form.name or wishes.get("name", "") or job.name,
        directory=form.directory or ("" if job.directory == str(_NOWHERE) else job.directory),
        environment=dict(job.environment),
        after=tuple(dict.fromkeys([*job.after, *form.after])),
        best_effort=form.best_effort or "best-effort" in wishes,
        time_limit=form.time_limit or job.time_limit,
    )
