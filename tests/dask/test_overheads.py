from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from cosched.dask.overheads import WorkerOverheads, union_seconds
from cosched.dask.task_ends import EndedTask, TaskEnds
from cosched.elastic_lead import LeadOffer, LeadOrder, LeadOverhead
from tests.dask.clusters import cluster, until

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = (LeadOrder(1, "h1", "stay", cluster="here"), LeadOrder(2, "h2", "stay", cluster="far"))
FAR = LeadOffer(1, ORDERS, cluster="here")


class Joined:
    """A worker as a scheduler knows it."""

    def __init__(self, name: object, threads: int) -> None:
        self.name = name
        self.nthreads = threads


class Known:
    """A scheduler with workers of these names, whose addresses are "w" and the name."""

    def __init__(self, *names: object, threads: int = 1) -> None:
        self.workers = {f"w{name}": Joined(name, threads) for name in names}


def about(overhead: LeadOverhead) -> tuple[float, float, float]:
    """Return idle, intra and inter, rounded."""
    return round(overhead.idle, 9), round(overhead.intra, 9), round(overhead.inter, 9)


def end(overheads: WorkerOverheads, worker: str, *times: tuple[str, float, float]) -> None:
    """Have a worker end a task: when it computed ("") and when it fetched data from which worker."""
    computed = tuple([(begin, stop) for source, begin, stop in times if not source])
    overheads.note(worker, EndedTask("solve-1", computed, tuple([each for each in times if each[0]])))


def test_the_time_of_a_worker_is_work_waiting_and_transfers_from_near_and_far() -> None:
    overheads = WorkerOverheads(Known(0, 1, 2))
    overheads.take(FAR)
    end(overheads, "w2", ("w0", 0.0, 3.0), ("", 3.0, 5.0))
    end(overheads, "w2", ("w1", 4.0, 6.0), ("", 6.0, 8.0))  # a second of it while it computed
    assert overheads.now() == {}  # too little is known
    end(overheads, "w2", ("", 8.0, 10.0))
    assert {worker: about(each) for worker, each in overheads.now().items()} == {2: (0.0, 0.0, 0.4)}
    for begin in (0.0, 4.0, 8.0):
        end(overheads, "w1", ("w0", begin, begin + 1), ("", begin + 1, begin + 2))
    assert about(overheads.now()[1]) == (0.4, 0.3, 0.0)


def test_with_more_threads_there_is_more_time_to_work() -> None:
    overheads = WorkerOverheads(Known(0, 1, 2, threads=2))
    overheads.take(FAR)
    for begin in (0.0, 5.0, 10.0):
        end(overheads, "w2", ("w0", begin, begin + 1), ("", begin, begin + 5))
    assert {worker: about(each) for worker, each in overheads.now().items()} == {2: (0.3, 0.0, 0.2)}


def test_in_one_cluster_or_none_nothing_is_said() -> None:
    for there in ("", "here"):
        overheads = WorkerOverheads(Known(0, 1))
        overheads.take(LeadOffer(1, (LeadOrder(1, "h1", "stay", cluster=there),), cluster=there))
        for begin in (0.0, 5.0, 10.0):
            end(overheads, "w1", ("w0", begin, begin + 4), ("", begin + 4, begin + 5))
        assert overheads.now() == {}


def test_a_worker_that_is_gone_is_forgotten() -> None:
    overheads = WorkerOverheads(Known(0, 1, 2))
    overheads.take(FAR)
    for begin in (0.0, 5.0, 10.0):
        end(overheads, "w2", ("w0", begin, begin + 4), ("", begin + 4, begin + 5))
    assert set(overheads.now()) == {2}
    overheads.forget("w2")
    assert overheads.now() == {}


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=8))
def test_time_within_several_spans_counts_once(spans: list[tuple[int, int]]) -> None:
    seconds = {second for begin, length in spans for second in range(begin, begin + length)}
    assert union_seconds([(float(begin), float(begin + length)) for begin, length in spans]) == len(seconds)


class Slow:
    """Data that takes a while to arrive."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (self.seconds,)


def _arrive(seconds: float) -> Slow:
    time.sleep(seconds)
    return Slow(seconds)


def _use(_data: Slow, number: int) -> int:
    time.sleep(0.02)
    return number


def test_a_scheduler_tells_of_data_from_workers_of_another_cluster(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0", "1") as (scheduler, _, client):
            overheads = WorkerOverheads(scheduler)
            overheads.take(LeadOffer(1, (LeadOrder(1, "h1", "stay", cluster="far"),), cluster="here"))
            TaskEnds(scheduler, overheads)
            (there,) = (address for address, each in scheduler.workers.items() if str(each.name) == "1")
            (here,) = (address for address, each in scheduler.workers.items() if str(each.name) == "0")
            data = client.submit(Slow, 0.5, workers=[here])
            await client.gather([client.submit(_use, data, number, workers=[there]) for number in range(5)])
            await until(lambda: 1 in overheads.now())
            assert overheads.now()[1].inter > 0.3

    asyncio.run(run())
