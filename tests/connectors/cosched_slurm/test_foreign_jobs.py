"""Whose jobs have which hosts."""

from __future__ import annotations

from typing import Any

import pytest

from cosched.connector import HostShare
from cosched_slurm.foreign_jobs import ForeignClaim, ForeignJobs, foreign_claims
from cosched_slurm.jobs import job_comment

OURS = "12345678-1234-1234-1234-123456789abc"
OLD: dict[str, Any] = {"job_id": 5, "user_name": "eve", "job_state": "RUNNING", "nodes": "n[1-2]", "end_time": 900}
NEW: dict[str, Any] = {
    "job_id": {"set": True, "infinite": False, "number": 6},
    "user_name": "eve",
    "nodes": "n3",
    "job_state": ["RUNNING", "COMPLETING"],
    "end_time": {"set": False, "infinite": False, "number": 0},
}


def test_hosts_of_others_jobs_are_theirs_until_their_time_limit() -> None:
    assert foreign_claims([OLD, NEW], lambda _: True) == {
        "n1": ForeignClaim("taken by job 5 of eve", 900.0),
        "n2": ForeignClaim("taken by job 5 of eve", 900.0),
        "n3": ForeignClaim("taken by job 6 of eve", None),
    }


def test_our_own_jobs_and_those_that_have_no_host_are_nobodys_claim() -> None:
    own = {**OLD, "comment": job_comment(OURS, 2)}
    assert (
        foreign_claims([own, {**OLD, "job_state": "PENDING"}, {**OLD, "job_state": "COMPLETED"}], lambda _: True) == {}
    )
    assert set(foreign_claims([own], lambda _: False)) == {"n1", "n2"}


def test_our_own_suspended_jobs_keep_their_nodes() -> None:
    """Slurm calls such a node idle, and starts nothing there for want of memory."""
    single = {**OLD, "comment": job_comment(OURS, 2), "job_state": "SUSPENDED", "nodes": "n1", "time_limit": 15}
    element = {**NEW, "comment": job_comment(OURS, 1, array=True), "array_job_id": 4, "array_task_id": 2}
    claims = foreign_claims([single, element], lambda _: True, {"5", "4_2"})
    assert claims == {
        "n1": ForeignClaim("taken by job 5 of eve, which is suspended", None),
        "n3": ForeignClaim("taken by job 6 of eve", None),  # just resumed, and not yet known to run
    }
    assert foreign_claims([single, element], lambda _: True) == {}


def test_of_a_suspended_job_nobody_knows_its_end() -> None:
    assert foreign_claims([{**OLD, "job_state": "SUSPENDED", "time_limit": 15}], lambda _: True)["n1"].until is None


def test_slurm_is_asked_anew_when_one_of_our_jobs_is_suspended() -> None:
    rows = [{**OLD, "comment": job_comment(OURS, 2)}]
    strangers = ForeignJobs(lambda: rows, lambda _: True, poll=100.0)
    assert strangers.claims({"n1"}) == {}
    assert set(strangers.claims({"n1"}, {"5"})) == {"n1"}


def test_a_job_without_a_time_limit_may_go_on() -> None:
    for endless in (0xFFFFFFFF, {"set": False, "infinite": True, "number": 0}):
        assert foreign_claims([{**OLD, "time_limit": endless}], lambda _: True)["n1"].until is None
    assert foreign_claims([{**OLD, "time_limit": 15}], lambda _: True)["n1"].until == 900.0


def test_the_longest_claim_counts() -> None:
    endless = {**OLD, "job_id": 7, "end_time": 0}
    assert foreign_claims([endless, OLD], lambda _: True)["n1"].reason == "taken by job 7 of eve"
    assert foreign_claims([OLD, endless], lambda _: True)["n1"].until is None


# As squeue of 22.05.8 and of 24.11.5 printed them, without the fields that nobody reads; one core has two threads.
_CORES_OF_22 = {
    "job_resources": {
        "allocated_nodes": [
            {"nodename": "n1", "memory_allocated": 100, "sockets": {"0": {"cores": {"0": "allocated"}}}},
            {"nodename": "n2", "memory_allocated": 200, "sockets": {"1": {"cores": {"4": "allocated"}}}},
        ]
    },
    "tres_alloc_str": "cpu=4,mem=300M,node=2,billing=4",
    "gres_detail": ["gpu:2(IDX:0-1)", "gpu:a100:1(IDX:3)"],
}
_CORES_OF_24 = {
    "job_resources": {
        "nodes": {
            "allocation": [
                {"name": "n1", "memory": {"used": 0, "allocated": 100}, "cpus": {"count": 2, "used": 0}},
                {"name": "n2", "memory": {"used": 0, "allocated": 200}, "cpus": {"count": 2, "used": 0}},
            ]
        },
        "cpus": 4,
    },
    "gres_detail": ["gpu:2(IDX:0-1)", "gpu:a100:1(IDX:3)"],
}


@pytest.mark.parametrize("resources", [_CORES_OF_22, _CORES_OF_24])
def test_jobs_hold_their_shares_together(resources: dict[str, Any]) -> None:
    claims = foreign_claims([{**OLD, **resources}, {**OLD, **resources, "job_id": 9}], lambda _: True)
    assert [claims[name].share for name in ("n1", "n2")] == [HostShare(200, 4, 4), HostShare(400, 4, 2)]


def test_of_a_job_that_does_not_say_what_it_holds_all_is_taken() -> None:
    claims = foreign_claims([{**OLD, **_CORES_OF_24}, {**OLD, "job_id": 9}], lambda _: True)
    assert claims["n1"].share == HostShare()


def test_slurm_is_asked_only_for_what_is_not_explained_and_not_again_at_once() -> None:
    asked = []

    def jobs() -> list[dict[str, Any]]:
        asked.append(1)
        return [OLD]

    strangers = ForeignJobs(jobs, lambda _: True, poll=100.0)
    assert strangers.claims(set()) == {}
    assert not asked
    assert set(strangers.claims({"n1", "n9"})) == {"n1"}
    assert set(strangers.claims({"n2"})) == {"n2"}
    assert len(asked) == 1
