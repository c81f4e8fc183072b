"""What jobs hold of their nodes: the rows themselves are tried in test_foreign_jobs.py."""

from __future__ import annotations

import pytest

from cosched_slurm.allocations import gpu_count, node_shares


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("gpu:4", 4),
        ("gpu", 1),
        ("gpu:a100:2(S:0),tmp:5", 2),
        ("gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:3)", 3),
        ("tmp:5", 0),
        ("", 0),
        (None, None),
    ],
)
def test_gpus_are_counted_among_generic_resources(gres: object, count: int | None) -> None:
    assert gpu_count(gres) == count


@pytest.mark.parametrize(
    "resources",
    [None, {}, {"nodes": {}}, {"nodes": {"allocation": [{"name": "n1"}]}}, {"allocated_nodes": [{"nodename": "n1"}]}],
)
def test_a_row_that_does_not_say_what_its_job_holds_is_no_fault(resources: object) -> None:
    assert node_shares({"nodes": "n1", "job_resources": resources}) is None
