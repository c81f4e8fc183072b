"""Jobs share hosts: each has its part, and no host has more jobs than fit.

For a manager whose hosts have at least eight cores each; inherit it beside `ConnectorContract`, with the parts for GPUs
and foreign jobs where it has these.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract.bench import ContractBase
from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobState

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cosched.connector.contract.bench import Bench
    from cosched.connector.jobs import Launch

__all__ = ["ForeignSharesContract", "SharedDevicesContract", "SharedHostsContract"]

_DEVICES = 'echo "$CUDA_VISIBLE_DEVICES" > "$0.new"; mv "$0.new" "$0.devices"; '
_STAY = 'while [ ! -e "$0" ]; do sleep 0.1; done'


class SharedHostsContract(ContractBase):
    """Jobs share hosts: each has its part, and no host has more jobs than fit."""

    def test_a_host_runs_as_many_as_fit_and_the_next_when_there_is_room(self, bench: Bench) -> None:
        """What does not fit beside others waits, does not pass for starting, and runs when there is room."""
        (host,) = _hosts(bench, 1)
        half = _part(host, 2)
        first, second = (_waiter(bench, half, host.name) for _ in range(2))
        third = _waiter(bench, _part(host, 4), host.name)
        bench.submit_many([first[0], second[0]])
        for launch, _ in (first, second):
            bench.until(launch, JobState.RUNNING)
        bench.submit(third[0])
        bench.await_obstacle(third[0])
        time.sleep(self.quiet)
        assert bench.report(third[0]).state is JobState.QUEUED
        first[1].touch()
        bench.until(first[0], JobState.COMPLETED)
        bench.until(third[0], JobState.RUNNING)
        assert bench.report(second[0]).state is JobState.RUNNING
        for launch, gate in (second, third):
            gate.touch()
            bench.until(launch, JobState.COMPLETED)

    def test_groups_share_all_of_their_hosts(self, bench: Bench) -> None:
        """Two groups run at the same time on the same two hosts."""
        hosts = _hosts(bench, 2)
        names = tuple(host.name for host in hosts)
        groups = [_waiter(bench, _part(hosts[0], 2), *names) for _ in range(2)]
        bench.submit_many([launch for launch, _ in groups])
        for launch, _ in groups:
            bench.until(launch, JobState.RUNNING)
        assert all(bench.report(launch).state is JobState.RUNNING for launch, _ in groups)
        assert _seen(bench, names[0]).others == HostShare()  # our own jobs are no others'
        for launch, gate in groups:
            gate.touch()
            assert bench.until(launch, JobState.COMPLETED).state is JobState.COMPLETED

    def test_a_cancel_ends_one_job_of_a_host_and_leaves_the_other(self, bench: Bench) -> None:
        """The other runs on to its own end."""
        (host,) = _hosts(bench, 1)
        lost, kept = (_waiter(bench, _part(host, 4), host.name) for _ in range(2))
        bench.submit_many([lost[0], kept[0]])
        for launch, _ in (lost, kept):
            bench.until(launch, JobState.RUNNING)
        bench.connector.cancel(lost[0].attempt)
        bench.until(lost[0], JobState.REMOVED)
        assert bench.report(kept[0]).state is JobState.RUNNING
        kept[1].touch()
        bench.until(kept[0], JobState.COMPLETED)


class SharedDevicesContract(ContractBase):
    """Jobs share a host's GPUs; it has two at least."""

    def test_each_job_has_devices_of_its_own(self, bench: Bench) -> None:
        """Jobs of one host see different GPUs, and no more than they asked for."""
        (host,) = _hosts(bench, 1)
        assert host.gpus
        assert host.gpus >= 2
        given = [host.gpus - 1, 1, 0]
        jobs = [_waiter(bench, HostShare(cores=1, gpus=gpus), host.name) for gpus in given]
        bench.submit_many([launch for launch, _ in jobs])
        seen: list[set[str]] = []
        for launch, gate in jobs:
            bench.until(launch, JobState.RUNNING)
            bench.await_file(gate.with_name(f"{gate.name}.devices"))
            text = gate.with_name(f"{gate.name}.devices").read_text().strip()
            seen.append({device for device in text.split(",") if device not in ("", "none", "NoDevFiles", "10000")})
        for _, gate in jobs:  # not before: who begins late would get the devices of one that has ended
            gate.touch()
        assert [len(devices) for devices in seen] == given
        assert not seen[0] & seen[1]


class ForeignSharesContract(ContractBase):
    """Jobs share hosts with foreign ones."""

    @pytest.fixture
    def foreign_job(self) -> Callable[[str, HostShare], AbstractContextManager[None]]:
        """Give a function that has a foreign job hold a share of a host while its context lasts."""
        raise NotImplementedError("tests of shares that foreign jobs hold must define the fixture 'foreign_job'")

    def test_what_foreign_jobs_hold_is_told_and_free_again(
        self, bench: Bench, foreign_job: Callable[[str, HostShare], AbstractContextManager[None]]
    ) -> None:
        """A foreign job's share is seen while it runs; what fits beside it runs, what does not waits."""
        (host,) = _hosts(bench, 1)
        held = _part(host, 2)
        with foreign_job(host.name, held):
            _await_others(bench, host.name, held)
            assert _seen(bench, host.name).reason
            beside, gate = _waiter(bench, _part(host, 2), host.name)
            too_much, later = _waiter(bench, replace(_part(host, 4), gpus=0), host.name)
            bench.submit(beside)
            bench.until(beside, JobState.RUNNING)
            bench.submit(too_much)
            bench.await_obstacle(too_much)
            _await_others(bench, host.name, held)  # not more: our own jobs are no others'
        bench.until(too_much, JobState.RUNNING)
        _await_others(bench, host.name, HostShare())
        for launch, file in ((beside, gate), (too_much, later)):
            file.touch()
            bench.until(launch, JobState.COMPLETED)


def _hosts(bench: Bench, count: int) -> list[Host]:
    found = [host for host in bench.connector.hosts() if host.up and (host.cores or 0) >= 8]
    assert len(found) >= count, f"needs {count} hosts of eight cores that are up, has {len(found)}"
    return found[:count]


def _part(host: Host, divisor: int) -> HostShare:
    """Return a part of a host: memory in whole parts of 128 MiB, which some managers deal out."""
    memory = (host.memory or 0) // divisor // 128 * 128
    return HostShare(memory, (host.cores or 0) // divisor, (host.gpus or 0) // divisor)


def _waiter(bench: Bench, share: HostShare, *hosts: str) -> tuple[Launch, Path]:
    """Make a shared launch that writes down its devices and ends when the returned file exists."""
    gate = bench.workplace / f"gate-{uuid.uuid4().hex}"
    launch = bench.shell(_DEVICES + _STAY, str(gate), hosts=hosts)
    return replace(launch, shared=True, memory=share.memory, cores=share.cores, gpus=share.gpus), gate


def _seen(bench: Bench, name: str) -> Host:
    return next(host for host in bench.connector.hosts() if host.name == name)


def _await_others(bench: Bench, name: str, share: HostShare) -> None:
    end = time.monotonic() + bench.patience
    while (others := _seen(bench, name).others) != share:
        if time.monotonic() > end:
            pytest.fail(f"others hold {others} of {name} by the connector, not {share}")
        time.sleep(0.05)
