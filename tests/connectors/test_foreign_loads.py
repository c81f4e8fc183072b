"""Jobs that others give to a real Slurm, as loads of its nodes: measured by the daemon, shown, planned around."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.software.debian import PackageError
from tests.waiting import until

if TYPE_CHECKING:
    from cosched.api.documents import HostLoadView
    from cosched.client import Client

pytestmark = [pytest.mark.pool, pytest.mark.slow, pytest.mark.xdist_group("slurm-sites")]

_PATIENCE = 300.0  # seconds


def _load(client: Client, host: str) -> HostLoadView | None:
    """Return what others' jobs take of a host; None where none was ever seen."""
    return next((each for each in client.host_loads() if (each.host, each.cause) == (host, "jobs")), None)


def _await(client: Client, host: str, taken: float) -> HostLoadView:
    def load() -> HostLoadView | None:
        found = _load(client, host)
        return found if found is not None and found.now == taken else None

    return until(load, lambda: f"{host}: {_load(client, host)}")


def test_what_foreign_jobs_take_of_slurms_nodes_is_measured_kept_and_planned_around() -> None:
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite("slurm", scale=1.0, hosts=2))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        assert isinstance(site.pool, SlurmCluster)
        with site.client() as client:
            taken, free = sorted(host.name for host in client.hosts())
            assert client.host_loads() == []
            command = ("sbatch", "--parsable", f"--nodelist={taken}", "--exclusive", "--output=/dev/null")
            job = site.pool.tool(*command, "--time=10", "--wrap=sleep 500").strip()
            try:
                found = _await(client, taken, 1.0)
                assert (found.planned, found.rate) == (0.0, 0.0)  # it lengthens no run, and has not ended yet
                task = client.submit(TaskRequest(command=("/bin/true",), profile=(1.0,)))
                (done,) = client.wait([task.id], _PATIENCE)
                assert (done.state, done.hosts) == ("completed", (free,))
            finally:
                site.pool.tool("scancel", job)
            found = _await(client, taken, 0.0)
            assert found.mean > 0
            assert found.rate > 0
            assert _load(client, free) is None  # cosched's own job is no load
        site.stop()
        site.start()
        with site.client() as client:
            kept = _load(client, taken)
            assert kept is not None
            assert kept.mean == pytest.approx(found.mean)
            assert kept.hours >= 1
