"""What a daemon asks of a real pool while nothing happens: counted, as `GET /api/v1/status` shows it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched.coscheduler.events import JobReported
from cosched.daemon.clock import Clock
from cosched.daemon.manager.resource_manager import ManagerTimes, ResourceManager
from cosched_condor import CondorConnector
from cosched_condor.job_events import QueueEvents

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench
    from cosched.coscheduler.events import Event
    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool

_WATCHED = 8.0


@pytest.mark.parametrize("files", ["shared", "spooled"])
def test_while_jobs_run_the_queue_is_asked_by_the_look_at_all_tasks_alone(
    pool: CondorPool, bench: Bench, shared: Path, files: str
) -> None:
    """Which comes once a minute: here every four seconds."""
    folder = shared / "other"
    folder.mkdir()
    folder.chmod(0o1777)
    connector = CondorConnector({"config": str(pool.config), "spool": str(folder), "files": files})
    launches = [bench.waiter(hosts=(host,)) for host in bench.up(2)]
    told: list[Event] = []
    live = [launch.attempt for launch, _ in launches]
    manager = ResourceManager(connector, told.append, Clock(), lambda: live, ManagerTimes(30.0, 1.0, 4.0))
    manager.start()
    try:
        connector.submit_many([launch for launch, _ in launches])
        until(lambda: _seen(told, JobState.RUNNING) >= set(live))
        time.sleep(3.0)
        until(lambda: _agree(connector))
        began, before = time.monotonic(), dict(manager.calls())
        time.sleep(_WATCHED)
        after, watched = dict(manager.calls()), time.monotonic() - began
        asked = {verb: after[verb] - before.get(verb, 0) for verb in after}
        assert asked.pop("hosts") <= watched + 2
        assert asked.pop("slots", 0) <= watched / 1.5 + 2  # the same look, where nobody has looked for a while
        assert asked.pop("queue") <= watched / 4.0 + 1
        assert not any(asked.values()), asked
        for _, gate in launches:
            gate.touch()
        until(lambda: _seen(told, JobState.COMPLETED) >= set(live))
    finally:
        manager.stop()
        for thread in threading.enumerate():  # on a busy machine longer than `stop` waits
            if thread.name.startswith("manager"):
                thread.join(60)
        connector.close()  # once more: a thread that was still at work may have opened it again


def _agree(connector: CondorConnector) -> bool:
    """Whether slots and queue say the same, so that nothing has to be asked."""
    news = connector._job_events
    return not (isinstance(news, QueueEvents) and news._polling.is_due(time.monotonic() + 3600.0))


def _seen(told: list[Event], state: JobState) -> set[str]:
    return {event.report.attempt for event in told if isinstance(event, JobReported) and event.report.state is state}
