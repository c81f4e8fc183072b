"""A real cluster that never starts some jobs: the others run, and everybody learns why."""

from __future__ import annotations

import pytest

from cosched.api.documents import TaskRequest
from tests.connectors.unstarted_jobs import SETTINGS, check_others_run
from tests.testbed.nursery import QuickSite
from tests.testbed.slurm_cluster import SlurmCluster

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]


def test_jobs_beyond_a_limit_of_their_partition_leave_their_hosts_to_others() -> None:
    with QuickSite("slurm", scale=0.02, settings=SETTINGS) as site, site.client() as client:
        assert isinstance(site.pool, SlurmCluster)
        site.pool.tool("scontrol", "update", "PartitionName=all", "MaxTime=1")
        long = TaskRequest(command=("/bin/true",), profile=(20.0,), time_limit=600.0)
        check_others_run(client, long, "Slurm's reason is PartitionTimeLimit")
