"""Event logs that follow each other on a real pool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched_condor import CondorConnector
from cosched_condor.job_events import LogEvents

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench

pytestmark = pytest.mark.pool


def test_logs_that_are_over_go_and_no_event_is_lost_or_told_twice(bench: Bench, spool: Path) -> None:
    _connector(bench)._attempts.logs._largest = 1500
    long, gate = bench.running("node01")
    first = _connector(bench)._attempts.logs.current
    for _ in range(4):
        launch = bench.shell("exit 3", hosts=("node02",))
        bench.submit(launch)
        seen = bench.listen(launch, JobState.FAILED)
        assert [report.state for report in seen].count(JobState.FAILED) == 1
    names = sorted(log.name for log in spool.glob("events*.log"))
    assert len(names) > 2

    bench.restart()  # whoever reads from the beginning knows what still lives, and where
    while bench.connector.events(0.1):
        pass
    for log in spool.glob("events*.log"):
        os.utime(log, (log.stat().st_mtime - 3600,) * 2)
    bench.connector.events(0.0)
    news = _connector(bench)._job_events
    assert isinstance(news, LogEvents)
    news._logs_checked = -1e9
    bench.connector.events(0.0)
    assert set(spool.glob("events*.log")) == {first, _connector(bench)._attempts.logs.current}

    gate.touch()
    assert [report.state for report in bench.listen(long, JobState.COMPLETED)] == [JobState.COMPLETED]


@pytest.mark.parametrize("cut", [False, True])
def test_a_log_that_an_administrator_removed_or_cut_costs_the_next_jobs_nothing(
    bench: Bench, spool: Path, cut: bool
) -> None:
    """Nothing was told of any job after it, as the old file was read on, until the daemon began anew."""
    before = bench.shell("exit 0", hosts=("node01",))
    bench.submit(before)
    bench.listen(before, JobState.COMPLETED)
    long, gate = bench.running("node03")
    log = spool / "events.log"
    if cut:
        os.truncate(log, 0)
    else:
        log.unlink()
    after = bench.shell("exit 3", hosts=("node02",))
    bench.submit(after)
    assert bench.listen(after, JobState.FAILED)[-1].exit_code == 3
    gate.touch()
    if cut:  # what runs goes on writing into it
        bench.listen(long, JobState.COMPLETED)
    bench.until(long, JobState.COMPLETED)


def _connector(bench: Bench) -> CondorConnector:
    assert isinstance(bench.connector, CondorConnector)
    return bench.connector
