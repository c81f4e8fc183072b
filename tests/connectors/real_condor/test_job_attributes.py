"""What HTCondor's own tools show of a job of cosched's, on a real pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched.connector.userfiles import UserFileOrigin
from cosched_condor import userfile

if TYPE_CHECKING:
    from cosched.connector.contract import Bench
    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool

_DEADLINE = 1893456000.75


def test_condor_q_shows_deadline_and_application_of_jobs_that_share_a_cluster(pool: CondorPool, bench: Bench) -> None:
    made = [bench.waiter(hosts=(host,)) for host in bench.up(3)]
    gates = [gate for _, gate in made]
    launches = [
        replace(made[0][0], deadline=_DEADLINE, application="jacobi"),
        replace(made[1][0], deadline=_DEADLINE + 60, application="my solver.sh"),
        replace(made[2][0], deadline=None, application="it's"),  # which cannot be carried
    ]
    jobs = list(bench.submit_many(launches).values())
    assert len({job.partition(".")[0] for job in jobs}) == 1
    shown = [pool.tool("condor_q", job, "-af:r", "CoschedDeadlineTime", "CoschedApplication") for job in jobs]
    assert [line.strip() for line in shown] == [
        '1893456000 "jacobi"',
        '1893456060 "my solver.sh"',
        'undefined ""',
    ]
    late = pool.tool(
        "condor_q", "-allusers", "-constraint", "CoschedDeadlineTime > 1893456000", "-af", "CoschedAttempt"
    )
    assert late.split() == [launches[1].attempt]
    for gate in gates:
        gate.touch()
    for launch in launches:
        bench.until(launch, JobState.COMPLETED)


def test_the_history_shows_deadline_and_application_of_every_process(pool: CondorPool, bench: Bench) -> None:
    launch = replace(bench.shell("exit 0", hosts=bench.up(2)), deadline=_DEADLINE, application="jacobi")
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    wanted = ("-af", "CoschedDeadlineTime", "CoschedApplication")
    assert pool.tool("condor_history", job.partition(".")[0], *wanted).splitlines() == ["1893456000 jacobi"] * 2


def test_a_users_own_deadline_stays_a_request_and_never_an_attribute(pool: CondorPool, bench: Bench) -> None:
    text = (
        "executable = /bin/sh\narguments = \"-c 'sleep 60'\"\n"
        '+CoschedDeadline = "now+2h"\n+CoschedApplication = "mine"\nqueue\n'
    )
    (job,) = userfile.read(text, UserFileOrigin(bench.workplace, {}, "job.sub"))
    assert dict(job.requests) == {"deadline": "now+2h", "application": "mine"}
    launch = replace(
        bench.launch(*job.command, hosts=bench.up(1)),
        native=job.native,
        directory=job.directory,
        deadline=_DEADLINE,
        application="mine",
    )
    shown = pool.tool(
        "condor_q", bench.submit(launch), "-af", "CoschedDeadline", "CoschedDeadlineTime", "CoschedApplication"
    )
    assert shown.split() == ["undefined", "1893456000", "mine"]
