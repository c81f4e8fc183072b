from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from cosched.connector.hosts import Host, HostShare
from cosched.daemon.load_watch import LoadWatch
from cosched.store import Store
from cosched.store.database import StoreFault
from cosched.store.host_loads import HostLoadTable
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cosched.prediction.loads.load_history import HourlyLoad, LoadHistory

HOUR = 3600.0
START = 400_000 * HOUR
END = START + 10 * HOUR


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


def a_watch(table: HostLoadTable, *, planned: bool = True) -> LoadWatch:
    return LoadWatch(table, lambda: END, planned=planned)


def looked(watch: LoadWatch, until: float = END) -> None:
    """Have a watch see a host whose owner is there in half of the time, one with foreign jobs, and one without."""
    time = START
    while time < until:
        there, parts = float(time % 1200 < 600), HostShare(cores=4 if time % 2400 < 600 else 0)
        hosts = (Host("a", owner_takes=there), Host("b", cores=8, others=parts), Host("c"))
        watch.look(hosts, time)
        time += 30


def hosts_of(watch: LoadWatch) -> tuple[list[str], list[str]]:
    return watch.read(lambda owners, jobs: (owners.hosts(), jobs.hosts()))


def test_owners_and_foreign_jobs_are_told_apart(store: Store) -> None:
    watch = a_watch(HostLoadTable(store))
    looked(watch)
    loads = watch.look((Host("a"), Host("b", cores=8), Host("c")), END)
    assert list(loads) == ["a"]
    assert loads["a"].lost == pytest.approx(0.5)
    assert hosts_of(watch) == (["a"], ["b"])
    assert watch.read(lambda _owners, jobs: jobs.process("b")).depth == pytest.approx(0.5)


def test_an_owner_who_has_claimed_his_host_is_no_foreign_job(store: Store) -> None:
    watch = a_watch(HostLoadTable(store))
    for time in (START, START + 30):
        watch.look((Host("a", claimed=True, owner_takes=1.0), Host("b", claimed=True)), time)
    assert hosts_of(watch) == (["a"], ["b"])


def test_loads_that_are_only_shown_are_not_planned_with(store: Store) -> None:
    watch = a_watch(HostLoadTable(store), planned=False)
    looked(watch)
    assert watch.look((Host("a"),), END) == {}
    assert hosts_of(watch)[0] == ["a"]


@pytest.mark.parametrize("follows", [True, False])
def test_an_owner_who_departs_from_his_past_is_followed_as_the_trigger_says(store: Store, follows: bool) -> None:
    watch = LoadWatch(HostLoadTable(store), lambda: END, planned=True, follows=follows)
    looked(watch)
    time = END
    while time < END + 3 * HOUR:  # the owner stays
        loads = watch.look((Host("a", owner_takes=1.0),), time)
        time += 30
    assert watch.read(lambda owners, _jobs: owners.has_departed("a"))
    assert (loads["a"].lost > 0.7) == follows


@pytest.mark.parametrize(("notice", "noticed"), [(60.0, True), (600.0, False)])
def test_plans_follow_an_owner_once_he_has_taken_as_much_as_was_set(store: Store, notice: float, noticed: bool) -> None:
    watch = LoadWatch(HostLoadTable(store), lambda: END, planned=True, notice=notice)
    for time in range(0, 301, 30):
        loads = watch.look((Host("a", owner_takes=float(time >= 60)),), START + time)
    assert (watch.read(lambda owners, _jobs: owners.has_departed("a")), "a" in loads) == (noticed, noticed)


def test_what_is_written_is_there_after_a_restart(store: Store) -> None:
    table = HostLoadTable(store)
    watch = a_watch(table)
    looked(watch)
    watch.stop()

    def hours(owners: LoadHistory, jobs: LoadHistory) -> list[list[HourlyLoad]]:
        return [owners.hours("a"), jobs.hours("b")]

    again = a_watch(table)
    assert again.read(hours) == watch.read(hours)
    assert again.look((Host("a"),), END) == watch.look((Host("a"),), END)


def test_dedicated_hosts_leave_nothing_in_the_database(store: Store) -> None:
    table = HostLoadTable(store)
    watch = a_watch(table)
    for tick in range(100):
        assert watch.look((Host("a"), Host("b")), START + 60 * tick) == {}
    watch.stop()
    assert not table.all()


class BrokenOnce(HostLoadTable):
    """A table that cannot be written the first time."""

    broken = True

    def put(self, rows: Sequence[HourlyLoad]) -> None:
        if self.broken:
            self.broken = False
            raise StoreFault("the disk is full")
        super().put(rows)


def test_what_could_not_be_written_is_written_the_next_time(store: Store) -> None:
    table = BrokenOnce(store)
    watch = a_watch(table)
    looked(watch)
    with capture_logs() as logs:
        watch.write()
    assert logs[0]["fault"] == "the disk is full"
    assert not table.all()
    watch.write()
    assert {row.host for row in table.all()} == {"a", "b"}


def test_of_a_shared_host_foreign_jobs_take_what_they_hold_most_of_and_no_more(store: Store) -> None:
    node = Host("a", claimed=True, memory=256, cores=64, gpus=4, others=HostShare(64, 10, 0))
    hosts = (node, replace(node, name="b", others=HostShare()), replace(node, name="c", others=HostShare(0, 1, 4)))
    found = {}
    for shared in (True, False):
        watch = LoadWatch(HostLoadTable(store), lambda: START, planned=True, shared=shared)
        watch.look(hosts, START)
        found[shared] = watch.read(lambda _owners, jobs: [jobs.taken_now(each.name) for each in hosts])
    assert found == {True: [0.25, 1.0, 1.0], False: [1.0, 1.0, 1.0]}
