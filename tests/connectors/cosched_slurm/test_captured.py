"""What real clusters of each version said of the same jobs and nodes means the same.

Captured with `python -m tests.testbed.slurm --suite bookworm|trixie|forky`: a job that runs, one that failed with 3,
one that completed, one killed by SIGKILL, one on hold and one cancelled; one node drained. What matters was kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cosched.connector import Host, JobState
from cosched_slurm.jobs import records
from cosched_slurm.nodes import busy, hosts
from cosched_slurm.strangers import claims_of

VERSIONS = ("22.05", "24.11", "26.05")


def _captured(version: str, kind: str) -> list[dict[str, Any]]:
    file = Path(__file__).parent / "captured" / f"{version}-{kind}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text())[kind]
    return rows


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_mean_the_same_in_every_version(version: str) -> None:
    found = [same[0] for same in records(_captured(version, "jobs")).values()]
    assert [(record.state, record.exit_code, record.hosts) for record in found] == [
        (JobState.RUNNING, None, ("node01",)),
        (JobState.FAILED, 3, ("node02",)),
        (JobState.COMPLETED, 0, ("node02",)),
        (JobState.FAILED, 137, ("node02",)),
        (JobState.HELD, None, ()),
        (JobState.REMOVED, None, ("node03",)),
    ]
    assert all((record.started is not None) is (record.state is not JobState.HELD) for record in found)
    assert [record.finished is not None for record in found] == [False, True, True, True, False, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_mean_the_same_in_every_version(version: str) -> None:
    rows = _captured(version, "nodes")
    assert hosts(rows, "all", "class-") == [
        Host("node01", "Testbed"),
        Host("node02", "Testbed"),
        Host("node03", "Testbed", up=False, reason="drain: new memory"),
    ]
    assert not hosts(rows, "other", "")
    assert busy(rows) == {"node01"}


@pytest.mark.parametrize("version", VERSIONS)
def test_others_have_what_they_run_on(version: str) -> None:
    claims = claims_of(_captured(version, "jobs"), lambda _attempt: False)
    assert list(claims) == ["node01"]
    assert "job 1 of root" in claims["node01"].reason
