from __future__ import annotations

from typing import Any

import pytest

from cosched.connector import HostShare
from cosched_slurm.adoption.adoptable_jobs import adoptable_job, noted_job, requested_share


def number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


# What Slurm 24.11 makes of options of sbatch, on nodes of 64 cores with 4096 MiB for each; 22.05 says the same.
@pytest.mark.parametrize(
    ("options", "fields", "share"),
    [
        ("", {"tres_req_str": "cpu=1,mem=4G,node=1,billing=1", "memory_per_cpu": 4096}, HostShare(4096, 1)),
        ("--mem=2G", {"tres_req_str": "cpu=1,mem=2G,node=1,billing=1", "memory_per_node": 2048}, HostShare(2048, 1)),
        (
            "--cpus-per-task=4",
            {
                "tres_req_str": "cpu=4,mem=16G,node=1,billing=4",
                "memory_per_cpu": 4096,
                "minimum_cpus_per_node": 4,
                "tres_per_task": "cpu=4",
            },
            HostShare(16384, 4),
        ),
        (
            "--nodes=2 --ntasks=8 --mem-per-cpu=100",
            {"tres_req_str": "cpu=8,mem=800M,node=2,billing=8", "memory_per_cpu": 100, "tasks": 8},
            HostShare(400, 4),
        ),
        (
            "--nodes=2-4 --ntasks-per-node=3 --mem=1G",
            {
                "tres_req_str": "cpu=6,mem=2G,node=2,billing=6",
                "memory_per_node": 1024,
                "minimum_cpus_per_node": 3,
                "tasks": 6,
            },
            HostShare(1024, 3),
        ),
        (
            "--mincpus=6",
            {"tres_req_str": "cpu=1,mem=4G,node=1,billing=1", "memory_per_cpu": 4096, "minimum_cpus_per_node": 6},
            HostShare(24576, 6),
        ),
        (
            "--nodes=2 --gpus-per-node=1",
            {"tres_req_str": "cpu=2,mem=8G,node=2", "memory_per_cpu": 4096, "tasks": 2, "tres_per_node": "gres/gpu:1"},
            HostShare(4096, 1, 1),
        ),
        (
            "--gpus=2",
            {"tres_req_str": "cpu=1,mem=4G,node=1,billing=1", "memory_per_cpu": 4096, "tres_per_job": "gres:gpu:2"},
            HostShare(4096, 1, 2),
        ),
        (
            "--nodes=2 --gpus-per-task=1 --ntasks=4",
            {"tres_req_str": "cpu=4,mem=16G,node=2", "memory_per_cpu": 4096, "tasks": 4, "tres_per_task": "gres/gpu=1"},
            HostShare(8192, 2, 2),
        ),
        ("--mem=0", {"tres_req_str": "cpu=1,mem=256G,node=1,billing=1", "memory_per_node": 0}, HostShare()),
        (
            "--exclusive",
            {"tres_req_str": "cpu=1,mem=4G,node=1,billing=1", "memory_per_cpu": 4096, "shared": ["none"]},
            HostShare(4096, 0),
        ),
        ("--exclusive", {"tres_req_str": "cpu=1,node=1,billing=1", "shared": "none"}, HostShare()),
        ("memory is not counted", {"tres_req_str": "cpu=2,node=1,billing=2"}, HostShare(0, 2)),
        ("a row that says nothing", {"tres_req_str": ""}, HostShare()),
    ],
)
def test_a_job_asks_of_each_node_what_its_options_say(options: str, fields: dict[str, Any], share: HostShare) -> None:
    row = {name: number(value) if isinstance(value, int) else value for name, value in fields.items()}
    assert requested_share(row) == share, options


def test_a_job_is_to_run_in_its_partition() -> None:
    note = "cosched adopt submitted=100 lease=400 begin=100 nodes=1-1 tasks=1 --deadline=now+2h"
    noted = noted_job({"job_id": 7, "job_state": ["PENDING"], "admin_comment": note, "partition": "long"})
    assert noted is not None
    assert adoptable_job(noted, [], None).partition == "long"
