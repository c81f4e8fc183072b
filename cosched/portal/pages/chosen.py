"""What is done with several tasks of the list at once: cancel them, or submit them again."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import time
from http import HTTPStatus

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principal import Principal, Scope
from cosched.errors import UserError
from cosched.portal.identity import Asker, csrf_checked, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service
from cosched.portal.pages.forms import request_like

__all__ = ["routes"]

_MOST = 1000


def routes(service: Service, insight: Insight) -> APIRouter:
    """Return the route."""
    router = APIRouter(dependencies=[Depends(csrf_checked), needs(Scope.SUBMIT)])

    def cancel(asker: Principal, tasks: list[str]) -> None:
        for task in tasks:
            service.cancel(asker, task)

    def again(asker: Principal, tasks: list[str]) -> None:
        known = {entry.name for entry in insight.applications()}
        found = [service.task(asker, task) for task in tasks]
        now = time.time()
        service.submit(asker, [request_like(task, now, catalogued=task.application in known) for task in found], "", "")

    deeds = {"cancel": cancel, "again": again}

    @router.post("/tasks/chosen")
    async def chosen(request: Request, asker: Asker) -> Response:
        async with request.form() as form:
            tasks = [str(value) for value in form.getlist("task")]
            deed = deeds.get(str(form.get("do", "")))
        if deed is None or not 0 < len(tasks) <= _MOST:
            raise UserError("choose tasks, and what is to be done with them")
        await run_in_threadpool(deed, asker, tasks)
        return RedirectResponse(f"/tasks?{request.url.query}".rstrip("?"), HTTPStatus.SEE_OTHER)

    return router
