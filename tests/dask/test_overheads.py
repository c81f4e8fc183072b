from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from cosched.dask.overheads import WorkerOverheads, union_seconds
from cosched.dask.task_ends import EndedTask, TaskEnds
from cosched.dask.transfers import dask_setup
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
        self.address = f"w{name}"
        self.nthreads = threads
        self.metrics: dict[str, list[tuple[str, float, float]]] = {"cosched-transfers": []}


class Known:
    """A scheduler with workers of these names, whose addresses are "w" and the name."""

    def __init__(self, *names: object, threads: int = 1) -> None:
        self.workers = {f"w{name}": Joined(name, threads) for name in names}


def about(overhead: LeadOverhead) -> tuple[float, float, float]:
    """Return idle, intra and inter, rounded."""
    return round(overhead.idle, 9), round(overhead.intra, 9), round(overhead.inter, 9)


class Story:
    """Workers 1 (in the lead's cluster) and 2 (in another one), and what they have done."""

    def __init__(self, threads: int = 1, offer: LeadOffer = FAR) -> None:
        self.scheduler = Known(0, 1, 2, threads=threads)
        self.overheads = WorkerOverheads(self.scheduler)
        self.overheads.take(offer)

    def computes(self, worker: str, begin: float, stop: float) -> None:
        """Have a worker end a task."""
        self.overheads.note(worker, EndedTask("solve-1", ((begin, stop),)))

    def fetches(self, worker: str, source: str, begin: float, stop: float) -> None:
        """Have a worker tell of data that it fetched."""
        self.scheduler.workers[worker].metrics["cosched-transfers"].append((source, begin, stop))

    def told(self) -> dict[int, tuple[float, float, float]]:
        """Return idle, intra and inter of each worker of which something is said."""
        return {worker: about(each) for worker, each in self.overheads.now().items()}


def test_the_time_of_a_worker_is_work_waiting_and_transfers_from_near_and_far() -> None:
    story = Story()
    story.fetches("w2", "w0", 0.0, 1.5)
    story.computes("w2", 1.5, 2.5)
    story.fetches("w2", "w1", 2.0, 3.0)  # half a second of it while it computed
    story.computes("w2", 3.0, 4.0)
    assert story.told() == {}  # too little is known
    story.computes("w2", 4.0, 5.0)
    assert story.told() == {2: (0.0, 0.0, 0.4)}
    for begin in (0.0, 4.0, 8.0):
        story.fetches("w1", "w0", begin, begin + 1)
        story.computes("w1", begin + 1, begin + 2)
    assert story.told()[1] == (0.4, 0.3, 0.0)


def test_a_worker_that_waits_for_data_is_told_of_though_it_has_ended_few_tasks() -> None:
    story = Story()
    for worker, long in (("w1", 4.0), ("w2", 7.0)):
        story.fetches(worker, "w0", 0.0, long)
        assert story.told() == {}
        story.computes(worker, long, long + 0.5)
    story.computes("w2", 7.5, 8.0)
    assert story.told() == {2: (0.0, 0.0, 0.875)}


def test_data_counts_that_was_fetched_for_a_task_which_another_worker_did() -> None:
    story = Story()
    for begin in (0.0, 10.0, 20.0):
        story.fetches("w2", "w0", begin, begin + 8)
        story.computes("w2", begin + 9, begin + 10)
    assert story.told() == {2: (0.1, 0.0, 0.8)}


def test_data_counts_from_a_worker_that_is_gone() -> None:
    story = Story()
    story.fetches("w2", "w1", 0.0, 3.0)
    for begin in (3.0, 4.0, 5.0):
        story.computes("w2", begin, begin + 1)
    before = story.told()
    del story.scheduler.workers["w1"]
    assert story.told() == before == {2: (0.0, 0.0, 0.5)}


def test_only_the_last_tasks_of_a_worker_count() -> None:
    story = Story()
    story.fetches("w2", "w0", 0.0, 50.0)
    for second in range(50, 80):
        story.computes("w2", second, second + 1)
    story.fetches("w2", "w0", 80.0, 99.0)  # for what it has not ended
    assert story.told() == {2: (0.0, 0.0, 0.0)}


def test_with_more_threads_there_is_more_time_to_work() -> None:
    story = Story(threads=2)
    for begin in (0.0, 5.0, 10.0):
        story.fetches("w2", "w0", begin, begin + 1)
        story.computes("w2", begin, begin + 5)
    assert story.told() == {2: (0.3, 0.0, 0.2)}


def test_in_one_cluster_or_none_nothing_is_said() -> None:
    for there in ("", "here"):
        story = Story(offer=LeadOffer(1, (LeadOrder(1, "h1", "stay", cluster=there),), cluster=there))
        for begin in (0.0, 5.0, 10.0):
            story.fetches("w1", "w0", begin, begin + 4)
            story.computes("w1", begin + 4, begin + 5)
        assert story.told() == {}


def test_a_worker_that_is_gone_is_forgotten() -> None:
    story = Story()
    for begin in (0.0, 5.0, 10.0):
        story.computes("w2", begin + 4, begin + 5)
    assert set(story.told()) == {2}
    story.overheads.forget("w2")
    assert story.told() == {}


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
        async with cluster(tmp_path, "0", "1") as (scheduler, workers, client):
            overheads = WorkerOverheads(scheduler)
            overheads.take(LeadOffer(1, (LeadOrder(1, "h1", "stay", cluster="far"),), cluster="here"))
            TaskEnds(scheduler, overheads)
            dask_setup(workers["1"])
            (there,) = (address for address, each in scheduler.workers.items() if str(each.name) == "1")
            (here,) = (address for address, each in scheduler.workers.items() if str(each.name) == "0")
            data = client.submit(Slow, 0.5, workers=[here])
            await client.gather([client.submit(_use, data, number, workers=[there]) for number in range(5)])
            await until(lambda: 1 in (told := overheads.now()) and told[1].inter > 0.3)  # with a later heartbeat

    asyncio.run(run())
