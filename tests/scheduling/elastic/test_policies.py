"""Every policy on drawn pools, and each on a pool that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.elastic.registry import ELASTIC_POLICIES
from cosched.scheduling.elastic.sharing import fitted_power
from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticPool, ElasticTask, HostLoan, PoolMemory
from tests.scheduling.elastic.pools import HOSTS, drawn_pools, elastic_task, firm, has, waits

PARAMETERS = ElasticParameters()


def given_by(name: str, pool: ElasticPool, parameters: ElasticParameters = PARAMETERS) -> dict[str, int]:
    allocation = ELASTIC_POLICIES[ElasticPolicyName(name)].reshape(pool, parameters)
    allocation.check(pool)
    return dict(allocation.hosts)


@given(pool=drawn_pools(), name=st.sampled_from(list(ElasticPolicyName)), backfill=st.booleans())
def test_every_policy_gives_what_can_be_given_and_the_same_again(
    pool: ElasticPool, name: ElasticPolicyName, backfill: bool
) -> None:
    policy, parameters = ELASTIC_POLICIES[name], ElasticParameters(backfill=backfill)
    allocation = policy.reshape(pool, parameters)
    allocation.check(pool)
    assert allocation == policy.reshape(pool, parameters)
    if not policy.resizes:
        assert all(allocation.hosts[each.task.id] == each.hosts for each in pool.running)
    if not pool.running and any(each.task.least <= HOSTS for each in pool.waiting[:1]):
        assert allocation.hosts  # somebody starts on hosts that are all idle


@given(pool=drawn_pools(), harvest=st.floats(1.0, 3.0))
def test_srt_harvest_takes_hosts_only_of_tasks_that_run_longer_and_are_not_protected(
    pool: ElasticPool, harvest: float
) -> None:
    protected = frozenset(each.task.id for each in pool.running[::2])
    pool = ElasticPool(pool.time, pool.hosts, pool.waiting, pool.running, PoolMemory(protected), pool.event)
    hosts = given_by("srt-harvest", pool, ElasticParameters(harvest=harvest))
    started = [each for each in pool.waiting if each.task.id in hosts]
    for lender in pool.running:
        if hosts.get(lender.task.id, 0) < lender.hosts:
            assert lender.task.id not in protected
            assert any(
                each.remaining_on(hosts[each.task.id]) * (harvest if lender.task.id in hosts else 1.0)
                < lender.remaining
                for each in started
            )


@given(pool=drawn_pools(), impact=st.floats(1.05, 3.0))
def test_ib_harvest_makes_nobody_slower_than_its_threshold(pool: ElasticPool, impact: float) -> None:
    hosts = given_by("ib-harvest", pool, ElasticParameters(impact=impact))
    for each in pool.running:
        if hosts[each.task.id] < each.hosts:
            took = pool.time - (each.began or 0.0) + each.pause + each.remaining_on(hosts[each.task.id])
            assert took < impact * each.task.shortest
    for each in pool.waiting:
        if each.task.id in hosts:
            assert each.task.on(hosts[each.task.id]) < impact * each.task.shortest


@given(pool=drawn_pools())
def test_keep_preferred_takes_only_what_tasks_have_beyond_their_preferred_number(pool: ElasticPool) -> None:
    hosts = given_by("keep-preferred", pool)
    assert all(hosts[each.task.id] >= min(each.hosts, each.task.preferred) for each in pool.running)


def test_ideal_waits_for_all_hosts_and_moldable_starts_on_what_is_idle() -> None:
    pool = ElasticPool(0.0, 8, (waits(elastic_task("next", 80.0)),), (has(elastic_task("first", 80.0), 5),))
    assert given_by("ideal", pool) == {"first": 5}
    assert given_by("moldable-now", pool) == {"first": 5, "next": 3}


def test_backfilling_starts_only_what_does_not_delay_the_first_that_waits() -> None:
    first = has(firm(elastic_task("first", 60.0, 6, least=6)), 6)  # ends at 10
    wide, short, long = (
        waits(elastic_task(name, work, least, least=least, submitted=when))
        for name, work, least, when in (("wide", 80.0, 8, 1.0), ("long", 22.0, 2, 2.0), ("short", 18.0, 2, 3.0))
    )
    pool = ElasticPool(0.0, 8, (wide, short, long), (first,))
    assert given_by("moldable-now", pool) == {"first": 6}
    assert given_by("moldable-now", pool, ElasticParameters(backfill=True)) == {"first": 6, "short": 2}


def test_backfilling_counts_all_hosts_that_come_back_when_the_first_that_waits_can_start() -> None:
    running = (
        has(firm(elastic_task("four", 40.0, 4, least=4)), 4),
        has(firm(elastic_task("two", 20.0, 2, least=2)), 2),
    )
    wide = waits(elastic_task("wide", 80.0, 6, least=6, submitted=1.0))  # at 10, and leaves two hosts
    long = waits(elastic_task("long", 44.0, 2, least=2, submitted=2.0))
    pool = ElasticPool(0.0, 8, (wide, long), running)
    assert given_by("moldable-now", pool, ElasticParameters(backfill=True)) == {"four": 4, "two": 2, "long": 2}


def test_srt_harvest_starts_a_short_task_on_hosts_of_the_longest() -> None:
    running = (has(elastic_task("longest", 800.0), 4), has(elastic_task("longer", 400.0), 4))
    pool = ElasticPool(0.0, 8, (waits(elastic_task("short", 24.0, 3)),), running)
    assert given_by("srt-harvest", pool) == {"longest": 1, "longer": 4, "short": 3}
    assert given_by("srt-harvest", pool, ElasticParameters(harvest=25.0)) == {"longest": 4, "longer": 4}


def test_srt_harvest_lets_a_harvested_task_leave_its_rest_to_one_that_ends_earlier_on_it() -> None:
    waiting = (waits(elastic_task("short", 28.0, 7)), waits(elastic_task("shorter than the rest", 100.0, 1)))
    pool = ElasticPool(0.0, 8, waiting, (has(elastic_task("long", 800.0), 8),))
    assert given_by("srt-harvest", pool) == {"short": 7, "shorter than the rest": 1}


def test_srt_harvest_protects_a_task_that_has_waited_too_long() -> None:
    late = waits(elastic_task("late", 80.0))  # its shortest run time is 10 s
    pool = ElasticPool(121.0, 8, (late,), (has(elastic_task("long", 800.0), 6),))
    allocation = ELASTIC_POLICIES[ElasticPolicyName.SRT_HARVEST].reshape(pool, PARAMETERS)
    assert allocation.hosts == {"long": 6, "late": 2}
    assert allocation.memory.protected == {"late"}
    earlier = ElasticPool(119.0, 8, pool.waiting, pool.running)
    assert ELASTIC_POLICIES[ElasticPolicyName.SRT_HARVEST].reshape(earlier, PARAMETERS).hosts == {"late": 8}


def test_srt_harvest_gives_idle_hosts_to_whoever_ends_next() -> None:
    running = (has(elastic_task("short", 80.0), 2), has(elastic_task("long", 800.0), 2))
    long = waits(elastic_task("waiting", 880.0))
    assert given_by("srt-harvest", ElasticPool(0.0, 8, (long,), running)) == {"short": 6, "long": 2}
    assert given_by("srt-harvest", ElasticPool(0.0, 8, (waits(elastic_task("waiting", 8.0)),), running))["waiting"] == 8


def test_ib_harvest_takes_as_few_as_are_needed_and_gives_them_back_at_the_end() -> None:
    lender, borrower = elastic_task("lender", 80.0), elastic_task("borrower", 80.0)
    pool = ElasticPool(0.0, 8, (waits(borrower),), (has(lender, 8, left=0.25),))
    policy = ELASTIC_POLICIES[ElasticPolicyName.IB_HARVEST]
    parameters = ElasticParameters(
        impact=2.1
    )  # a threshold of 21 s: 4 hosts for the new one, 1 for the rest of the old
    allocation = policy.reshape(pool, parameters)
    assert allocation.hosts == {"lender": 4, "borrower": 4}
    assert allocation.memory.loans == (HostLoan("lender", "borrower", 4),)
    ended = ElasticPool(5.0, 8, (), (has(lender, 4, left=0.1),), allocation.memory)
    allocation = policy.reshape(ended, parameters)
    assert allocation.hosts == {"lender": 8}
    assert allocation.memory.loans == ()


def test_equi_gives_everybody_as_many() -> None:
    waiting = tuple(waits(elastic_task(name, 80.0, submitted=1.0)) for name in ("b", "c"))
    pool = ElasticPool(2.0, 8, waiting, (has(elastic_task("a", 80.0), 8),))
    assert sorted(given_by("equi", pool).values()) == [2, 3, 3]


def test_hesrpt_gives_parts_by_the_theorem() -> None:
    def task(name: str, work: float) -> ElasticTask:
        return ElasticTask(name, tuple(work / math.sqrt(count) for count in range(1, 9)), 1, 8, 1, suspendable=True)

    assert fitted_power(task("t", 9.0)) == pytest.approx(0.5)
    pool = ElasticPool(0.0, 8, (waits(task("large", 90.0)), waits(task("small", 9.0))), ())
    # p = 1/2: the larger has (1/2)², a quarter of the hosts
    assert given_by("hesrpt", pool) == {"small": 6, "large": 2}


def test_satin_grows_while_it_is_efficient_and_shrinks_where_it_is_not() -> None:
    efficient, wasteful = elastic_task("efficient", 80.0), elastic_task("wasteful", 80.0, serial=79.0)
    pool = ElasticPool(0.0, 8, (), (has(efficient, 2), has(wasteful, 5)))
    # efficiencies 1 and 0.20: the one wants 2 · 1/0.5, the other leaves ⌈5 (1 - 0.20/0.5)⌉
    assert given_by("satin", pool) == {"efficient": 4, "wasteful": 2}


def test_marginal_gives_the_next_host_to_whom_it_saves_most_for_what_is_left() -> None:
    running = (has(elastic_task("long", 800.0), 2), has(elastic_task("short", 80.0, 4), 2))
    assert given_by("marginal", ElasticPool(0.0, 8, (), running)) == {"long": 4, "short": 4}


def test_marginal_takes_hosts_back_for_a_task_that_waits_down_to_the_promise() -> None:
    lender = firm(elastic_task("lender", 80.0, least=2))
    rigid = waits(firm(elastic_task("rigid", 60.0, 6, least=6)))
    assert given_by("marginal", ElasticPool(0.0, 8, (rigid,), (has(lender, 8),))) == {"lender": 2, "rigid": 6}
    wider = waits(firm(elastic_task("wider", 60.0, 7, least=7)))
    assert given_by("marginal", ElasticPool(0.0, 8, (wider,), (has(lender, 8),))) == {"lender": 8}


def test_marginal_changes_nothing_that_does_not_pay_twice() -> None:
    def widths(cost: float, waiting: bool) -> dict[str, int]:
        running = (has(firm(elastic_task("ends", 8.0, 4, least=4), cost=cost), 4), has(firm(long, cost=cost), 2))
        blocked = (waits(firm(elastic_task("blocked", 60.0, 8, least=8))),) if waiting else ()
        return given_by("marginal", ElasticPool(0.0, 8, blocked, running))

    long = elastic_task("long", 80.0)  # 40 s on 2 hosts; 20 on 4
    assert widths(4.9, waiting=False)["long"] == 4
    assert widths(5.1, waiting=False)["long"] == 2  # it would save 20 s, and cost twice 10.2: it is given back, too
    assert widths(0.2, waiting=True)["long"] == 4  # until the next end, in 2 s, it saves half of these
    assert widths(0.3, waiting=True)["long"] == 2
