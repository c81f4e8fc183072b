from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from distributed import Security
from distributed.core import rpc

from cosched.dask.control import END, WISH, Control
from cosched.dask.tls_files import ClusterTlsFiles
from tests.dask.clusters import cluster

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("least", "most", "useful", "hosts"),
    [
        (None, None, 7, 7),
        (6, 6, 1, 6),
        (6, 6, 60, 6),
        (2, 12, 1, 2),
        (2, 12, 7, 7),
        (2, 12, 70, 12),
        (0, 0, 5, 1),
    ],
)
def test_a_wish_is_kept_within_what_was_asked_for(least: int | None, most: int | None, useful: int, hosts: int) -> None:
    control = Control()
    control.wish(least, most)
    control.wish(change=False)  # a sign of life
    assert control.hosts(useful) == hosts


def test_what_users_wish_for_are_bounds_of_the_task() -> None:
    control = Control()
    assert control.bounds == (1, None)
    for wish, bounds in (((4, 4), (4, 4)), ((0, 0), (1, 1)), ((2, None), (2, None)), ((3, 2), (3, 3))):
        control.wish(*wish)
        assert control.bounds == bounds


@pytest.mark.daemon
def test_users_reach_it_through_the_scheduler(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0") as (scheduler, _, client):
            control = Control()
            control.attach(scheduler)
            over = asyncio.ensure_future(control.over(scheduler, 600.0))
            arguments = Security(**ClusterTlsFiles(tmp_path / "tls").options()).get_connection_args("client")
            async with rpc(scheduler.address, connection_args=arguments) as lead:
                await getattr(lead, WISH)(least=3, most=3)
                assert control.hosts(10) == 3
                assert not over.done()
                await getattr(lead, END)()
                assert await asyncio.wait_for(over, 60)
            assert await client.submit(abs, -1) == 1

    asyncio.run(run())


@pytest.mark.daemon
def test_without_anybody_it_ends_by_itself(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0") as (scheduler, _, client):
            await client.close()
            assert not await asyncio.wait_for(Control().over(scheduler, 0.1), 60)

    asyncio.run(run())
