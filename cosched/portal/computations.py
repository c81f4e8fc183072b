"""What keeps requests under way for long is bounded for each user.

Long computations run on threads of their own, one for each user: pages, status and logins never wait for them. Start at
`Computations.run`; `UserPlaces` alone bounds requests that wait, and submissions of many tasks.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, Semaphore, WouldBlock, fail_after, to_thread

from cosched.api.problems import BusyError
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fastapi import Request

    from cosched.access.principals import Principal

__all__ = ["Computations", "UserPlaces"]

_T = TypeVar("_T")


class UserPlaces:
    """The places of each user, of which a request takes one for as long as it is under way.

    For the event loop's thread.
    """

    def __init__(self, most: int, refusal: str, *, patience: float, pause: float) -> None:
        """Set up.

        Args:
            most: places of each user.
            refusal: what is said where none becomes free.
            patience: seconds to wait for one; 0 for no wait.
            pause: seconds after which to ask again.
        """
        self._most = most
        self._refusal = refusal
        self._patience = patience
        self._pause = pause
        self._places: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()  # while somebody holds or wants one

    @asynccontextmanager
    async def taken(self, principal: Principal) -> AsyncIterator[None]:
        """Hold one of the user's places.

        Raises:
            BusyError: none becomes free.
        """
        places = self._places.setdefault(principal.name, Semaphore(self._most))
        await _take(places, self._refusal, self._patience, self._pause)
        try:
            yield
        finally:
            places.release()


async def _take(places: Semaphore, refusal: str, patience: float, pause: float) -> None:
    try:
        if patience <= 0:
            places.acquire_nowait()
            return
        with fail_after(patience):
            await places.acquire()
    except (WouldBlock, TimeoutError) as error:
        raise BusyError(refusal, pause) from error


class Computations:
    """Runs what computes for long."""

    def __init__(
        self, ending: Callable[[], bool], *, threads: int = 4, patience: float = 10.0, longest: float = 60.0
    ) -> None:
        """Set up.

        Args:
            ending: returns whether the daemon is about to end.
            threads: computations of all users at once.
            patience: seconds to wait for the user's earlier computation, then for a thread.
            longest: seconds after which a computation is given up.
        """
        self._ending = ending
        self._threads = Semaphore(threads)
        own = "an earlier prediction of yours is under way: wait for it, or end that request"
        self._turns = UserPlaces(1, own, patience=patience, pause=patience)
        self._patience = patience
        self._longest = longest

    async def run(self, request: Request, principal: Principal, work: Callable[[Callable[[], None]], _T]) -> _T:
        """Return the result of work on a thread.

        The body of the request must have been read.

        Args:
            request: that asks for it; the work ends when its client has gone, or the daemon ends.
            principal: the user, who has one computation at once.
            work: called with a function to call between its steps, which raises when the work is to end.

        Raises:
            BusyError: an earlier computation of the user, or those of others, take long.
        """
        patience = self._patience
        async with self._turns.taken(principal):
            await _take(self._threads, "others' predictions are under way: try again in a moment", patience, patience)
            try:
                return await self._watched(request, work)
            finally:
                self._threads.release()

    async def _watched(self, request: Request, work: Callable[[Callable[[], None]], _T]) -> _T:
        gone, until = threading.Event(), time.monotonic() + self._longest

        def check() -> None:
            if gone.is_set():
                raise SystemFault("nobody waits for the answer any more: ask again")
            if self._ending():
                raise SystemFault("cosched is ending: try again when it is back")
            if time.monotonic() > until:
                raise UserError(
                    f"the prediction is not done after {self._longest:.0f} s: ask for fewer tasks, hosts or model steps"
                )

        watch = asyncio.create_task(_disconnected(request))
        watch.add_done_callback(lambda _watch: gone.set())
        try:
            return await to_thread.run_sync(work, check, limiter=CapacityLimiter(1))
        finally:
            gone.set()  # also where the server does not wait for the thread
            watch.cancel()


async def _disconnected(request: Request) -> None:
    """Return when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
