from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.elastic.idle_loans import WholeHosts, lend_idle_hosts
from cosched.scheduling.elastic.tasks import ElasticProgress, ElasticTask

HALVING = tuple(64.0 / hosts for hosts in range(1, 9))
POWERS = (64.0, 32.0, math.inf, 16.0, math.inf, math.inf, math.inf, 8.0)


def running(name: str, hosts: int = 1, left: float = 1.0, cost: float = 1.0, **changes: object) -> ElasticProgress:
    seconds = changes.get("seconds", HALVING)
    assert isinstance(seconds, tuple)
    return ElasticProgress(ElasticTask(name, seconds, 1, len(seconds), 1, cost, cost), left, hosts)


def test_all_idle_hosts_are_lent_where_nobody_needs_them() -> None:
    free = dict.fromkeys("cab", math.inf)
    assert lend_idle_hosts([running("1", 2, cost=0.5)], WholeHosts(free), 2.0) == {"1": ("a", "b", "c")}
    assert lend_idle_hosts([running("1", 2)], WholeHosts(free), 2.0) == {"1": ("a", "b")}  # the last would not pay


def test_the_task_with_less_to_do_gains_more() -> None:
    tasks = [running("long", 2), running("short", 2, left=0.5)]
    assert lend_idle_hosts(tasks, WholeHosts({"a": math.inf}), 2.0) == {"short": ("a",)}


def test_a_host_that_is_needed_too_soon_to_pay_is_left_idle() -> None:
    idle = {"soon": 5.0, "later": 50.0}
    assert lend_idle_hosts([running("1", 2)], WholeHosts(idle), 2.0) == {"1": ("later",)}
    assert lend_idle_hosts([running("1", 2)], WholeHosts(idle), 0.0) == {"1": ("later", "soon")}


def test_a_task_is_lent_no_host_that_it_may_not_have_and_another_may_have_it() -> None:
    free = dict.fromkeys("abc", math.inf)
    alone = lend_idle_hosts([running("1", 2, cost=0.5)], WholeHosts(free, {"1": ["b", "c"]}), 2.0)
    assert alone == {"1": ("b", "c")}
    tasks = [running("1", 2, left=0.5, cost=0.1), running("2", 2, cost=0.1)]
    lent = lend_idle_hosts(tasks, WholeHosts(free, {"1": ["c"], "2": list("abc")}), 2.0)
    assert lent == {"1": ("c",), "2": ("a", "b")}
    assert lend_idle_hosts(tasks, WholeHosts(free, {"1": [], "2": []}), 2.0) == {}


def test_of_hosts_that_stay_idle_as_long_those_that_are_named_first_are_lent_first() -> None:
    idle = {"a": math.inf, "b": math.inf, "c": 50.0}
    order = {"1": ["c", "b", "a"], "2": ["a", "c", "b"]}
    assert lend_idle_hosts([running("1", 7, cost=0.1)], WholeHosts(idle, order), 2.0) == {"1": ("b",)}
    tasks = [running("1", 7, cost=0.1), running("2", 7, left=0.5, cost=0.1)]
    assert lend_idle_hosts(tasks, WholeHosts(idle, order), 2.0) == {"1": ("b",), "2": ("a",)}


def test_a_step_that_needs_several_hosts_takes_as_many_or_none() -> None:
    assert lend_idle_hosts([running("1", 2, seconds=POWERS)], WholeHosts(dict.fromkeys("abc", math.inf)), 2.0) == {
        "1": ("a", "b")
    }
    assert lend_idle_hosts([running("1", 2, seconds=POWERS)], WholeHosts({"a": math.inf}), 2.0) == {}


def test_what_costs_more_than_is_left_is_not_lent() -> None:
    assert lend_idle_hosts([running("1", 2, left=0.01)], WholeHosts(dict.fromkeys("abc", math.inf)), 2.0) == {}


@given(
    widths=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    horizons=st.lists(st.one_of(st.floats(0.0, 100.0), st.just(math.inf)), max_size=8),
    payback=st.sampled_from([0.0, 1.0, 2.0, 10.0]),
    left=st.floats(0.01, 1.0),
)
def test_no_host_is_lent_twice_and_no_task_gets_more_than_it_can_use(
    widths: list[int], horizons: list[float], payback: float, left: float
) -> None:
    tasks = [running(str(number), width, left) for number, width in enumerate(widths)]
    idle = {f"h{number}": horizon for number, horizon in enumerate(horizons)}
    lent = lend_idle_hosts(tasks, WholeHosts(idle), payback)
    given_out = [host for hosts in lent.values() for host in hosts]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) <= set(idle)
    for task in tasks:
        hosts = lent.get(task.task.id, ())
        wide = task.hosts + len(hosts)
        assert wide <= task.task.most
        if hosts:
            within = min(*(idle[host] for host in hosts), task.remaining_on(task.hosts))
            saved = within * (1 - task.remaining_on(wide) / task.remaining_on(task.hosts))
            assert saved >= payback * 2.0 or payback == 0.0 or len(hosts) > 1


def test_an_odd_number_of_hosts_is_used_by_who_can() -> None:
    tasks = [running("even", 2, seconds=POWERS), running("any", 2)]
    lent = lend_idle_hosts(tasks, WholeHosts(dict.fromkeys("abc", math.inf)), 2.0)
    assert sum(map(len, lent.values())) == 3
    assert len(lent.get("even", ())) in (0, 2)


@pytest.mark.parametrize("idle", [{}, {"a": 0.0}])
def test_nothing_is_lent_of_nothing(idle: dict[str, float]) -> None:
    assert lend_idle_hosts([running("1", 2)], WholeHosts(idle), 2.0) == {}
