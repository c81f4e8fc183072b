"""The submit page: choose, set, see what would come of it, submit."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched import resources
from cosched.access.principals import Principal, Scope
from cosched.api.deadlines import parse_deadline_field
from cosched.api.documents import Forecast, TaskRequest
from cosched.api.problems import BusyError
from cosched.app.services import DomainServices
from cosched.connector.userfiles import decode_user_file
from cosched.errors import CoschedError, UserError
from cosched.portal.dependencies import Portal, Services, Submitter, check_scope
from cosched.portal.pages import page_router
from cosched.portal.pages.error_pages import refused_at
from cosched.portal.pages.forms import (
    COPIED,
    fields_like_task,
    local_minute,
    requests_of_form,
    requests_of_upload,
    resubmit_request,
)
from cosched.portal.pages.preview import SubmissionPreview, preview_submission
from cosched.portal.pages.rendering import refusal_of, render_page, zone_of
from cosched.portal.request_bodies import requests_digest
from cosched.portal.submitting import run_submission
from cosched.store.saved_forms import SavedForm

__all__ = ["router"]

_OWN_KINDS = ("command", "file")
_NOT_KEPT = ("csrf_token", "key", "template", "deadline", "begin")  # of a form: what is of one submission alone

_UNNAMED = "/program"  # stands for a command that is still missing where a model is looked at
_PLACE = re.compile(r"your model:(\d{1,9}):(\d{1,9}): (.*?)(?=; your model:|$)", re.DOTALL)


router = page_router()


@router.get("/submit")
def choose(
    request: Request,
    services: Services,
    principal: Submitter,
    application: str = "",
    like: str = "",
    own: str = "",
    template: str = "",
    model: str = "",
) -> Response:
    fields: dict[str, str] = {"application": application, "own": own if own in _OWN_KINDS else ""}
    if model:  # of the library, to be changed
        check_scope(principal, Scope.READ)
        fields |= {"application": "", "own": "command", "model": services.models.source("applications", model)}
    if like:
        check_scope(principal, Scope.READ)  # the form shows the earlier task's command and environment
        earlier = services.tasks.task(principal, like)
        catalogued = _known(services, earlier.application)
        fields = fields_like_task(earlier, time.time(), zone_of(request), catalogued=catalogued)
    if template:
        fields = _fields_of(services.forms.form(principal, template), time.time(), zone_of(request))
    if (refusal := refusal_of(request, principal)) is not None:
        fields |= refusal.fields
    return _form(request, services, principal, fields)


def _fields_of(form: SavedForm, now: float, zone: tzinfo | None) -> dict[str, str]:
    """Return the fields of a saved form, with a deadline as far ahead as it was."""
    deadline = "" if form.ahead is None else local_minute(now + form.ahead, zone)
    return {**form.fields, "deadline": deadline, "template": form.name}


@router.post("/submit/templates")
async def save_template(request: Request, services: Services, principal: Submitter) -> Response:
    """Keep what the form holds under a name, and go on with it."""
    return await run_in_threadpool(_save, request, services, principal, await _fields(request))


def _save(request: Request, services: DomainServices, principal: Principal, fields: Mapping[str, str]) -> Response:
    try:
        deadline = parse_deadline_field(fields.get("deadline", ""), zone_of(request))
        kept = {name: value for name, value in fields.items() if value and name not in _NOT_KEPT}
        saved = services.forms.save(principal, fields.get("template", ""), kept, deadline)
    except UserError as error:
        return _back_to_form(request, services, principal, fields, error)
    return RedirectResponse(f"/submit?{urlencode({'template': saved.name})}", HTTPStatus.SEE_OTHER)


@router.post("/submit/templates/delete")
def delete_template(services: Services, principal: Submitter, template: Annotated[str, Form()] = "") -> Response:
    services.forms.remove(principal, template)
    return RedirectResponse("/submit", HTTPStatus.SEE_OTHER)


@router.post("/submit")
async def submit(request: Request, services: Services, principal: Submitter) -> Response:
    """Submit, and lead to the task, or to the form again where it is refused."""
    fields = await _fields(request)
    key = fields.get("key", "")
    try:
        submitted = await run_submission(
            request,
            principal,
            lambda: _requests(services, principal, fields, zone_of(request)),
            lambda wanted, check: services.submissions.submit(principal, wanted, key, requests_digest(wanted), check),
            many=True,  # a file of few lines may be of many tasks
        )
    except CoschedError as error:
        return await run_in_threadpool(_back_to_form, request, services, principal, fields, error)
    next_url = f"/tasks/{submitted[0].id}" if len(submitted) == 1 else "/tasks"
    return RedirectResponse(next_url, HTTPStatus.SEE_OTHER)


def _back_to_form(
    request: Request,
    services: DomainServices,
    principal: Principal,
    fields: Mapping[str, str],
    error: CoschedError,
) -> Response:
    """Lead to the form again, which says why and holds what was typed."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(error, UserError) else HTTPStatus.SERVICE_UNAVAILABLE
    typed = {name: value for name, value in fields.items() if name != "csrf_token"}
    chosen = {name: fields[name] for name in ("application", "own") if fields.get(name)}
    there = refused_at(request, f"/submit?{urlencode(chosen)}", str(error), typed)
    return there or _form(request, services, principal, fields, fault=str(error), status=status)


@router.post("/submit/preview")
async def preview(request: Request, portal: Portal, principal: Submitter) -> Response:
    fields = await _fields(request)
    try:
        return await portal.computations.run(
            request, principal, lambda check: _preview(request, portal.services, principal, fields, check)
        )
    except BusyError as error:
        return await run_in_threadpool(_preview_page, request, fault=str(error))


def _preview(
    request: Request,
    services: DomainServices,
    principal: Principal,
    fields: Mapping[str, str],
    check: Callable[[], None],
) -> Response:
    """Say what would come of it."""
    zone = zone_of(request)
    found: SubmissionPreview | None = None
    fault, tasks = "", 0
    unnamed = fields.get("own") == "command" and not fields.get("command", "").strip()
    if unnamed and fields.get("model", "").strip():
        fields = {**fields, "command": _UNNAMED, COPIED: ""}
    try:
        requests = _requests(services, principal, fields, zone)
        wanted, tasks = requests[0], len(requests)
        # As best effort there is a forecast even where it would be refused: the page says what would be accepted.
        forecast = services.submissions.foresee(principal, [replace(wanted, best_effort=True)], check)[0]
        refusal = _refusal(services, principal, wanted, forecast, check)
        found = preview_submission(forecast, refusal=refusal, now=time.time())
    except CoschedError as error:
        fault = str(error)
    accepted = "" if found is None or found.acceptable is None else local_minute(found.acceptable, zone)
    return _preview_page(request, found=found, fault=fault, accepted=accepted, tasks=tasks, unnamed=unnamed)


def _refusal(
    services: DomainServices,
    principal: Principal,
    wanted: TaskRequest,
    forecast: Forecast,
    check: Callable[[], None],
) -> str:
    """Return the words with which a late task would be refused; empty where it would be accepted."""
    if wanted.best_effort or forecast.meets_deadline is not False:
        return ""
    if forecast.ways:  # beside what is planned, or not at all
        return "no way is in time beside what is planned"
    try:
        services.submissions.foresee(principal, [wanted], check)
    except UserError as error:
        return str(error)
    return ""


def _preview_page(
    request: Request,
    *,
    found: SubmissionPreview | None = None,
    fault: str,
    accepted: str = "",
    tasks: int = 0,
    unnamed: bool = False,
) -> Response:
    return render_page(
        request,
        "preview.html",
        found=found,
        fault=fault,
        places=_PLACE.findall(fault),
        accepted=accepted,
        tasks=tasks,
        unnamed=unnamed,
    )


@router.post("/submit/sample")
async def sample(request: Request, portal: Portal, principal: Submitter) -> Response:
    """Submit a task that shows how cosched works, with any catalogue."""
    return await portal.computations.run(request, principal, lambda check: _sample(portal.services, principal, check))


def _sample(services: DomainServices, principal: Principal, check: Callable[[], None]) -> Response:
    entries = services.models.applications()
    for entry in sorted(entries, key=lambda entry: (entry.name != "sweep3d", not entry.model, entry.name)):
        wanted = [TaskRequest(application=entry.name, name="sample")]
        try:
            deadline = services.submissions.foresee(principal, wanted, check)[0].earliest_deadline
        except UserError:
            continue  # it wants a parameter, or its model is at fault: the next one
        if deadline is not None:
            wanted = [replace(wanted[0], deadline=time.time() + 2 * (deadline - time.time()) + 60)]
        submitted = services.submissions.submit(principal, wanted, "", "")
        return RedirectResponse(f"/tasks/{submitted[0].id}", HTTPStatus.SEE_OTHER)
    raise UserError("the catalogue has no application to show: submit a command of your own")


def _form(
    request: Request,
    services: DomainServices,
    principal: Principal,
    fields: Mapping[str, str],
    *,
    fault: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    """Show the form."""
    entries = services.models.applications()
    entry = next((entry for entry in entries if entry.name == fields.get("application")), None)
    if entry is None and fields.get("application") and not fault:
        raise UserError(f"there is no application {fields['application'][:80]!r} in the catalogue")
    # A new key for each form: sent twice, it is one task.
    shown = {"key": secrets.token_urlsafe(16), **fields}
    edits_model = entry is None and (shown.get("own") or ("command" if "command" in shown else "")) == "command"
    return render_page(
        request,
        "submit.html",
        status,
        entries=entries,
        entry=entry,
        fields=shown,
        fault=fault,
        forms=services.forms.forms(principal),
        edits_model=edits_model,
        grammar=_grammar() if edits_model else None,
        shared=any(host.free is not None for host in services.domain.hosts(principal)),
    )


@cache
def _grammar() -> Any:
    """Return how PSL is coloured, as editors know it."""
    return json.loads((resources.etc() / "editors" / "psl.tmLanguage.json").read_text())


def _known(services: DomainServices, application: str) -> bool:
    return any(entry.name == application for entry in services.models.applications())


def _requests(
    services: DomainServices, principal: Principal, fields: Mapping[str, str], zone: tzinfo | None
) -> list[TaskRequest]:
    """Return the tasks that the form asks for."""
    own = fields.get("own")
    if own == "file":
        return requests_of_upload(fields.get("file", ""), fields.get("file_name", ""), fields, time.time(), zone)
    if own == "job":
        earlier = services.tasks.task(principal, fields.get("job_of", ""))
        return [resubmit_request(earlier, fields, zone, catalogued=_known(services, earlier.application))]
    return requests_of_form(fields, zone)


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form as text.

    An uploaded file replaces the text field beside it.
    """
    fields: dict[str, str] = {}
    async with request.form() as form:
        for name, value in form.items():
            if isinstance(value, str):
                # Browsers end the lines of a field as on DOS, even if typed otherwise.
                fields.setdefault(name, value.replace("\r\n", "\n"))
            elif value.filename:
                fields |= {
                    name.removesuffix("_upload"): decode_user_file(await value.read(), value.filename),
                    f"{name.removesuffix('_upload')}_name": value.filename,
                }
    return fields
