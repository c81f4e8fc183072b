"""Workers of a Dask cluster leave without a loss: start at `Drains.take`.

A worker that Dask merely retires is closed in the middle of its task, which then runs once more elsewhere. So a worker
leaves in steps. It takes no new tasks and its data moves; tasks that wait on it are given back; those that it computes
end; then the data that they left moves, too, and the worker is closed. A worker that comes only after it was to leave
begins nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from distributed import SchedulerPlugin
from distributed.core import Status, rpc
from distributed.protocol.pickle import dumps

if TYPE_CHECKING:
    from distributed import Scheduler

    from cosched.elastic_lead import Lead, LeadOffer, LeadOrder

__all__ = ["Drains", "given_back"]

_LOOK_AGAIN = 0.05  # seconds between two looks at what a worker computes
_TRY_AGAIN = 1.0  # seconds until a worker whose data found no room is retired once more
_MARGIN = 1.0  # seconds before the end of its grace at which a worker is closed with what it computes
_NOT_BEGUN = ("waiting", "ready", "constrained")  # of tasks on a worker, in Dask's words
_STIMULUS = "cosched-leaves"


class Drains(SchedulerPlugin):  # type: ignore[misc]  # distributed has no types
    """Has workers leave as offers say, each once. To be used in the scheduler's event loop."""

    name = "cosched-drains"

    def __init__(self, scheduler: Scheduler, lead: Lead) -> None:
        """Set up, to hear of the scheduler's workers.

        Args:
            scheduler: whose workers they are; their names are cosched's numbers of them.
            lead: hears that workers may go.
        """
        self._scheduler = scheduler
        self._lead = lead
        self._leaving: dict[int, asyncio.Task[None]] = {}
        self._awaited: dict[int, LeadOrder] = {}  # by number, of workers that were to leave before they had come
        scheduler.add_plugin(self)

    def take(self, offer: LeadOffer) -> None:
        """Begin what an offer says and an earlier one has not said."""
        orders = [order for order in offer.leaving if order.worker not in self._leaving]
        for order in orders:  # all of them first: none is to take over what another one leaves
            if (address := self._address(order.worker)) is not None:
                self._close_door(address)
        for order in orders:
            self._leaving[order.worker] = asyncio.ensure_future(self._leave(order))

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Have a worker leave that comes although it was to leave before: its job is ended at any moment.

        It hears so before the scheduler hears that it is ready, and begins nothing.
        """
        number = str(scheduler.workers[worker].name)
        order = self._awaited.pop(int(number), None) if number.isdecimal() else None
        if order is not None:
            self._close_door(worker)
            self._leaving[order.worker] = asyncio.ensure_future(self._leave(order))

    async def _leave(self, order: LeadOrder) -> None:
        until = None if order.by is None else time.time() + max(order.by - time.time() - _MARGIN, 0.0)
        refused = ""
        if self._address(order.worker) is None:
            self._awaited[order.worker] = order
        while (address := self._address(order.worker)) is not None:
            if until is not None and time.time() >= until:
                # Through the scheduler, which has its tasks done elsewhere: one that vanished would be held against
                # them, and after three times Dask fails a task.
                await self._scheduler.remove_worker(address, expected=True, close=True, stimulus_id=_STIMULUS)
                break
            seconds = None if until is None else until - time.time()
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(seconds):
                    reason = await self.retire(address)
                    if reason and reason != refused:
                        self._lead.refuse(order.worker, refused := reason)
                    if reason:
                        await asyncio.sleep(_TRY_AGAIN)
        self._lead.drained(order.worker)

    def _address(self, worker: int) -> str | None:
        """Return the address of a worker; None for one that has not come yet, or is gone."""
        workers = self._scheduler.workers.items()
        return next((address for address, each in workers if str(each.name) == str(worker)), None)

    async def retire(self, address: str) -> str:
        """Have a worker leave once its tasks have ended and its data is elsewhere.

        Returns:
            Nothing where it has left; else why it cannot. Then it works on.
        """
        scheduler = self._scheduler
        if address not in scheduler.workers:
            return ""
        self._close_door(address)
        async with asyncio.TaskGroup() as group:
            idle = group.create_task(self._until_idle(address))
            moved = await scheduler.retire_workers([address], close_workers=False, remove=False)
            if not moved and address in scheduler.workers:
                idle.cancel()
        if moved and address in scheduler.workers:
            moved = await scheduler.retire_workers([address], close_workers=True)
        if moved or address not in scheduler.workers:
            return ""
        self._tell(address, Status.running)  # only now that no more of its tasks are given back
        return "its data finds no room on other workers"

    def _close_door(self, address: str) -> None:
        """Have a worker get and begin no more tasks."""
        worker = self._scheduler.workers[address]
        self._scheduler.handle_worker_status_change(Status.closing_gracefully, worker, _STIMULUS)
        self._tell(address, Status.closing_gracefully)

    def _tell(self, address: str, status: Status) -> None:
        """Tell a worker its status, in one row with the tasks that it is given and those that are taken back."""
        message = {"op": "worker-status-change", "status": status.name, "stimulus_id": _STIMULUS}
        self._scheduler.stream_comms[address].send(message)

    async def _until_idle(self, address: str) -> None:
        """Give back the tasks that a worker has not begun behind its closed door, and wait for those it computes."""
        scheduler = self._scheduler
        while (worker := scheduler.workers.get(address)) is not None and worker.processing:
            waiting = set(await _waiting(scheduler, address))
            released = [task.key for task in worker.processing if task.key in waiting]
            if released:
                scheduler.transitions(dict.fromkeys(released, "released"), stimulus_id=_STIMULUS)
            await asyncio.sleep(_LOOK_AGAIN)


async def _waiting(scheduler: Scheduler, address: str) -> list[Any]:
    """Return the keys of tasks that a worker has and will not begin; none where it does not answer."""
    try:
        async with rpc(address, connection_args=scheduler.connection_args) as worker:
            answer = await worker.run(function=dumps(given_back))
    except OSError:  # it is gone, as its next look shows
        return []
    return answer["result"] if answer["status"] == "OK" else []


def given_back(dask_worker: Any) -> list[Any]:
    """Return the keys of tasks that a worker has not begun and will not begin; this runs on the worker."""
    if dask_worker.status is not Status.closing_gracefully:  # it has not heard yet
        return []
    return [task.key for task in dask_worker.state.tasks.values() if task.state in _NOT_BEGUN]
