from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.evaluation.costs import LinearCost, MessageCost, PiecewiseCost, described_memory
from cosched.evaluation.report.costlier import costlier_hardware

if TYPE_CHECKING:
    from cosched.evaluation import Hardware


def test_each_cost_of_a_hardware_that_matters_grows_by_itself(plain: Hardware) -> None:
    found = dict(costlier_hardware(plain, {"AFDL", "SWCH"}, ["mpi"], 2, memory=False))
    assert sorted(found) == [
        "clc AFDL",
        "mpi receive, per byte",
        "mpi receive, per message",
        "mpi send, per byte",
        "mpi send, per message",
        "mpi transfer, per byte",
        "mpi transfer, per message",
    ]
    assert found["clc AFDL"].operations == {**plain.operations, "AFDL": 1.0}
    line = found["mpi transfer, per byte"].messages["mpi"].transfer
    assert isinstance(line, LinearCost)
    assert (line.b, line.c, line.d, line.e) == (10, 0.2, 20, 0.4)
    assert found["mpi transfer, per byte"].messages["mpi"].send == plain.messages["mpi"].send


def test_points_of_messages_grow_by_message_and_by_byte(plain: Hardware) -> None:
    through = PiecewiseCost.through(((0, 2.0), (10, 12.0), (20, 32.0)))
    hardware = replace(plain, messages={"mpi": MessageCost(through, through.part(0), through.part(0))})
    found = dict(costlier_hardware(hardware, set(), ["mpi"], 2, memory=False))
    message, byte = (found[f"mpi transfer, per {what}"].messages["mpi"].transfer for what in ("message", "byte"))
    assert [message(size) for size in (0, 5, 20, 30)] == pytest.approx([4, 9, 34, 54])
    assert [byte(size) for size in (0, 5, 20, 30)] == pytest.approx([2, 12, 62, 102])


def test_a_curve_of_memory_grows_as_one(plain: Hardware) -> None:
    memory = described_memory({}, ((8.0, 4.0), (32.0, 2.0)))
    found = dict(costlier_hardware(replace(plain, memory=memory), set(), [], 2, memory=True))
    assert list(found) == ["memory curve, per byte"]
    changed = found["memory curve, per byte"].memory
    assert changed is not None
    assert (changed.time(12, 8), changed.time(12, 32)) == (6, 12)
