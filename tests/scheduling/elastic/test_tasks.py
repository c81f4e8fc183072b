from __future__ import annotations

import math

import pytest

from cosched.scheduling.elastic.tasks import Allocation, ElasticPool, ElasticTask
from tests.scheduling.elastic.pools import elastic_task, firm, has, waits


def test_only_numbers_of_hosts_that_make_a_task_shorter_are_useful() -> None:
    task = ElasticTask("t", (9.0, 5.0, 5.0, 4.0, 6.0), 1, 5, 3)
    assert task.useful == (1, 2, 4)
    assert (task.optimal, task.shortest) == (4, 4.0)
    assert [task.on(hosts) for hosts in range(6)] == [math.inf, 9.0, 5.0, 5.0, 4.0, 4.0]
    assert [task.fitting(hosts) for hosts in range(6)] == [0, 1, 2, 2, 4, 4]
    assert (task.wider(2), task.wider(4), task.narrower(4), task.narrower(1)) == (4, None, 2, None)


@pytest.mark.parametrize(("least", "most", "preferred"), [(0, 1, 1), (2, 1, 2), (1, 3, 4), (1, 6, 1)])
def test_numbers_of_hosts_that_do_not_ascend_are_refused(least: int, most: int, preferred: int) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        ElasticTask("t", (9.0, 5.0, 4.0), least, most, preferred)


def test_a_task_must_run_on_its_least_hosts() -> None:
    with pytest.raises(ValueError, match="cannot run on its least number of hosts, 1"):
        ElasticTask("t", (math.inf, 5.0), 1, 2, 2)


def test_an_allocation_that_cannot_be_is_refused() -> None:
    rigid, elastic = firm(elastic_task("rigid", 8.0, 2, least=2)), elastic_task("elastic", 8.0, 4)
    pool = ElasticPool(0.0, 4, (waits(elastic),), (has(rigid, 2),))
    Allocation({"rigid": 2, "elastic": 2}).check(pool)
    for hosts, why in (
        ({"rigid": 3}, "has no such number"),
        ({"elastic": 4}, "cannot be suspended"),
        ({"rigid": 2, "elastic": 3}, "5 hosts are given, and there are 4"),
        ({"rigid": 2, "other": 1}, "is not there"),
    ):
        with pytest.raises(ValueError, match=why):
            Allocation(hosts).check(pool)
