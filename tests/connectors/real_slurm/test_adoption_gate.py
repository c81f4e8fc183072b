"""The begin time that etc/slurm/job_submit.lua gives people's jobs, on a real cluster and without a cosched."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.connectors.slurm_people import DEADLINE, PLAIN, People, job_number, job_submit
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.slurm.install import SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.pool, pytest.mark.skipif(os.geteuid() != 0, reason="submits as another user")]

_LEASE = 300
_SHORT = 8  # where a test waits for its end
_UNPIN = Path(__file__).parents[3] / "etc" / "slurm" / "cosched-unpin"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with SlurmCluster(
        hosts=4, suite=os.environ.get("COSCHED_TESTBED_SLURM", SUITE), job_submit=job_submit(_LEASE)
    ) as cluster:
        yield cluster


@pytest.fixture
def people(cluster: SlurmCluster) -> Iterator[People]:
    people = People(cluster)
    yield people
    people.set_lease(_LEASE)


def test_jobs_begin_with_cosched_gone_after_their_lease_or_elsewhere_if_their_host_fails(
    cluster: SlurmCluster, people: People
) -> None:
    people.set_lease(_SHORT)
    program = cluster.directory / "unpin"
    program.write_text(f"#!/bin/sh\nPATH={cluster.bin} COSCHED_UNPIN_AFTER=0 exec {_UNPIN}\n")
    program.chmod(0o755)
    cluster.tool("strigger", "--set", "--node", "--down", "--flags=PERM", f"--program={program}")
    before = int(time.time())  # the gate looks at the clock before slurmctld stamps the submission, in whole seconds
    asked = [(DEADLINE, "hers"), (PLAIN, "cosched: --deadline=now+10m"), (DEADLINE, "")]
    answers = [people.submit(script, *([f"--comment={comment}"] if comment else [])) for script, comment in asked]
    cluster.tool("scontrol", "update", "nodename=node04", "state=drain", "reason=busy")
    pinned = job_number(people.submit(DEADLINE))
    people.update(pinned, "NumNodes=1-1", "NumTasks=1", "ReqNodeList=node04", "StartTime=now")
    own = job_number(people.submit(PLAIN, "--nodelist=node04"))
    cluster.take_host("node04")
    for (_, comment), answer in zip(asked, answers, strict=True):
        assert "without cosched it begins" in answer
        job = job_number(answer)
        people.wait(job, "RUNNING", "COMPLETED")
        assert people.seconds(job, "StartTime") >= before + _SHORT
        assert people.comment(job) == (comment or "(null)")
        assert people.note(job).startswith("cosched adopt")
    people.wait(pinned, "RUNNING", "COMPLETED")
    assert people.shown(own, "ReqNodeList") == "node04"
    people.by_nobody("scancel", own)


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (PLAIN, ("--time=5", "--nodes=1")),
        (DEADLINE, ("--comment=cosched:123e4567-e89b-12d3-a456-426614174000:1",)),
        (DEADLINE, ("--comment=cosched-array:123e4567-e89b-12d3-a456-426614174000:1",)),
    ],
)
def test_a_job_without_a_deadline_and_one_of_coscheds_are_left_alone(
    people: People, script: str, options: tuple[str, ...]
) -> None:
    job = job_number(people.submit(script, *options))
    people.wait(job, "RUNNING", "COMPLETED")
    assert not people.note(job).startswith("cosched")


def test_a_job_begins_on_the_hosts_it_is_let_go_to(people: People) -> None:
    job = job_number(people.submit(DEADLINE, "--nodes=1"))
    people.update(job, "NumNodes=2-2", "NumTasks=2", "ReqNodeList=node01,node03", "StartTime=now")
    people.wait(job, "RUNNING", "COMPLETED")
    assert people.shown(job, "NodeList") == "node[01,03]"
    assert people.seconds(job, "StartTime") < people.seconds(job, "SubmitTime") + _LEASE


def test_a_users_own_hold_begin_and_removal_stay_hers(people: People) -> None:
    later = job_number(people.submit(DEADLINE, "--begin=now+3600"))
    assert people.seconds(later, "StartTime") > time.time() + 3000
    held = job_number(people.submit(DEADLINE))
    people.by_nobody("scontrol", "hold", held)
    people.update(held, "ReqNodeList=node02", "StartTime=now")
    assert people.shown(held, "Reason") == "JobHeldUser"
    people.by_nobody("scancel", held, later)
    people.wait(held, "CANCELLED")
    at_once = job_number(people.submit(DEADLINE))
    people.by_nobody("scontrol", "update", f"jobid={at_once}", "StartTime=now")
    people.wait(at_once, "RUNNING", "COMPLETED")
    assert people.seconds(at_once, "StartTime") < people.seconds(at_once, "SubmitTime") + _LEASE


def test_an_array_is_refused_at_its_submission(people: People) -> None:
    assert "cosched adopts no arrays: remove --array" in people.submit(DEADLINE, "--array=1-2")
