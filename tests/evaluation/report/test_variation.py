from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import profile
from cosched.evaluation.report.explanation import costlier_hardware, costlier_work, sequential_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

TEXT = """application model { include t; include u; proc exec init { call t; call u; } }
partmp t { include u; proc exec init { step cpu { confdev w(); } call u; }
    proc cflow w { compute <is clc, AFDL, 3*MFDL>; } }
partmp u { proc exec init { step cpu { confdev w(); } } proc cflow w { compute <is measured, 4 us>; } }"""
MEMORY = "proc exec init { step cpu { confdev w(); } } proc cflow w { compute <is memory, 16, 8>; }"


def test_one_piece_of_work_grows_and_no_other(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model(TEXT)
    pieces = {piece.at.line: piece for piece in sequential_work(application)}
    # 0.5 + 3 us of operations, and twice 4 us that were measured.
    assert profile(application, plain, [1]).tolist() == pytest.approx([11.5e-6])
    assert profile(costlier_work(application, pieces[3], 2), plain, [1]).tolist() == pytest.approx([15e-6])
    assert profile(costlier_work(application, pieces[4], 2), plain, [1]).tolist() == pytest.approx([19.5e-6])
    assert profile(application, plain, [1]).tolist() == pytest.approx([11.5e-6])


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
    assert (line.b, line.c, line.d, line.e) == (10, 0.2, 20, 0.4)
    assert found["mpi transfer, per byte"].messages["mpi"].send == plain.messages["mpi"].send


def test_moved_bytes_grow_and_so_do_the_costs_of_each_level(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model(MEMORY)
    (piece,) = sequential_work(application)
    assert piece.kind == "compute"
    assert profile(costlier_work(application, piece, 2), plain, [1]).tolist() == pytest.approx([4e-6])
    found = dict(costlier_hardware(plain, set(), [], 2, memory=True))
    assert list(found) == ["memory L1, per byte", "memory main, per byte"]
    times = {name: float(profile(application, hardware, [1])[0]) for name, hardware in found.items()}
    assert times == pytest.approx({"memory L1, per byte": 4e-6, "memory main, per byte": 2e-6})
    both = replace(plain, hosts=(plain, replace(plain, memory=None)))
    changed = dict(costlier_hardware(both, set(), [], 2, memory=True))["memory main, per byte"].hosts
    assert [host.memory and host.memory.a_byte for host in changed] == [(0.125, 1.0), None]
