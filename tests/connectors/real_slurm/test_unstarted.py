"""A real cluster that never starts some jobs: the others run, and everybody learns why."""

from __future__ import annotations

import pytest

from cosched.api.documents import TaskRequest
from cosched.connector import NativeDescription
from tests.connectors.unstarted_jobs import SETTINGS, check_others_run
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.slurm.cluster import SlurmCluster

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]


def test_jobs_that_wait_for_a_licence_leave_their_hosts_to_others() -> None:
    with QuickSite("slurm", scale=0.02, hosts=4, settings=SETTINGS) as site, site.client() as client:
        assert isinstance(site.pool, SlurmCluster)
        site.pool.reconfigure(Licenses="scarce:1")
        site.pool.tool("sbatch", "--licenses=scarce:1", "--nodelist=node04", "--output=/dev/null", "--wrap=sleep 600")
        native = NativeDescription("slurm", {"licenses": "scarce:1"}, "#!/bin/sh\ntrue\n")
        greedy = TaskRequest(command=("/bin/true",), native=native, profile=(20.0,))
        check_others_run(site, client, greedy, "Slurm's reason is Licenses")
