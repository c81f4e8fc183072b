from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import EditRequested, HostsObserved, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, settings, start, submit

GIB = 1024


def pool(*memory: int | None) -> Coscheduler:
    """Return a core with hosts of so many GiB each."""
    core = Coscheduler(settings())
    seen = zip(hosts(len(memory)), memory, strict=True)
    core.handle(HostsObserved(0.0, tuple(replace(host, memory=size and size * GIB) for host, size in seen)))
    return core


def test_a_task_goes_only_to_hosts_that_have_what_it_needs() -> None:
    core = pool(8, 64, 8, 64)
    (first,) = dispatched(submit(core, a_task(1, [10.0], memory=16 * GIB)))
    (second,) = dispatched(submit(core, a_task(2, [10.0], memory=16 * GIB), 0.1))
    assert {*first.hosts, *second.hosts} == {"node02", "node04"}
    assert not dispatched(submit(core, a_task(3, [10.0], memory=16 * GIB), 0.2))
    (small,) = dispatched(submit(core, a_task(4, [10.0], memory=4 * GIB), 0.3))
    assert small.hosts in {("node01",), ("node03",)}
    start(core, first, 0.5)
    (third,) = dispatched(complete(core, first, 0.5, 5.0))
    assert (third.task, third.hosts) == ("3", first.hosts)


def test_a_new_task_is_foreseen_where_it_can_run_though_no_other_needs_anything() -> None:
    for waiting in (0, 3):
        core = pool(8, 8, 64)
        for number in range(1, waiting + 1):
            submit(core, a_task(number, [10.0]))
        place = predict_placement(core, a_task(9, [5.0], memory=16 * GIB), 0.0)
        assert place is not None
        assert place.hosts == ("node03",)
    assert predict_placement(pool(8, 8), a_task(9, [5.0], memory=16 * GIB), 0.0) is None


def test_a_waiting_task_that_needs_more_waits_for_other_hosts() -> None:
    core = pool(64, 8)
    (first,) = dispatched(submit(core, a_task(1, [10.0], memory=16 * GIB)))
    submit(core, a_task(2, [10.0], begin=2.0, memory=4 * GIB))
    core.handle(EditRequested(1.0, "2", TaskEdit(memory=16 * GIB), "ann"))
    start(core, first, 0.5)
    assert not dispatched(core.handle(Tick(3.0)))
    core.handle(EditRequested(4.0, "2", TaskEdit(memory=0), "ann"))
    assert core.attempt_of("2") is not None


def test_a_task_takes_no_more_hosts_than_have_what_it_needs() -> None:
    core = pool(8, 64, 64)
    (attempt,) = dispatched(submit(core, a_task(1, [30.0, 20.0, 1.0], memory=16 * GIB, deadline=25.0)))
    assert attempt.hosts == ("node02", "node03")


@pytest.mark.parametrize("memory", [(64, 8), (None, 8)])
def test_what_a_manager_does_not_say_is_not_missing(memory: tuple[int | None, ...]) -> None:
    core = pool(*memory)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], memory=16 * GIB)))
    assert attempt.hosts == ("node01",)


def test_a_task_waits_for_hosts_that_have_what_it_needs() -> None:
    core = pool(64, 8)
    core.handle(HostsObserved(1.0, tuple(replace(host, memory=8 * GIB) for host in hosts(2))))
    assert not dispatched(submit(core, a_task(1, [10.0], memory=16 * GIB), 2.0))
    found = explain(core, "1", 3.0)
    assert found is not None
    assert "0 are up that have what it asks for" in found.waits_for[0]
    grown = tuple(replace(host, memory=32 * GIB) for host in hosts(2))
    assert dispatched(core.handle(HostsObserved(4.0, grown)))


def test_tasks_that_say_nothing_are_planned_on_all_hosts_as_before() -> None:
    core = pool(8, 64)
    plain = a_core(2)
    for each in (core, plain):
        submit(each, a_task(1, [10.0, 6.0], deadline=100.0))
        each.handle(Tick(1.0))
    assert core.plan == plain.plan
    assert [attempt.hosts for attempt in core.attempts.values()] == [
        attempt.hosts for attempt in plain.attempts.values()
    ]


def test_a_task_that_names_a_partition_has_its_hosts_alone() -> None:
    """A user's own script with --partition was planned on hosts outside, where the manager refused it."""
    core = Coscheduler(settings())
    inside = {"node01": ("short",), "node02": ("long", "short"), "node03": ("short",), "node04": ("long", "short")}
    core.handle(HostsObserved(0.0, tuple(replace(host, partitions=inside[host.name]) for host in hosts(4))))
    place = predict_placement(core, a_task(9, [5.0], partition="long"), 0.0)
    assert place is not None
    assert place.hosts == ("node02",)
    (wide,) = dispatched(submit(core, a_task(1, [30.0, 20.0, 12.0, 1.0], partition="long", deadline=25.0)))
    assert wide.hosts == ("node02", "node04")
    assert not dispatched(submit(core, a_task(2, [10.0], partition="long"), 0.1))
    found = explain(core, "2", 0.2)
    assert found is not None
    assert found.waits_for == ("on hosts it will use: 1 (t1, dispatching)",)
    (other,) = dispatched(submit(core, a_task(3, [10.0, 4.0], deadline=6.0), 0.3))
    assert other.hosts == ("node01", "node03")


def test_a_task_that_names_a_partition_without_hosts_that_are_up_says_so() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, tuple(replace(host, partitions=("short",)) for host in hosts(2))))
    assert not dispatched(submit(core, a_task(1, [10.0], partition="long")))
    found = explain(core, "1", 1.0)
    assert found is not None
    assert "0 are up that have what it asks for" in found.waits_for[0]
    (known,) = dispatched(core.handle(HostsObserved(2.0, tuple(hosts(2)))))  # a manager without partitions
    assert known.hosts == ("node01",)
