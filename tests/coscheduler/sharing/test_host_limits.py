from __future__ import annotations

import pytest

from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.coscheduler.makers import a_task, dispatched, settings, shared, start, submit


def limited(hosts: int, cores: int) -> Coscheduler:
    """Return a core with shared hosts of so many cores, of which each user may have one host."""
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, tuple(Host(f"n{n}", cores=cores, memory=1024 * cores) for n in range(hosts))))
    return shared(core, Shares(half_life=1e9, default=Share(hosts=1)))


@pytest.mark.parametrize("cores", [5, 6, 10, 24, 96])
def test_small_tasks_have_all_of_the_hosts_that_a_limit_allows_though_their_parts_are_no_round_numbers(
    cores: int,
) -> None:
    core = limited(2, cores)
    left = [dispatched(submit(core, a_task(number, [100.0], cores=1))) for number in range(1, cores + 2)]
    assert [len(each) for each in left] == [1] * cores + [0]


@pytest.mark.parametrize("cores", [5, 6, 10, 24, 96])
def test_it_is_known_when_a_whole_host_is_free_again_under_a_limit_that_small_tasks_reach(cores: int) -> None:
    """Dry runs failed by a mistake of cosched's: parts that were added and taken away again left some of them."""
    core = limited(2, cores)
    for number in range(1, cores + 1):
        (attempt,) = dispatched(submit(core, a_task(number, [100.0], cores=1)))
        start(core, attempt, 1.0)
    found = predict_placement(core, a_task(500, [100.0], cores=cores), 5.0)
    assert found is not None
    assert (found.start, found.end) == (101.0, 201.0)


def test_a_task_starts_that_needs_all_that_a_limit_allows_in_parts_of_hosts() -> None:
    """On sixteen hosts a fifth of each is a little more than that, on average."""
    core = limited(16, 10)
    assert len(dispatched(submit(core, a_task(1, [float("inf")] * 4 + [100.0], cores=2)))) == 1
    assert not dispatched(submit(core, a_task(2, [100.0], cores=1), 1.0))
    why = explain(core, "2", 1.0)
    assert why is not None
    assert "may have 1 at once" in why.waits_for[0]
