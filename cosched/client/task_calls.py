"""Tasks."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cosched.client.caller import Caller, LostAnswerError, segment
from cosched.client.decoding import decode
from cosched.connector.interface import Output
from cosched.portal.documents import Explanation, Forecast, PlanPoint, TaskDetail, TaskPage, TaskRequest, TaskView

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TaskCalls"]

_FINAL = ("completed", "failed", "cancelled")
_LOOK_FIRST, _LOOK_SLOWEST = 0.1, 2.0  # seconds between looks at tasks that are waited for


class TaskCalls(Caller):
    """Tasks."""

    def submit(self, request: TaskRequest, key: str = "") -> TaskView:
        """Submit a task; on return it survives a crash of the daemon.

        Args:
            request: the task.
            key: idempotency key: the same key and request again return the same task. Empty: a new one.
        """
        return self.submit_all([request], key)[0]

    def submit_all(self, requests: Sequence[TaskRequest], key: str = "") -> list[TaskView]:
        """Submit tasks, all or none."""
        body = [_document(request) for request in requests]
        # A lost answer is asked for once more under the same key, so that nothing is submitted twice.
        headers = {"Idempotency-Key": key or str(uuid4())}
        try:
            answer = self._call("POST", "/tasks", body, headers=headers)
        except LostAnswerError:
            answer = self._call("POST", "/tasks", body, headers=headers)
        return [decode(TaskView, item) for item in answer]

    def foresee(self, request: TaskRequest) -> Forecast:
        """Say what submitting a task would lead to; nothing is stored."""
        answer = self._call("POST", "/tasks", _document(request), params={"dry_run": "true"})
        return decode(Forecast, answer)

    def tasks(
        self, states: Sequence[str] = (), limit: int = 100, offset: int = 0, *, owner: str = "", search: str = ""
    ) -> TaskPage:
        """Return tasks in these states (none given: in any), newest first.

        Args:
            states: by name.
            limit: at most so many.
            offset: leave out so many of the newest.
            owner: only this user's; empty: all that you may see.
            search: only with these words in name, application or identifier.
        """
        params = {"state": list(states), "limit": str(limit), "offset": str(offset), "search": search}
        if owner:
            params["owner"] = owner
        return decode(TaskPage, self._call("GET", "/tasks", params=params))

    def task(self, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        return decode(TaskDetail, self._call("GET", f"/tasks/{segment(task_id)}"))

    def output(
        self,
        task_id: str,
        stream: str = "out",
        *,
        rank: int = 0,
        attempt: int = 0,
        offset: int = 0,
        limit: int = 1 << 20,
    ) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept (yet).

        Args:
            task_id: the task.
            stream: "out" or "err".
            rank: of the process.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes to return, at most a mebibyte.
        """
        params = {"rank": rank, "attempt": attempt, "offset": offset, "limit": limit}
        response = self._response("GET", f"/tasks/{segment(task_id)}/output/{segment(stream)}", params=params)
        if response.status_code == HTTPStatus.NO_CONTENT:
            return None
        return Output(response.content, int(response.headers["Cosched-Offset"]), int(response.headers["Cosched-Size"]))

    def explain(self, task_id: str) -> Explanation:
        """Say why a task is where it is."""
        return decode(Explanation, self._call("GET", f"/tasks/{segment(task_id)}/explain"))

    def plans(self, task_id: str) -> list[PlanPoint]:
        """Return where a task was planned as the plan changed, the oldest first."""
        return [decode(PlanPoint, item) for item in self._call("GET", f"/tasks/{segment(task_id)}/plans")]

    def cancel(self, task_id: str) -> TaskView:
        """Take the wish that a task does not run (any more)."""
        return decode(TaskView, self._call("POST", f"/tasks/{segment(task_id)}/cancel", {}))

    def wait(self, task_ids: Sequence[str], timeout: float = math.inf) -> list[TaskDetail]:
        """Wait until all of these tasks have ended, or for `timeout` seconds; return them as they are then."""
        until = time.monotonic() + timeout
        pause = _LOOK_FIRST
        found: dict[str, TaskDetail] = {}
        while True:
            for task_id in task_ids:
                if task_id not in found or found[task_id].state not in _FINAL:
                    found[task_id] = self.task(task_id)
            left = until - time.monotonic()
            if left <= 0 or all(task.state in _FINAL for task in found.values()):
                return [found[task_id] for task_id in task_ids]
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LOOK_SLOWEST)


def _document(request: TaskRequest) -> dict[str, Any]:
    return {key: value for key, value in asdict(request).items() if value not in (None, "", (), {}, False)}
