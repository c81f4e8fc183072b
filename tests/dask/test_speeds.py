from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from cosched.dask.speeds import WorkerSpeeds
from cosched.dask.task_ends import EndedTask, TaskEnds
from tests.dask.clusters import cluster, until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Joined:
    """A worker as a scheduler knows it."""

    def __init__(self, name: object) -> None:
        self.name = name


class Known:
    """A scheduler that knows these workers, by their addresses."""

    def __init__(self, **workers: object) -> None:
        self.workers = {address: Joined(name) for address, name in workers.items()}


def end(speeds: WorkerSpeeds, worker: str, seconds: Sequence[float], kind: str = "solve") -> None:
    """Have a worker end tasks that took so long, each after a transfer."""
    for number, each in enumerate(seconds):
        speeds.note(worker, EndedTask(f"{kind}-{number:032x}", ((7.0, 7.0 + each),)))


def test_a_worker_is_as_quick_as_its_tasks_beside_others_of_their_kind() -> None:
    speeds = WorkerSpeeds()
    for address in ("a", "b"):
        end(speeds, address, [2.0] * 5)
        end(speeds, address, [0.1] * 5, "read")
    end(speeds, "c", [6.0] * 3)
    end(speeds, "c", [0.3] * 2, "read")
    assert speeds.now(Known(a="0", b=1, c="2")) == {0: 1.0, 1: 1.0, 2: pytest.approx(1 / 3)}


def test_the_last_tasks_count_and_a_stray_one_does_not() -> None:
    speeds = WorkerSpeeds()
    end(speeds, "a", [2.0] * 90)
    end(speeds, "b", [8.0, 8.0, 8.0, 2.0, 2.0, 2.0, 20.0, 2.0])
    assert speeds.now(Known(a="0", b="1"))[1] == 1.0


def test_nothing_is_said_of_workers_that_did_little_or_are_not_of_cosched_or_gone() -> None:
    speeds = WorkerSpeeds()
    end(speeds, "a", [2.0] * 2)
    end(speeds, "b", [2.0] * 3)
    end(speeds, "c", [2.0] * 3)
    end(speeds, "d", [0.001] * 9)
    known = Known(a="0", b="of somebody", c="3", d="4")
    assert speeds.now(known) == {3: 1.0}
    speeds.forget("c")
    assert speeds.now(known) == {}


def test_kinds_of_tasks_without_end_are_forgotten_but_those_that_are_done_again() -> None:
    speeds = WorkerSpeeds()
    end(speeds, "a", [2.0] * 50)
    for number in range(2000):  # a program that names each of its tasks anew
        end(speeds, "b", [1.0], f"part{number}")
        if number % 100 == 0:
            end(speeds, "a", [2.0])
    end(speeds, "b", [6.0] * 3)
    assert speeds.kinds == 500
    assert speeds.now(Known(a="0", b="1")) == {0: 1.0, 1: pytest.approx(1 / 3)}


@pytest.mark.daemon
def test_a_scheduler_tells_of_the_tasks_of_its_workers(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, _, client):
            speeds = WorkerSpeeds()
            TaskEnds(scheduler, speeds)
            await client.gather(client.map(_takes_a_moment, range(40), pure=False))
            await until(lambda: set(speeds.now(scheduler)) == {0, 1})
            assert all(speed > 0 for speed in speeds.now(scheduler).values())
            await scheduler.retire_workers(names=["1"], close_workers=True)
            await until(lambda: set(speeds.now(scheduler)) == {0})

    asyncio.run(run())


def _takes_a_moment(_number: int) -> None:
    time.sleep(0.05)
