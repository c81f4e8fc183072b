"""What is asked of tasks most, answered in bytes: one task, a page of the list, a submission.

Both ways to these answers use it: the described one (`api.py`) and the short one (`short_way.py`).
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from cosched.portal.answers import Answer
from cosched.portal.documents import Forecast, TaskDetail, TaskPage, TaskView
from cosched.portal.problems import RequestError
from cosched.portal.reading import digest, read_requests

if TYPE_CHECKING:
    from fastapi import Request, Response

    from cosched.access.principal import Principal
    from cosched.portal.interface import Service
    from cosched.store.selection import Selection

__all__ = ["TaskAnswers"]

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_MOST_QUERIES = 256  # whose meaning is remembered
_LONGEST_QUERY = 512  # bytes, likewise

_PAGE, _DETAIL = Answer[TaskPage](TaskPage), Answer[TaskDetail](TaskDetail)
_TASK, _TASKS = Answer[TaskView](TaskView), Answer[list[TaskView]](list[TaskView])
_FORECAST, _FORECASTS = Answer[Forecast](Forecast), Answer[list[Forecast]](list[Forecast])

_Listing = tuple["Selection", int, int]  # what is listed, how many at most, from which on


class TaskAnswers:
    """Asks the service and writes its answers. Methods may block."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._listings: dict[bytes, _Listing] = {}

    def task(self, request: Request, asker: Principal, task_id: str) -> Response:
        """Return all that is known of a task."""
        return _DETAIL.tagged(request, self._service.task(asker, task_id))

    def page(self, request: Request, asker: Principal, listing: _Listing) -> Response:
        """Return a page of the list, and remember what the query that asked for it means."""
        query: bytes = request.scope["query_string"]
        if len(query) <= _LONGEST_QUERY and len(self._listings) < _MOST_QUERIES:
            self._listings[query] = listing
        return _PAGE.tagged(request, self._service.tasks(asker, *listing))

    def listing(self, query: bytes) -> _Listing | None:
        """Return what a query means; None where it has not been read and found right before."""
        return self._listings.get(query)

    def submit(self, asker: Principal, body: bytes, key: str, *, dry_run: bool = False) -> Response:
        """Read and hand over tasks; a single one is answered by itself, a list by a list."""
        if key and not _KEY.fullmatch(key):
            raise RequestError(HTTPStatus.BAD_REQUEST, "Idempotency-Key must be 1 to 255 printable ASCII characters")
        requests = read_requests(body)
        alone = not body.lstrip().startswith(b"[")
        if dry_run:
            forecasts = list(self._service.foresee(asker, requests))
            return _FORECAST(forecasts[0]) if alone else _FORECASTS(forecasts)
        made = list(self._service.submit(asker, requests, key, digest(requests) if key else ""))
        return _TASK(made[0], HTTPStatus.CREATED) if alone else _TASKS(made, HTTPStatus.CREATED)
