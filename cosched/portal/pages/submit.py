"""The submit page: choose, set, see what would come of it, submit."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Scope
from cosched.api.documents import TaskRequest
from cosched.app.services import DomainServices
from cosched.connector.userfiles import decode_user_file
from cosched.errors import CoschedError, UserError
from cosched.portal.dependencies import AnyPrincipal, needs
from cosched.portal.pages.forms import (
    fields_like_task,
    local_minute,
    read_request,
    requests_of_upload,
    resubmit_request,
)
from cosched.portal.pages.preview import SubmissionPreview, preview_submission
from cosched.portal.pages.rendering import Renderer, zone_of
from cosched.portal.request_bodies import requests_digest

__all__ = ["routes"]

_OWN_KINDS = ("command", "file")


def routes(services: DomainServices, renderer: Renderer) -> APIRouter:
    """Return the routes of the submit page."""
    router = APIRouter(dependencies=[needs(Scope.SUBMIT)])
    page = _SubmitPage(services, renderer)

    @router.get("/submit")
    def choose(
        request: Request, principal: AnyPrincipal, application: str = "", like: str = "", own: str = ""
    ) -> Response:
        return page.show(request, principal, application, like, own)

    @router.post("/submit")
    async def submit(request: Request, principal: AnyPrincipal) -> Response:
        return await run_in_threadpool(page.submit, request, principal, await _fields(request))

    @router.post("/submit/preview")
    async def preview(request: Request, principal: AnyPrincipal) -> Response:
        return await run_in_threadpool(page.preview, request, principal, await _fields(request))

    @router.post("/submit/sample")
    def sample(principal: AnyPrincipal) -> Response:
        return page.sample(principal)

    return router


class _SubmitPage:
    """Show the form and take its submissions."""

    def __init__(self, services: DomainServices, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def show(self, request: Request, principal: Principal, application: str, like: str, own: str) -> Response:
        """Show the form, filled as an earlier task was where one is named."""
        fields: dict[str, str] = {"application": application, "own": own if own in _OWN_KINDS else ""}
        if like:
            earlier = self._services.tasks.task(principal, like)
            zone = zone_of(request)
            fields = fields_like_task(earlier, time.time(), zone, catalogued=self._known(earlier.application))
        return self._form(request, fields)

    def submit(self, request: Request, principal: Principal, fields: Mapping[str, str]) -> Response:
        """Submit, and lead to the task; show the form again where it is refused."""
        try:
            wanted = self._requests(principal, fields, zone_of(request))
            submitted = self._services.submissions.submit(
                principal, wanted, fields.get("key", ""), requests_digest(wanted)
            )
        except CoschedError as error:
            status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(error, UserError) else HTTPStatus.SERVICE_UNAVAILABLE
            return self._form(request, fields, fault=str(error), status=status)
        next_url = f"/tasks/{submitted[0].id}" if len(submitted) == 1 else "/tasks"
        return RedirectResponse(next_url, HTTPStatus.SEE_OTHER)

    def preview(self, request: Request, principal: Principal, fields: Mapping[str, str]) -> Response:
        """Say what would come of it."""
        return self._renderer.page(request, "preview.html", **self._preview_values(request, principal, fields))

    def sample(self, principal: Principal) -> Response:
        """Submit a task that shows how cosched works, with any catalogue."""
        entries = self._services.models.applications()
        for entry in sorted(entries, key=lambda entry: (entry.name != "sweep3d", not entry.model, entry.name)):
            wanted = [TaskRequest(application=entry.name, name="sample")]
            try:
                deadline = self._services.submissions.foresee(principal, wanted)[0].earliest_deadline
            except UserError:
                continue  # it wants a parameter, or its model is at fault: the next one
            if deadline is not None:
                wanted = [replace(wanted[0], deadline=time.time() + 2 * (deadline - time.time()) + 60)]
            submitted = self._services.submissions.submit(principal, wanted, "", "")
            return RedirectResponse(f"/tasks/{submitted[0].id}", HTTPStatus.SEE_OTHER)
        raise UserError("the catalogue has no application to show: submit a command of your own")

    def _form(
        self, request: Request, fields: Mapping[str, str], *, fault: str = "", status: int = HTTPStatus.OK
    ) -> Response:
        entries = self._services.models.applications()
        entry = next((entry for entry in entries if entry.name == fields.get("application")), None)
        if entry is None and fields.get("application") and not fault:
            raise UserError(f"there is no application {fields['application'][:80]!r} in the catalogue")
        # A new key for each form: sent twice, it is one task.
        return self._renderer.page(
            request,
            "submit.html",
            status,
            entries=entries,
            entry=entry,
            fields={"key": secrets.token_urlsafe(16), **fields},
            fault=fault,
        )

    def _preview_values(self, request: Request, principal: Principal, fields: Mapping[str, str]) -> dict[str, Any]:
        zone = zone_of(request)
        found: SubmissionPreview | None = None
        fault, tasks = "", 0
        try:
            requests = self._requests(principal, fields, zone)
            wanted, tasks = requests[0], len(requests)
            # As best effort there is a forecast even where it would be refused: the page says what would be accepted.
            forecast = self._services.submissions.foresee(principal, [replace(wanted, best_effort=True)])[0]
            found = preview_submission(forecast, best_effort=wanted.best_effort, now=time.time())
        except CoschedError as error:
            fault = str(error)
        accepted = "" if found is None or found.acceptable is None else local_minute(found.acceptable, zone)
        return {"found": found, "fault": fault, "accepted": accepted, "tasks": tasks}

    def _known(self, application: str) -> bool:
        return any(entry.name == application for entry in self._services.models.applications())

    def _requests(self, principal: Principal, fields: Mapping[str, str], zone: tzinfo | None) -> list[TaskRequest]:
        own = fields.get("own")
        if own == "file":
            return requests_of_upload(fields.get("file", ""), fields.get("file_name", ""), fields, zone)
        if own == "job":
            earlier = self._services.tasks.task(principal, fields.get("job_of", ""))
            return [resubmit_request(earlier, fields, zone, catalogued=self._known(earlier.application))]
        return [read_request(fields, zone)]


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form as text; what was uploaded replaces the field of text that it stands beside."""
    fields: dict[str, str] = {}
    async with request.form() as form:
        for name, value in form.items():
            if isinstance(value, str):
                # Browsers send the lines of a field as on DOS, whatever was typed or pasted into it.
                fields.setdefault(name, value.replace("\r\n", "\n"))
            elif value.filename:
                fields |= {
                    name.removesuffix("_upload"): decode_user_file(await value.read(), value.filename),
                    f"{name.removesuffix('_upload')}_name": value.filename,
                }
    return fields
