from __future__ import annotations

import pytest

from cosched.connector import ConnectorError
from cosched_slurm.nodes import NodeReservation, parse_reservation

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
