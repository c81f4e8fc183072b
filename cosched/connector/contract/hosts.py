"""A connector lists its hosts and evicts jobs of a lost host."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.connector.contract.bench import ContractBase
from cosched.connector.jobs import JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.connector.contract.bench import Bench

__all__ = ["HostsContract"]

_LOST = (JobState.EVICTED, JobState.REMOVED)


class HostsContract(ContractBase):
    """A connector lists its hosts and evicts jobs of a lost host."""

    def test_hosts_are_listed_and_up(self, bench: Bench) -> None:
        """Each host has one name; one that is up has no reason to be down."""
        hosts = bench.connector.hosts()
        assert any(host.up for host in hosts)
        assert len({host.name for host in hosts}) == len(hosts)
        assert all(host.name and "," not in host.name for host in hosts)

    def test_hosts_name_their_clusters(self, bench: Bench) -> None:
        """Each host is in the cluster that the administrator has named, and in none where none is named."""
        for _ in range(2):  # the second answer may come from what is remembered
            found = {host.name: host.cluster for host in bench.connector.hosts() if host.up and host.cluster}
            assert found == dict(self.clusters)

    def test_a_lost_host_is_down_and_evicts(
        self, bench: Bench, take_host: Callable[[str], None], give_host: Callable[[str], None]
    ) -> None:
        """A job on a lost host never completes; the host is down until it returns."""
        (host,) = bench.up(1)
        launch, gate = bench.waiter(hosts=(host,))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        take_host(host)
        try:
            bench.await_host(host, up=False)
            assert bench.until(launch, *_LOST).state in _LOST
            bench.connector.cancel(launch.attempt)
        finally:
            give_host(host)
        bench.await_host(host, up=True)
        gate.touch()
        bench.until(launch, JobState.REMOVED)
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()

    def test_a_host_given_back_runs_new_jobs_and_begins_no_old_one_again(
        self, bench: Bench, take_host: Callable[[str], None], give_host: Callable[[str], None]
    ) -> None:
        """A host that was lost and has returned runs new jobs.

        The manager does not restart the jobs that ran there before.
        """
        (host,) = bench.up(1)
        old, begun = bench.stayer(hosts=(host,))
        bench.submit(old)
        bench.until(old, JobState.RUNNING)
        bench.await_file(begun)
        take_host(host)
        try:
            bench.await_host(host, up=False)
            bench.until(old, *_LOST)
        finally:
            give_host(host)
        bench.await_host(host, up=True)
        launch, diary = bench.diary(hosts=(host,))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert diary.read_text() == "0\n"
        assert begun.read_text() == "0\n"
        assert bench.report(old).state in _LOST
