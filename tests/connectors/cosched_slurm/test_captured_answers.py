"""What real clusters of each version said of the same jobs and nodes means the same.

Captured with `python -m tests.testbed.slurm --suite bookworm|trixie|forky`: a job that runs, one that failed with 3,
one that completed, one killed by SIGKILL, one on hold and one cancelled; one node drained; an array.
What matters was kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cosched.connector import ConnectorError, Host, JobState
from cosched_slurm.cluster.nodes import allocated_processors, cluster_hosts
from cosched_slurm.foreign_jobs import foreign_claims
from cosched_slurm.jobs import job_records

VERSIONS = ("22.05", "24.11", "26.05")


def _captured(version: str, kind: str, key: str = "") -> list[dict[str, Any]]:
    file = Path(__file__).parent / "captured" / f"{version}-{kind}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text())[key or kind]
    return rows


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_mean_the_same_in_every_version(version: str) -> None:
    found = [same[0] for same in job_records(_captured(version, "jobs")).values()]
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
def test_elements_of_an_array_are_told_apart_in_every_version(version: str) -> None:
    """Ten elements on three nodes: 0 failed, 2 was cancelled as it ran, 5 as it waited: of this nothing is left."""
    names = [f"attempt {index}" for index in range(10)]
    found = job_records(_captured(version, "array", "jobs"), lambda _array: names)
    ends = {
        "attempt 0": (JobState.FAILED, 3),
        "attempt 2": (JobState.REMOVED, None),
        "attempt 5": (JobState.REMOVED, None),
    }
    running = [name for name, (record,) in found.items() if record.state is JobState.RUNNING]
    assert len(running) == 3
    waiting = set(names) - set(ends) - set(running)
    assert {name for name, (record,) in found.items() if record.state is JobState.QUEUED} == waiting
    assert {name: (found[name][0].state, found[name][0].exit_code) for name in ends} == ends
    assert [name for name, (record,) in found.items() if record.vanished] == ["attempt 5"]
    number = found["attempt 0"][0].job.partition("_")[0]
    assert {name: record.job for name, (record,) in found.items()} == {
        name: f"{number}_{names.index(name)}" for name in found
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_mean_the_same_in_every_version(version: str) -> None:
    rows = _captured(version, "nodes")
    assert cluster_hosts(rows, "all", "class-") == [
        Host("node01", "Testbed", cores=1, partitions=("all",)),
        Host("node02", "Testbed", cores=1, partitions=("all",)),
        Host("node03", "Testbed", up=False, reason="drain: new memory", cores=1, partitions=("all",)),
    ]
    with pytest.raises(ConnectorError, match="partitions with nodes: all"):
        cluster_hosts(rows, "other", "")
    assert set(allocated_processors(rows)) == {"node01"}


def test_what_a_job_may_have_of_a_node_is_known() -> None:
    row = {"name": "a", "state": ["IDLE"], "real_memory": 64000, "cpus": 16}
    for gres, gpus in (("gpu:a100:2(S:0),tmp:5", 2), ("gpu:tesla:1,gpu:k80:3(S:0-1)", 4), ("gpu", 1), ("", 0)):
        (host,) = cluster_hosts([{**row, "gres": gres}], "", "")
        assert (host.memory, host.cores, host.gpus) == (64000, 16, gpus)


@pytest.mark.parametrize("version", VERSIONS)
def test_others_have_what_they_run_on(version: str) -> None:
    claims = foreign_claims(_captured(version, "jobs"), lambda _attempt: False)
    assert list(claims) == ["node01"]
    assert "job 1 of root" in claims["node01"].reason
