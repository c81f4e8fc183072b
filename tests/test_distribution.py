from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.distribution import from_both_ends, group_of, name_units, sort_for_workers, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Item:
    """A test as far as it is looked at, with its marks."""

    def __init__(self, name: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid = name
        self._marks = [mark.mark for mark in marks]

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return (mark for mark in self._marks if mark.name == name)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(self.iter_markers(name), None)


def order(*items: Item) -> list[str]:
    found: list[Any] = [*items]
    sort_for_workers(found)
    return [item.nodeid for item in found]


GROUP, POOL = pytest.mark.xdist_group("pool"), pytest.mark.pool


def test_what_waits_comes_first_and_what_is_long_stands_at_the_ends() -> None:
    slow = pytest.mark.slow
    sums = [Item(f"sums{number}", pytest.mark.xdist_group("sums")) for number in range(3)]
    pools = [Item(f"pool{number}", GROUP, POOL) for number in range(2)]
    daemons = [Item("daemon", pytest.mark.daemon, slow), Item("grid", pytest.mark.daemon, slow(60))]
    items = [Item("usual"), *sums, Item("search", slow), *pools, *daemons]
    waits, computes = ["grid", "daemon", "pool0", "pool1"], ["usual", "sums0", "sums1", "sums2", "search"]
    assert order(*items) == [*waits, *computes]


def test_a_group_waits_as_a_whole_where_one_of_it_does() -> None:
    assert order(Item("x"), Item("a", GROUP), Item("b", GROUP, POOL)) == ["a", "b", "x"]


def test_a_test_of_two_groups_is_of_one_that_has_both_names() -> None:
    item = Item("x", pytest.mark.xdist_group("b"), pytest.mark.xdist_group("a"))
    assert group_of(cast("pytest.Item", item)) == "a_b"


def test_quick_tests_of_a_file_stay_together_and_those_that_wait_or_are_slow_stand_alone() -> None:
    quick = [Item("test_a.py::test_one"), Item("test_a.py::Test::test_two[b::c]"), Item("test_b.py::test_one")]
    alone = [Item("test_a.py::test_daemon", pytest.mark.daemon), Item("test_a.py::test_long", pytest.mark.slow)]
    units = [unit_of(cast("pytest.Item", item)) for item in (*quick, *alone, Item("test_a.py::test_pool", GROUP))]
    assert units == ["test_a.py", "test_a.py", "test_b.py", "test_a.py::test_daemon", "test_a.py::test_long", "pool"]


class WorkerInteractor:
    """What tells of a worker's tests, as far as it is looked at."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def sendevent(self, name: str, **words: Any) -> None:
        self.sent.append((name, words))


def test_who_hands_tests_out_learns_their_units() -> None:
    worker = WorkerInteractor()
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugins=lambda: {object(), worker}))
    items = [Item("a.py::test_a"), Item("a.py::test_b@pool", GROUP, POOL), Item("a.py::test_c", pytest.mark.slow)]
    name_units(cast("pytest.Session", SimpleNamespace(config=config, items=items)))
    worker.sendevent("collectionfinish", topdir="/", ids=[])
    worker.sendevent("logstart", nodeid="a")
    units = ["a.py::test_a@a.py", "a.py::test_b@pool", "a.py::test_c"]
    assert worker.sent == [("collectionfinish", {"topdir": "/", "ids": units}), ("logstart", {"nodeid": "a"})]


class Worker:
    """A process of the tests as far as it is told what to run."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.told: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.told += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def test_each_test_is_handed_out_once_groups_whole_and_a_third_of_them_from_the_end() -> None:
    option = SimpleNamespace(tx=["3*popen"], loadscopereorder=True)
    config: Any = SimpleNamespace(option=option, getvalue=lambda name: getattr(option, name))
    scheduling = from_both_ends(config, None)
    workers = [Worker(number) for number in range(3)]
    names = [f"test_{number}@group" if number < 5 else f"test_{number}" for number in range(40)]
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        scheduling.add_node_collection(worker, names)
    scheduling.schedule()
    first = [worker.told[0] for worker in workers]
    ran: list[int] = []
    while any(worker.told for worker in workers):
        for worker in [each for each in workers if each.told]:
            ran.append(worker.told.pop(0))
            scheduling.mark_test_complete(worker, ran[-1])
            if len(ran) == 30:
                assert scheduling.has_pending
    assert first == [0, 5, 39]
    assert sorted(ran) == [*range(40)]
    assert not scheduling.has_pending
    assert scheduling.tests_finished
