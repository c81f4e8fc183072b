"""Submissions run on threads of their own; those that take long to predict, as computations of their user.

Of those of many tasks one of each user is made at once.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from cosched.app.submission.resubmission import requests_again
from cosched.portal.state import portal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import Request

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskRequest, TaskView

__all__ = ["MANY_TASKS", "run_submission", "submitted_again"]

_T = TypeVar("_T")

MANY_TASKS = 100
"""Of submissions with more tasks one of each user is made at once."""


@dataclass(frozen=True, slots=True)
class _TakesLong:
    requests: Sequence[TaskRequest]


async def run_submission(
    request: Request,
    principal: Principal,
    read: Callable[[], Sequence[TaskRequest]],
    submit: Callable[[Sequence[TaskRequest], Callable[[], None]], _T],
    *,
    many: bool,
) -> _T:
    """Return the result of a submission.

    Args:
        request: that asks for it; its body has been read.
        principal: the user.
        read: returns what is submitted; on a thread.
        submit: submits that; on a thread, with a function to call before something is accepted, which raises where the
            submission is not wanted any more.
        many: whether it may be of many tasks.

    Raises:
        BusyError: it takes long, and an earlier computation of the user, or those of others, do so, too; or it
            and an earlier one of the user are of many tasks.
    """
    portal = portal_of(request)

    def begin() -> _T | _TakesLong:
        wanted = read()
        # On one of these threads it would keep others' submissions from it for as long.
        return _TakesLong(wanted) if portal.services.submissions.takes_long(wanted) else submit(wanted, lambda: None)

    async with portal.long_submissions.taken(principal) if many else nullcontext():
        found = await to_thread.run_sync(begin, limiter=portal.submitters)
        if not isinstance(found, _TakesLong):
            return found
        return await portal.computations.run(request, principal, lambda check: submit(found.requests, check))


async def submitted_again(request: Request, principal: Principal, tasks: Sequence[str]) -> Sequence[TaskView]:
    """Submit tasks once more, all or none."""
    services = portal_of(request).services
    return await run_submission(
        request,
        principal,
        lambda: requests_again(services, principal, tasks),
        lambda wanted, check: services.submissions.submit(principal, wanted, "", "", check),
        many=len(tasks) > MANY_TASKS,
    )
