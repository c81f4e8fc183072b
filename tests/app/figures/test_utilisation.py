from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import FreeView, PlacementView, ResourceUseView
from cosched.app.figures.utilisation import (
    UsedResource,
    UsedSpan,
    UseGrouping,
    resource_use,
    spread,
    use_groups,
    used_resources,
    used_spans,
)
from cosched.app.history import HostUse
from tests.documents import host

FAST, SLOW = replace(host("f1"), host_class="fast"), replace(host("s1"), host_class="slow", cores=4)
FREE = FreeView(memory=0, cores=0, gpus=0)
NODE = replace(host("n1"), host_class="node", cores=64, memory=4096, gpus=4, free=FREE)
PLAIN = replace(host("n2"), host_class="plain", cores=64, memory=4096, free=FREE)


def test_a_use_counts_for_its_user_or_for_the_classes_of_its_hosts() -> None:
    uses = [HostUse("ann", ("f1", "s1", "gone"), 0.0, 9.0, 0), HostUse("", ("s1",), 1.0, 2.0, 1)]
    assert used_spans(uses, [FAST, SLOW], UsedResource.CORES, UseGrouping.CLASS) == [
        UsedSpan("fast", 1.0, 0.0, 9.0),
        UsedSpan("slow", 4.0, 0.0, 9.0),
        UsedSpan("slow", 1.0, 1.0, 2.0),
    ]
    assert used_spans(uses, [FAST, SLOW], UsedResource.HOSTS, UseGrouping.USER) == [
        UsedSpan("ann", 2.0, 0.0, 9.0),
        UsedSpan("others", 1.0, 1.0, 2.0),
    ]


def test_of_shared_hosts_each_resource_is_counted_that_there_is() -> None:
    assert used_resources([FAST, SLOW]) == [UsedResource.HOSTS]
    assert used_resources([PLAIN]) == [UsedResource.CORES, UsedResource.MEMORY]
    assert used_resources([PLAIN, NODE]) == [UsedResource.CORES, UsedResource.MEMORY, UsedResource.GPUS]


@pytest.mark.parametrize(
    ("resource", "taken", "whole"),
    [(UsedResource.CORES, 8.0, 64.0), (UsedResource.MEMORY, 1024.0, 4096.0), (UsedResource.GPUS, 3.0, 4.0)],
)
def test_a_task_has_what_it_took_of_a_host_or_all_of_one_for_itself(
    resource: UsedResource, taken: float, whole: float
) -> None:
    uses = [HostUse("ann", ("n1",), 0.0, 9.0, 8, 1024, 3), HostUse("bob", ("n1",), 9.0, 10.0, 0)]
    assert used_spans(uses, [NODE], resource, UseGrouping.USER) == [
        UsedSpan("ann", taken, 0.0, 9.0),
        UsedSpan("bob", whole, 9.0, 10.0),
    ]


def test_no_task_has_more_than_there_is() -> None:
    """A host may have shrunk since."""
    uses = [HostUse("ann", ("n2",), 0.0, 9.0, 99, 9999, 2)]
    assert used_spans(uses, [PLAIN], UsedResource.CORES, UseGrouping.CLASS)[0].amount == 64.0
    assert used_spans(uses, [PLAIN], UsedResource.MEMORY, UseGrouping.CLASS)[0].amount == 4096.0
    assert used_spans(uses, [PLAIN], UsedResource.GPUS, UseGrouping.CLASS) == []


def place(owner: str, start: float, end: float, **changes: Any) -> PlacementView:
    return PlacementView(task="7", hosts=("n1",), start=start, end=end, deadline=None, owner=owner, **changes)


def used(resource: UsedResource, hosts: int = 1) -> ResourceUseView:
    """Ann had two GPUs for half of the past, bob's task runs with half of the memory, carol's comes with all cores."""
    ended = [HostUse("ann", ("n1",), 100.0, 150.0, 4, 512, 2)]
    placements = [
        place("bob", 180.0, 220.0, running=True, cores=16, memory=2048),
        place("carol", 220.0, 300.0, running=False, cores=64, memory=1024),
    ]
    nodes = [replace(NODE, name=f"n{number}") for number in range(1, hosts + 1)]
    return resource_use(resource, nodes, ended, placements, UseGrouping.USER, 100.0, 10.0, (10, 20))


def test_past_now_and_plan_of_each_resource() -> None:
    cores, memory, gpus = used(UsedResource.CORES), used(UsedResource.MEMORY), used(UsedResource.GPUS)
    assert (cores.total, memory.total, gpus.total) == (64.0, 4096.0, 4.0)
    assert cores.past == pytest.approx(0.5 * 4 / 64 + 0.2 * 16 / 64)
    assert (cores.now, memory.now, gpus.now) == (0.25, 0.5, 0.0)
    assert cores.planned == pytest.approx(0.2 * 0.25 + 0.8)
    assert memory.planned == pytest.approx(0.2 * 0.5 + 0.8 * 0.25)
    assert gpus.past == pytest.approx(0.25)
    assert gpus.planned == 0.0
    assert [group.name for group in cores.groups] == ["ann", "bob", "carol"]
    assert [group.now for group in cores.groups] == [0.0, 0.25, 0.0]
    assert [group.name for group in gpus.groups] == ["ann"]
    assert gpus.groups[0].amounts == pytest.approx((2.0,) * 5 + (0.0,) * 15)


def test_what_is_planned_is_part_of_the_time_until_the_plan_ends() -> None:
    """All cores in use for five minutes more were 1.4 % of a tenth of a day."""
    run = place("ann", -50.0, 5.0, running=True, cores=64, memory=1)
    found = resource_use(UsedResource.CORES, [NODE], [], [run], UseGrouping.USER, -1000.0, 100.0, (10, 20))
    assert (found.planned, found.groups[0].planned) == (1.0, 1.0)


def test_hosts_without_tasks_count_among_all() -> None:
    assert used(UsedResource.MEMORY, hosts=2).now == 0.25


def test_what_runs_of_the_smaller_groups_is_among_the_others() -> None:
    placements = [
        place(f"user{number}", 0.0, 10.0 + number, running=True, cores=1, memory=1) for number in range(1, 12)
    ]
    found = resource_use(
        UsedResource.CORES,
        [NODE],
        [HostUse("", ("n1",), -9.0, -1.0, 3)],
        placements,
        UseGrouping.USER,
        -10.0,
        1.0,
        (10, 20),
    )
    assert len(found.groups) == 9
    assert found.groups[-1].name == "others"
    assert found.groups[-1].now == pytest.approx(3 / 64)
    assert found.now == pytest.approx(sum(group.now for group in found.groups))


def test_nothing_is_used_where_nothing_is() -> None:
    found = resource_use(UsedResource.HOSTS, [], [], [place("ann", 0, 9, running=True)], UseGrouping.USER, 0, 1, (2, 3))
    assert (found.total, found.past, found.now, found.planned, found.groups) == (0.0, 0.0, 0.0, 0.0, ())


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(0, 9), st.floats(-50, 150), st.floats(0, 99)).map(
            lambda drawn: UsedSpan(drawn[0], drawn[1], drawn[2], drawn[2] + drawn[3])
        )
    ),
    st.integers(1, 40),
)
def test_what_is_told_is_what_was_used(spans: list[UsedSpan], parts: int) -> None:
    part = 100.0 / parts
    amounts = spread(spans, 0.0, part, parts)
    told = sum(sum(each) for each in amounts.values()) * part
    meant = sum(span.amount * max(min(span.end, 100.0) - max(span.start, 0.0), 0.0) for span in spans)
    assert told == pytest.approx(meant, abs=1e-6)
    assert all(len(each) == parts for each in amounts.values())


def test_the_smallest_groups_are_together_last() -> None:
    amounts = {f"user{number}": [float(number)] for number in range(1, 12)} | {"others": [100.0]}
    found = use_groups(amounts)
    assert list(found) == [*sorted(f"user{number}" for number in range(4, 12)), "others"]
    assert found["others"] == [100.0 + 1 + 2 + 3]
