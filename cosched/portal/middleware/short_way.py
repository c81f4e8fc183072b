"""The short way to the answers that are asked for most, past the framework's way to a route.

Finding a route, its dependencies and a thread for each request costs several times what the answer itself does. Who
asks, and whether they may, has been found out before; whatever is unusual about a request goes the described way, which
takes it as if this were not there.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from fastapi import Request

from cosched.access.principals import Scope
from cosched.errors import CoschedError
from cosched.portal.responses import error_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Response
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

    from cosched.access.principals import Principal
    from cosched.portal.routes.tasks import TaskResponses

__all__ = ["ShortWay"]

_LIST = "/api/v1/tasks"
_READERS = 4  # threads; more of them would only take the interpreter from one another
_SUBMITTERS = 32  # threads; each waits until what it submits is on disk, with what the others do


class ShortWay:
    """ASGI middleware behind `Identify`."""

    def __init__(self, app: ASGIApp, answers: TaskResponses) -> None:
        """Wrap `app`, which answers everything else."""
        self._app = app
        self._answers = answers
        self._readers = ThreadPoolExecutor(_READERS, "reads")
        self._submitters = ThreadPoolExecutor(_SUBMITTERS, "submissions")

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        asker: Principal | None = scope["state"]["principal"] if scope["type"] == "http" else None
        way = None if asker is None else self._way(scope, asker)
        if way is None:
            await self._app(scope, receive, send)
            return
        pool, ask = way
        request = Request(scope, receive)
        if pool is self._submitters:
            ask = partial(ask, await request.body(), request.headers.get("idempotency-key", ""))
        loop = asyncio.get_running_loop()
        response = await loop.run_in_executor(pool, _answered, request, ask)
        await response(scope, receive, send)

    def _way(self, scope: Connection, asker: Principal) -> tuple[ThreadPoolExecutor, Callable[..., Response]] | None:
        path: str = scope["path"]
        if not path.startswith(_LIST):
            return None
        method, query = scope["method"], scope["query_string"]
        if method == "GET" and Scope.READ in asker.scopes:
            request = Request(scope)
            if path == _LIST:
                listing = self._answers.listing(query)
                return listing and (self._readers, partial(self._answers.page, request, asker, listing))
            name = path[len(_LIST) + 1 :]
            if path[len(_LIST)] == "/" and name and "/" not in name:
                return self._readers, partial(self._answers.task, request, asker, name)
        elif method == "POST" and path == _LIST and not query and Scope.SUBMIT in asker.scopes:
            return self._submitters, partial(self._answers.submit, asker)
        return None


def _answered(request: Request, ask: Callable[[], Response]) -> Response:
    try:
        return ask()
    except CoschedError as error:
        return error_response(request, error)
