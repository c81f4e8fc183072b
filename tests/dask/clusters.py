"""A Dask cluster in this process, its parts proven to one another by certificates as in a task's."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from distributed import Client, Scheduler, Security, Worker

from cosched.dask.tls_files import make_tls_files

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["Cluster", "begun", "cluster", "until", "waiting", "worker"]

_PATIENCE = 240.0


class Cluster(NamedTuple):
    """A scheduler with its workers by name, and a client."""

    scheduler: Scheduler
    workers: dict[str, Worker]
    client: Client


@asynccontextmanager
async def cluster(folder: Path, *names: str) -> AsyncIterator[Cluster]:
    security = Security(**make_tls_files(folder / "tls").options())
    async with AsyncExitStack() as stack:
        place = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        scheduler = await stack.enter_async_context(
            Scheduler(protocol="tls", dashboard=False, security=security, **place)
        )
        workers = {name: await stack.enter_async_context(worker(scheduler, folder, name)) for name in names}
        client = await stack.enter_async_context(Client(scheduler.address, security=security, asynchronous=True))
        yield Cluster(scheduler, workers, client)


def worker(scheduler: Scheduler, folder: Path, name: str) -> Worker:
    """Return a worker in this process that has not begun; a context manager."""
    return Worker(
        scheduler.address,
        name=name,
        nthreads=1,
        local_directory=str(folder),
        host="127.0.0.1",
        security=scheduler.security,
        dashboard_address="127.0.0.1:0",
    )


def waiting(number: int, folder: str) -> int:
    """Note that it has begun, and wait for the file of its number; a task for a worker."""
    with (Path(folder) / "begun").open("a") as begun:
        begun.write(f"{number}\n")
    while not (Path(folder) / str(number)).exists():
        time.sleep(0.01)
    return number


def begun(folder: Path) -> list[int]:
    """Return the numbers whose tasks have begun, each as often as it was."""
    file = folder / "begun"
    return sorted(map(int, file.read_text().split())) if file.exists() else []


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        await asyncio.sleep(0.01)
