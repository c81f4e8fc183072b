"""A real pool that never starts some jobs: the others run, and everybody learns why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.api.documents import TaskRequest
from cosched.connector import NativeDescription
from tests.connectors.unstarted_jobs import SETTINGS, check_others_run
from tests.testbed.forked.nursery import QuickSite

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]


def test_jobs_that_no_slot_can_run_leave_their_hosts_to_others() -> None:
    native = NativeDescription("condor", {"executable": "/bin/true", "request_memory": "999999999"})
    with QuickSite("condor", scale=0.02, hosts=4, settings=SETTINGS) as site, site.client() as client:
        greedy = TaskRequest(command=("/bin/true",), native=native, profile=(20.0,))
        check_others_run(site, client, greedy, "RequestMemory is 999999999")
        anywhere = client.submit(replace(greedy, profile=None))
        until(lambda: "no slot of the pool meets its requirements" in client.task(anywhere.id).reason)
        client.cancel(anywhere.id)
        client.wait([anywhere.id], 180.0)
