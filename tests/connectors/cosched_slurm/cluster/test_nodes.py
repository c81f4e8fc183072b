"""Slurm's nodes as hosts, in the words of several versions."""

from __future__ import annotations

from typing import Any

import pytest

from cosched.connector import ConnectorError, Host
from cosched_slurm.cluster.nodes import NodeReservation, cluster_hosts, parse_reservation

# As `sinfo --json` of 22.05.8 printed it, without the fields that nobody reads.
_OLD: dict[str, Any] = {
    "name": "node01",
    "state": "idle",
    "state_flags": [],
    "features": "testbed,class-Origin",
    "active_features": "testbed,class-Origin",
    "partitions": ["all"],
    "reason": "",
}
_NEW = {
    **_OLD,
    "state": ["IDLE"],
    "features": ["testbed", "class-Origin"],
    "active_features": ["testbed", "class-Origin"],
}


@pytest.mark.parametrize("row", [_OLD, {**_NEW, "state_flags": None}])
def test_a_node_is_a_host_of_its_class(row: dict[str, Any]) -> None:
    assert cluster_hosts([row], "", "class-") == [Host("node01", "Origin", partitions=("all",))]
    assert cluster_hosts([row], "", "") == [Host("node01", partitions=("all",))]


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("down", []),
        ("idle", ["DRAIN"]),
        (["IDLE", "DRAIN"], []),
        ("idle", ["NOT_RESPONDING"]),
        ("unknown", []),
        (["ALLOCATED", "FAIL"], []),
        (["IDLE", "POWERING_DOWN"], []),
        (["IDLE", "POWERED_DOWN", "DRAIN"], []),
        (["DOWN", "POWERED_DOWN"], []),
        (["IDLE", "MAINTENANCE"], []),
        ("levitating", []),
        (None, None),
        ([], []),
    ],
)
def test_what_takes_no_jobs_is_not_up_and_says_why(state: object, flags: object) -> None:
    (host,) = cluster_hosts([{**_OLD, "state": state, "state_flags": flags, "reason": "new  memory\n"}], "", "")
    assert not host.up
    assert host.reason.endswith("new memory")


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("idle", ["POWERED_DOWN"]),
        (["IDLE", "CLOUD", "POWERED_DOWN"], []),
        ("allocated", ["POWERING_UP"]),
        (["ALLOCATED", "NOT_RESPONDING", "POWERING_UP"], []),
    ],
)
def test_a_node_that_sleeps_is_up_as_a_job_wakes_it(state: object, flags: object) -> None:
    """On a cluster that saves power no node was left after a quiet night, and no job was sent to wake one."""
    assert cluster_hosts([{**_OLD, "state": state, "state_flags": flags}], "", "")[0].up


@pytest.mark.parametrize("state", ["allocated", "mixed", ["ALLOCATED", "COMPLETING"], ["IDLE", "CLOUD"]])
def test_a_busy_node_is_up(state: object) -> None:
    assert cluster_hosts([{**_OLD, "state": state}], "", "")[0].up


def test_only_the_partition_counts() -> None:
    rows = [_OLD, {**_OLD, "name": "node02", "partitions": ["gpu"]}, {**_OLD, "name": "node03", "partitions": None}]
    assert [host.name for host in cluster_hosts(rows, "gpu", "")] == ["node02"]
    assert [host.name for host in cluster_hosts(rows, "", "")] == ["node01", "node02", "node03"]


def test_a_misspelt_partition_is_no_empty_cluster() -> None:
    rows = [
        _OLD,
        {**_OLD, "name": "node02", "partitions": ["gpu", "all"]},
        {**_OLD, "name": "node03", "partitions": None},
    ]
    with pytest.raises(
        ConnectorError, match=r"no node is in the partition 'gpus': .* \(partitions with nodes: all, gpu\)"
    ):
        cluster_hosts(rows, "gpus", "")
    assert cluster_hosts([], "gpus", "") == []


@pytest.mark.parametrize(
    "row",
    [
        {**_OLD, "state_flags": ["RESERVED"]},
        {**_NEW, "state": ["IDLE", "RESERVED"]},
        {**_NEW, "state": ["ALLOCATED", "RESERVED", "MAINTENANCE"]},
    ],
)
def test_a_reserved_node_takes_the_jobs_of_its_reservation_alone(row: dict[str, Any]) -> None:
    rows = [row, {**_OLD, "name": "node02"}]
    assert [host.up for host in cluster_hosts(rows, "", "")] == [False, True]
    own = NodeReservation("mine", frozenset({"node01"}), active=True)
    assert cluster_hosts(rows, "", "", own=own) == [Host("node01", partitions=("all",))]
    (host,) = cluster_hosts(rows, "", "", own=NodeReservation("mine", own.nodes, active=False))
    assert (host.up, host.reason) == (False, "the reservation mine is not active")


def test_a_reserved_node_that_is_drained_is_down() -> None:
    row = {**_OLD, "state_flags": ["RESERVED", "DRAIN"], "reason": "new memory"}
    (host,) = cluster_hosts([row], "", "", own=NodeReservation("mine", frozenset({"node01"}), active=True))
    assert (host.up, host.reason) == (False, "drain: new memory")


# As `scontrol --oneliner show reservation` of 22.05.8 printed it.
_TEXT = (
    "ReservationName=mine StartTime=2026-11-21T23:12:25 EndTime=2026-11-21T23:22:25 Duration=00:10:00 "
    "Nodes=node[03-04],big1 NodeCnt=3 CoreCnt=3 Features=(null) PartitionName=(null) Flags=SPEC_NODES TRES=cpu=3 "
    "Users=root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a "
    "MaxStartDelay=(null)\n"
)


@pytest.mark.parametrize(("state", "active"), [("ACTIVE", True), ("INACTIVE", False)])
def test_a_reservation_has_nodes_and_a_time(state: str, active: bool) -> None:
    found = parse_reservation(_TEXT.replace("State=ACTIVE", f"State={state}"))
    assert found == NodeReservation("mine", frozenset({"node03", "node04", "big1"}), active)


def test_a_reservation_may_have_no_nodes() -> None:
    assert parse_reservation(_TEXT.replace("node[03-04],big1", "(null)")).nodes == frozenset()


@pytest.mark.parametrize("text", ["", "No reservations in the system\n", "a b=c"])
def test_what_is_no_reservation_is_an_error_that_may_pass(text: str) -> None:
    with pytest.raises(ConnectorError, match="no reservation") as refusal:
        parse_reservation(text)
    assert refusal.value.transient
