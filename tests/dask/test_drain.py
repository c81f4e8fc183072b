from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from distributed.core import Status

from cosched.dask.drain import Drains
from cosched.elastic_lead import LeadOffer, LeadOrder
from tests.dask.clusters import begun, cluster, until, waiting, worker

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.daemon


def leave(worker: int, seconds: float) -> LeadOffer:
    return LeadOffer(1, (LeadOrder(worker, "host", "leave", time.time() + seconds, "needed"),))


def test_a_worker_that_leaves_ends_its_task_and_gives_the_next_ones_back(tmp_path: Path) -> None:
    """Dask's own retirement closes the worker in the middle of the task, which then runs once more elsewhere."""

    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, workers, client):
            address = workers["1"].address
            held = client.submit(waiting, 1, str(tmp_path), workers=[address], pure=False)
            kept = client.submit(waiting, 2, str(tmp_path), workers=[address], allow_other_workers=True, pure=False)
            await until(lambda: begun(tmp_path) == [1] and len(scheduler.workers[address].processing) == 2)
            leaving = asyncio.ensure_future(Drains(scheduler, Mock()).retire(address))
            await until(lambda: begun(tmp_path) == [1, 2])  # on the other worker, which is free
            assert not leaving.done()
            (tmp_path / "1").touch()
            assert await leaving == ""
            assert address not in scheduler.workers
            (tmp_path / "2").touch()
            assert await client.gather([held, kept]) == [1, 2]
            assert begun(tmp_path) == [1, 2]

    asyncio.run(run())


def test_the_data_of_a_worker_that_leaves_stays(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, workers, client):
            data = client.submit(bytes, 1000, workers=[workers["1"].address])
            await data
            assert await Drains(scheduler, Mock()).retire(workers["1"].address) == ""
            assert await client.submit(len, data) == 1000
            assert scheduler.tasks[data.key].who_has == {scheduler.workers[workers["0"].address]}

    asyncio.run(run())


def test_the_last_worker_cannot_leave_with_what_it_holds(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "1") as (scheduler, workers, client):
            data = client.submit(bytes, 1000)
            await data
            assert "no room" in await Drains(scheduler, Mock()).retire(workers["1"].address)
            assert await client.submit(len, data) == 1000  # it works on

    asyncio.run(run())


def test_a_worker_that_was_told_to_leave_is_said_to_be_drained_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, workers, _):
            lead = Mock()
            drains = Drains(scheduler, lead)
            for _ in range(2):
                drains.take(leave(1, 600.0))
            await until(lambda: lead.drained.called)
            await until(lambda: workers["1"].address not in scheduler.workers)
            lead.drained.assert_called_once_with(1)
            lead.refuse.assert_not_called()

    asyncio.run(run())


def test_a_worker_that_has_not_come_yet_may_go_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0") as (scheduler, _, _):
            lead = Mock()
            Drains(scheduler, lead).take(leave(7, 600.0))
            await until(lambda: lead.drained.called)
            lead.drained.assert_called_once_with(7)

    asyncio.run(run())


def test_after_its_grace_a_worker_goes_and_its_task_is_done_elsewhere(tmp_path: Path) -> None:
    """It goes through the scheduler: workers that vanish are held against their tasks, which fail in the end."""

    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, workers, client):
            address = workers["1"].address
            held = client.submit(waiting, 1, str(tmp_path), workers=[address], allow_other_workers=True, pure=False)
            await until(lambda: begun(tmp_path) == [1])
            lead = Mock()
            Drains(scheduler, lead).take(leave(1, 0.0))
            await until(lambda: begun(tmp_path) == [1, 1])
            lead.drained.assert_called_once_with(1)
            assert scheduler.tasks[held.key].suspicious == 0
            (tmp_path / "1").touch()
            assert await held == 1

    asyncio.run(run())


def test_what_a_worker_cannot_give_away_is_told_and_tried_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "1") as (scheduler, workers, client):
            data = client.submit(bytes, 1000)
            await data
            lead = Mock()
            Drains(scheduler, lead).take(leave(1, 600.0))
            await until(lambda: lead.refuse.called)
            assert "no room" in lead.refuse.call_args.args[1]
            lead.drained.assert_not_called()
            await client.cancel([data])  # then there is nothing to give away
            await until(lambda: lead.drained.called)
            assert workers["1"].address not in scheduler.workers

    asyncio.run(run())


def test_a_worker_that_comes_after_it_was_to_leave_begins_nothing(tmp_path: Path) -> None:
    """Its job is ended at any moment, and with it what it would compute, which is then computed once more."""

    async def run() -> None:
        async with cluster(tmp_path, "0") as (scheduler, _, client):
            lead = Mock()
            drains = Drains(scheduler, lead)
            numbers = client.map(waiting, range(4), folder=str(tmp_path), pure=False)
            await until(lambda: begun(tmp_path) == [0])
            drains.take(leave(1, 600.0))
            await until(lambda: lead.drained.called)
            async with worker(scheduler, tmp_path, "1") as late:
                await until(lambda: late.status is Status.closed)
            assert begun(tmp_path) == [0]
            for number in range(4):
                (tmp_path / str(number)).touch()
            assert await client.gather(numbers) == [0, 1, 2, 3]
            assert begun(tmp_path) == [0, 1, 2, 3]

    asyncio.run(run())


def test_data_goes_to_no_worker_that_is_to_leave_as_well(tmp_path: Path) -> None:
    """It would have to move again at once, and be computed again where that comes too late."""

    async def run() -> None:
        async with cluster(tmp_path, "0", "1", "2") as (scheduler, workers, client):
            scheduler.extensions["amm"].measure = "managed"  # the workers are one process
            others = client.submit(bytes, 10_000_000, workers=[workers["0"].address])  # it has least room
            data = client.submit(bytes, 1000, workers=[workers["1"].address])
            await client.gather([others, data], direct=False)
            workers["2"].stream_handlers["acquire-replicas"] = taken = Mock()
            drains = Drains(scheduler, lead := Mock())
            drains.take(LeadOffer(1, (*leave(1, 600.0).workers, *leave(2, 600.0).workers)))
            await until(lambda: lead.drained.call_count == 2)
            taken.assert_not_called()
            assert scheduler.tasks[data.key].who_has == {scheduler.workers[workers["0"].address]}

    asyncio.run(run())
