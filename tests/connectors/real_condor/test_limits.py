"""A real scheduler that takes so many jobs and no more: what it takes runs, the rest waits, and nothing runs twice."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.api.documents import TaskRequest
from cosched.client import NotRunningError
from cosched.connector import ConnectorError, JobState
from cosched.connector.contract import Bench
from cosched_condor import CondorConnector
from tests.history import faults, read
from tests.testbed.condor.pool import CondorPool
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.api.documents import TaskView
    from cosched.client import Client

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]

_SCALE = 0.02
_NONE = 100_000


@pytest.fixture
def limited(pool: CondorPool) -> Iterator[Callable[..., None]]:
    """Give a function that sets limits of the scheduler; they are lifted at the end."""
    changed: dict[str, int] = {}

    def limited(**limits: int) -> None:
        changed.update(limits)
        pool.reconfigure(**limits)

    yield limited
    pool.reconfigure(**dict.fromkeys(changed, _NONE))


@pytest.mark.parametrize("files", ["shared", "spooled"])
@pytest.mark.parametrize("limit", ["MAX_JOBS_SUBMITTED", "MAX_JOBS_PER_OWNER", "MAX_JOBS_PER_SUBMISSION"])
def test_a_full_scheduler_takes_as_many_as_it_has_room_for(
    pool: CondorPool, limited: Callable[..., None], spool: Path, shared: Path, limit: str, files: str
) -> None:
    connector = CondorConnector({"config": str(pool.config), "spool": str(spool), "files": files})
    bench = Bench(lambda: connector, shared, 90.0)
    # Jobs of other tests that HTCondor still keeps count, too; all have one owner.
    there = 0 if limit == "MAX_JOBS_PER_SUBMISSION" else _jobs(pool)
    try:
        limited(**{limit: there + 5})
        launches = [bench.shell("sleep 60") for _ in range(13)]
        found = connector.submit_many(launches)
        taken = [launch.attempt for launch in launches if isinstance(found[launch.attempt], str)]
        if limit == "MAX_JOBS_PER_SUBMISSION":
            assert len(taken) == 13
        else:
            left = there - (
                len(_statuses(pool)) - len(taken)
            )  # others that ended before gave their room free meanwhile
            assert 5 <= len(taken) <= 5 + left
        assert all(limit in str(found[one.attempt]) for one in launches if found.refused(one.attempt))
        assert sum(found.refused(launch.attempt) for launch in launches) == 13 - len(taken)
        # Nothing of what was refused comes later, and what was taken is known.
        assert [launch.attempt for launch in launches if connector.find(launch.attempt)] == taken
    finally:
        bench.clear()


def _jobs(pool: CondorPool) -> int:
    """Return how many jobs the scheduler has, once those on their way out have gone: it keeps some that have ended."""
    until(lambda: set(_statuses(pool)) <= {"4"}, lambda: _statuses(pool))
    return len(_statuses(pool))


def _statuses(pool: CondorPool) -> list[str]:
    return pool.tool("condor_q", "-allusers", "-af", "JobStatus").split()


def test_a_group_larger_than_any_submission_fails_and_says_why(bench: Bench, limited: Callable[..., None]) -> None:
    limited(MAX_JOBS_PER_SUBMISSION=2)
    with pytest.raises(ConnectorError, match="the 3 processes of this task: raise MAX_JOBS_PER_SUBMISSION") as caught:
        bench.submit(bench.shell("true", hosts=bench.up(3)))
    assert not caught.value.transient
    launch = bench.shell("true", hosts=bench.up(2))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)


def test_a_daemon_keeps_the_tasks_that_a_full_scheduler_refuses_and_each_runs_once() -> None:
    settings = {"dispatch": {"grace": "1s", "retry": "200ms", "retry_longest": "1s"}}
    with QuickSite("condor", scale=_SCALE, hosts=6, settings=settings) as site, site.client() as client:
        assert isinstance(site.pool, CondorPool)
        site.pool.reconfigure(MAX_JOBS_PER_OWNER=3)
        gate = site.folder / "gate"  # nothing ends before all was seen that is looked for
        command = behind(gate, site.command("sweep3d", str(_SCALE)))
        requests = [
            TaskRequest(command=command, profile=(50 * _SCALE,) if place % 2 else None, hosts="1")
            for place in range(16)
        ]
        tasks = client.submit_all(requests)
        until(lambda: any("MAX_JOBS_PER_OWNER" in task.reason for task in _waiting(client)))
        until(lambda: any("takes no more jobs" in why and "tried again" in why for why in _explanations(client)))
        site.pool.reconfigure(MAX_JOBS_PER_OWNER=_NONE)
        gate.touch()
        done = client.wait([task.id for task in tasks], 120.0)
        assert {task.state for task in done} == {"completed"}
        assert not faults(read(site.journal), [task.id for task in tasks])


def _waiting(client: Client) -> list[TaskView]:
    return [task for task in client.tasks().tasks if task.state == "queued"]


def _explanations(client: Client) -> list[str]:
    """Return what tasks wait for that are not on their way this very moment."""
    found: list[str] = []
    for task in _waiting(client):
        with contextlib.suppress(NotRunningError):  # it has ended
            found += client.explain(task.id).waits_for
    return found
