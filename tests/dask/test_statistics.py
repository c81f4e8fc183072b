from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.dask.statistics import Figures, SteadyWish
from tests.dask.clusters import begun, cluster, until, waiting

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.daemon
def test_what_is_done_and_left_is_reckoned_by_the_mean_of_its_kind(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "0") as (scheduler, _, client):
            assert Figures.of(scheduler) == Figures(0.0, 0.0, 0)
            held = client.map(waiting, range(4), folder=str(tmp_path), pure=False)
            last = client.submit(sum, held)
            await until(lambda: len(begun(tmp_path)) == 1)
            await until(lambda: Figures.of(scheduler).left == pytest.approx(5 * 0.5))  # nothing is known yet
            before = Figures.of(scheduler)
            assert before.done == 0.0
            assert before.ready == 4  # the sum waits for them
            (tmp_path / str(begun(tmp_path)[0])).touch()
            # A worker begins its next task before its scheduler hears of the last.
            await until(lambda: len(begun(tmp_path)) == 2 and Figures.of(scheduler).done > 0)
            after = Figures.of(scheduler)
            mean = scheduler.task_prefixes["waiting"].duration_average
            assert after.done == pytest.approx(mean)
            assert after.left == pytest.approx(4 * mean)
            assert after.ready == 3
            for number in range(4):
                (tmp_path / str(number)).touch()
            assert await last == 6
            assert (Figures.of(scheduler).left, Figures.of(scheduler).ready) == (0.0, 0)

    asyncio.run(run())


@pytest.mark.parametrize(("ready", "threads", "hosts"), [(0, 1, 1), (3, 1, 3), (9, 4, 3), (8, 4, 2), (1, 8, 1)])
def test_hosts_are_of_use_where_each_of_their_threads_has_a_task(ready: int, threads: int, hosts: int) -> None:
    assert Figures(0.0, 0.0, ready).useful_hosts(threads) == hosts


@given(st.lists(st.tuples(st.floats(0.0, 20.0), st.integers(1, 50)), min_size=1, max_size=30))
def test_a_wish_grows_at_once_and_falls_when_it_has_been_less_for_long(drawn: list[tuple[float, int]]) -> None:
    steady, time, past = SteadyWish(30.0), 0.0, list[tuple[float, int]]()
    for pause, hosts in drawn:
        time += pause
        past.append((time, hosts))
        assert steady.now(hosts, time) == max(each for at, each in past if at >= time - 30.0)
