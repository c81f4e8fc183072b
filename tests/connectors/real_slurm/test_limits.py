"""A real controller whose queue is full: what it takes runs, the rest waits, and nothing is submitted twice."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import TaskRequest
from cosched.connector import ConnectorError, JobState, NativeDescription
from cosched.connector.contract import Bench
from cosched.errors import CoschedError
from cosched_slurm import SlurmConnector
from tests.history import faults, read
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.slurm.install import SUITE
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from cosched.api.documents import TaskView
    from cosched.client import Client

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]

_SCALE = 0.02


@pytest.fixture
def small(cluster: SlurmCluster) -> Iterator[SlurmCluster]:  # `cluster` skips where there is no Slurm
    with SlurmCluster(hosts=2, suite=os.environ.get("COSCHED_TESTBED_SLURM", SUITE)) as small:
        yield small


def test_a_full_queue_refuses_at_once_and_for_now(small: SlurmCluster, tmp_path: Path) -> None:
    """sbatch by itself would wait two minutes for room."""
    small.reconfigure(MaxJobCount=6, MaxArraySize=4)
    bench = Bench(lambda: SlurmConnector(small.settings), tmp_path, patience=90.0)
    connector = bench.connector
    assert isinstance(connector, SlurmConnector)
    began = time.monotonic()
    launches = [bench.shell("sleep 60") for _ in range(12)]
    found = connector.submit_many(launches)
    assert time.monotonic() - began < 110.0
    refused = [one for one in found.values() if isinstance(one, ConnectorError)]
    assert all(one.refused for one in refused), refused
    assert all("takes no more jobs for now" in str(one) for one in refused)
    jobs = small.tool("squeue", "--array", "--noheader", "--format=%i").split()
    assert 0 < len(jobs) < 12
    assert len(jobs) == 12 - len(refused)
    # Nothing of what was refused comes later, and what was taken is known.
    for launch in launches:
        report = connector.find(launch.attempt)
        assert (report is None) == isinstance(found[launch.attempt], ConnectorError)
        connector.cancel(launch.attempt)
    small.wait("an empty queue", lambda: not small.tool("squeue", "--noheader"))
    # A full controller keeps no record of an array's element that it removes: nobody knows of it any more.
    assert {report.state for report in connector.status([launch.attempt for launch in launches]).values()} <= {
        JobState.REMOVED,
        JobState.UNKNOWN,
    }


def test_a_daemon_keeps_the_tasks_that_a_full_queue_refuses_and_each_runs_once() -> None:
    settings = {"dispatch": {"grace": "1s", "retry": "200ms", "retry_longest": "1s"}}
    with QuickSite("slurm", scale=_SCALE, hosts=10, settings=settings) as site, site.client() as client:
        assert isinstance(site.pool, SlurmCluster)
        site.pool.reconfigure(MaxJobCount=7)
        gate = site.folder / "gate"  # nothing ends before all was seen that is looked for
        command = behind(gate, site.command("sweep3d", str(_SCALE)))
        requests = [
            TaskRequest(command=command, profile=(50 * _SCALE,) if place % 2 else None, hosts="1")
            for place in range(16)
        ]
        tasks = client.submit_all(requests)
        until(lambda: any("takes no more jobs" in task.reason for task in _waiting(client)))
        until(
            lambda: any(
                "takes no more jobs" in words and "tried again" in words
                for task in _waiting(client)
                for words in client.explain(task.id).waits_for
            )
        )
        site.pool.reconfigure(MaxJobCount=10000)
        gate.touch()
        done = client.wait([task.id for task in tasks], 120.0)
        assert {task.state for task in done} == {"completed"}
        assert not faults(read(site.journal), [task.id for task in tasks])


def test_a_daemon_keeps_its_tasks_while_the_partition_is_closed() -> None:
    """Nodes of a partition that is closed for maintenance look idle: all tasks of the domain failed within a minute."""
    settings = {"dispatch": {"grace": "500ms", "retry": "200ms", "retry_longest": "1s"}}
    with QuickSite("slurm", scale=_SCALE, hosts=4, settings=settings) as site, site.client() as client:
        assert isinstance(site.pool, SlurmCluster)
        site.pool.tool("scontrol", "update", "partitionname=all", "state=drain")
        requests = [
            TaskRequest(command=tuple(site.command("sweep3d", str(_SCALE))), profile=(50 * _SCALE,), hosts="1")
        ] * 6
        tasks = client.submit_all(requests)

        def is_told() -> bool:
            assert not {client.task(task.id).state for task in tasks} & {"failed", "cancelled"}
            return any("it takes no jobs" in fault and "drain" in fault for fault in client.status().faults)

        until(is_told)
        site.pool.tool("scontrol", "update", "partitionname=all", "state=up")
        assert {task.state for task in client.wait([task.id for task in tasks], 120.0)} == {"completed"}
        assert not faults(read(site.journal), [task.id for task in tasks])


class _TwoPartitions(QuickSite):
    """A daemon beside a cluster with a partition of all hosts, the default, and one of two of them."""

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        more = "PartitionName=long Nodes=node[03-04] State=UP\n"
        suite = os.environ.get("COSCHED_TESTBED_SLURM", SUITE)
        self.cluster = stack.enter_context(SlurmCluster(hosts=self._hosts, suite=suite, settings=more))
        return self.cluster.settings


def test_a_script_that_names_a_partition_runs_on_its_hosts() -> None:
    """It was planned on any host of the domain, where Slurm refused it for good."""
    settings = {"dispatch": {"grace": "500ms", "retry": "200ms"}}
    with _TwoPartitions("slurm", scale=_SCALE, hosts=4, settings=settings) as site, site.client() as client:
        request = TaskRequest(command=("/bin/true",), profile=(1.0,), directory=str(site.folder))

        def named(partition: str) -> TaskRequest:
            return replace(request, native=NativeDescription("slurm", {"partition": partition}, "#!/bin/sh\nsleep 1\n"))

        with pytest.raises(CoschedError, match=r"no host of this domain is in the partition gpu.*: all, long\)"):
            client.submit(named("gpu"))
        tasks = client.submit_all([named("long")] * 4 + [named("all")] * 2)
        done = client.wait([task.id for task in tasks], 120.0)
        assert {task.state for task in done} == {"completed"}
        assert {host for task in done[:4] for host in task.hosts} == {"node03", "node04"}
        # A closed partition has no host that is up, and opens at once.
        site.cluster.tool("scontrol", "update", "partitionname=all", "state=drain")
        client.submit(named("all"))
        until(lambda: {host.reason for host in client.hosts()} == {"the partition all is closed (drain)"})
        assert not any(host.up for host in client.hosts())
        site.cluster.tool("scontrol", "update", "partitionname=all", "state=up")
        until(lambda: not client.tasks(states=("queued", "dispatching", "running")).tasks)


def _waiting(client: Client) -> list[TaskView]:
    return [task for task in client.tasks().tasks if task.state == "queued"]
