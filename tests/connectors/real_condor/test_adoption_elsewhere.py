"""Jobs of condor_submit are adopted where machines are cut to size, and from a scheduler reached over TCP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from tests.connectors.condor_people import DEADLINE, People, adopting
from tests.testbed.condor.pool import CondorPool
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from cosched.api.documents import TaskDetail

pytestmark = [
    pytest.mark.pool,
    pytest.mark.slow,
    pytest.mark.xdist_group("condor-adoption-elsewhere"),
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]

_SLOTS = "NUM_CPUS = 4\nMEMORY = 4096\nSLOT_TYPE_1_PARTITIONABLE = true\n"
_PLANNED = DEADLINE + "cosched_runtime = 2s\n"


class _PartitionedSite(QuickSite):
    """A daemon that adopts, on the scheduler's own machine, with partitionable slots."""

    people: People
    slots = _SLOTS

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        pool = self._begun(stack)
        return {"config": str(pool.config), "spool": str(pool.spool)}

    def _begun(self, stack: ExitStack) -> CondorPool:
        self.pool = pool = stack.enter_context(CondorPool(hosts=2, settings=adopting(300) + self.slots))
        self.people = People(pool)
        return pool

    def ended(self, job: str) -> TaskDetail:
        """Return the task of a job once it has ended."""
        until = time.monotonic() + 90.0
        with self.client() as client:
            while True:
                found = [client.task(task.id) for task in client.tasks().tasks]
                mine = [task for task in found if task.adopted.split("#")[1:2] == [job]]
                if mine and mine[0].finished is not None:
                    return mine[0]
                assert time.monotonic() < until, (mine, self.log.read_text()[-3000:])
                time.sleep(0.2)


class _RemoteSite(_PartitionedSite):
    """A daemon that shares no folder with the scheduler, which it knows by name, and has a token."""

    slots = ""

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        pool = self._begun(stack)
        tokens, spool = self.folder / "tokens", self.folder / "spool"
        pool.give_token(tokens, "cosched@pool")
        return {
            "pool": pool.address,
            "schedd": pool.tool("condor_status", "-schedd", "-af", "Name").strip(),
            "tokens": str(tokens),
            "files": "spooled",
            "spool": str(spool),
        }


@pytest.fixture(params=[_PartitionedSite, _RemoteSite], ids=["partitionable", "remote"])
def site(request: pytest.FixtureRequest) -> Iterator[_PartitionedSite]:
    settings: dict[str, dict[str, Any]] = {"adopt": {"enabled": True}, "dispatch": {"grace": "1s", "start_grace": "3s"}}
    with request.param("condor", scale=0.02, hosts=2, settings=settings) as started:
        yield started


def test_a_job_runs_on_the_host_chosen_and_a_removed_one_ends(site: _PartitionedSite) -> None:
    jobs = [site.people.submit(_PLANNED + "request_cpus = 1\nrequest_memory = 128\nqueue\n") for _ in range(2)]
    for job in jobs:
        task = site.ended(job)
        assert (task.owner, task.state, task.exit_code) == ("ann", "completed", 0)
        assert site.people.shown(job, "LastRemoteHost").rpartition("@")[2] == task.hosts[0]
        assert site.people.shown(job, "NumShadowStarts") == "1"
    removed = site.people.submit(_PLANNED + "hold = true\nqueue\n")
    site.people.by_ann("condor_rm", removed)
    job = site.people.submit(_PLANNED + "arguments = 1\nqueue\n")
    assert site.ended(job).state == "completed"
