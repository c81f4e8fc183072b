"""The gate that etc/condor/50-cosched-adopt.conf puts before people's jobs, on a real pool and without a cosched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.connectors.condor_people import DEADLINE, People, adopting
from tests.testbed.condor.pool import CondorPool

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.pool, pytest.mark.xdist_group("condor-adoption")]

_LEASE = 300
_SHORT = 15  # what is left of it where a test waits for its end


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with CondorPool(hosts=4, settings=adopting(_LEASE)) as pool:
        yield People(pool)


def test_jobs_run_after_their_lease_with_cosched_gone(people: People) -> None:
    # Each has hosts of its own: with one lease for all, two would be matched with one host in the same moment, and
    # HTCondor tries a job whose claim is refused again only after the next change of its queue.
    lines = (
        DEADLINE + 'requirements = Machine == "node01"\n',
        '+CoschedDeadline = "now+10m"\nrequirements = Machine == "node02"\n',
        DEADLINE + 'universe = parallel\nmachine_count = 2\nrequirements = Machine > "node02"\n',
    )
    jobs = [people.submit(line + '+CoschedMachine = "node01"\nqueue\n') for line in lines]
    for job in jobs:
        submitted, lease = (int(people.shown(job, name)) for name in ("QDate", "CoschedLease"))
        assert submitted <= lease - _LEASE <= submitted + 60
        people.by_cosched("condor_qedit", job, "CoschedLease", str(int(time.time()) + _SHORT))
    for job in jobs:
        people.wait(job, "2", "4")
        assert people.shown(job, "CoschedDeadline") == "now+10m"
        assert int(people.shown(job, "JobStartDate")) > int(people.shown(job, "CoschedLease"))


def test_a_job_without_a_deadline_and_one_of_coscheds_are_left_alone(people: People) -> None:
    for text in ("queue\n", DEADLINE + '+CoschedAttempt = "uuid"\nqueue\n'):
        job = people.submit(text)
        people.wait(job, "2", "4")
        assert people.shown(job, "CoschedLease") == "undefined"


def test_a_job_begins_on_the_host_it_is_let_go_to_and_its_siblings_wait(people: People) -> None:
    job = people.submit(DEADLINE + "queue 2\n")
    sibling = job.partition(".")[0] + ".1"
    people.by_cosched("condor_qedit", job, "CoschedMachine", '"node03"', "CoschedAttempt", '"uuid"')
    people.wait(job, "2", "4")
    people.wait(job, "4")
    assert people.shown(job, "LastRemoteHost") == "slot1@node03"
    assert int(people.shown(job, "JobStartDate")) <= int(people.shown(job, "CoschedLease"))
    assert people.shown(sibling, "JobStatus") == "1"
    people.by_ann("condor_rm", sibling)
    people.wait(sibling, "3")


def test_a_users_own_hold_and_edit_stay_hers(people: People) -> None:
    job = people.submit(DEADLINE + "queue\n")
    people.by_ann("condor_hold", job)
    people.by_cosched("condor_qedit", job, "CoschedMachine", '"node02"', "CoschedAttempt", '"uuid"')
    assert people.shown(job, "JobStatus") == "5"
    people.by_cosched("condor_qedit", job, "CoschedAttempt", "undefined")
    people.by_ann("condor_qedit", job, "Requirements", "true")
    people.by_ann("condor_release", job)
    people.wait(job, "2", "4")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("max_materialize = 1\nqueue 2\n", "cosched adopts no jobs that are materialized late: remove max_materialize"),
        ("universe = local\nqueue\n", "cosched adopts jobs of the vanilla and the parallel universe alone"),
        ("universe = parallel\nmachine_count = 2\nqueue 2\n", "cosched adopts no parallel job of several parts"),
    ],
)
def test_what_cannot_be_adopted_is_refused_at_its_submission(people: People, text: str, reason: str) -> None:
    assert reason in people.submit(DEADLINE + text)
