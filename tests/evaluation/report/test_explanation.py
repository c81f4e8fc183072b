from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.evaluation import explain, load, profile
from cosched.evaluation.clocks.steps import COMPUTE, SEND
from cosched.evaluation.report.costlier import costlier_hardware
from cosched.evaluation.report.explanation import costlier_work, sequential_work
from tests.models.library import library_hardware

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

TWO = """application model { include t; var numeric: n = 10, idle = 3;
link { t: Tx = work(); }
proc exec init { call t; }
proc cflow work {
    loop (<is clc, LFOR>, n) {
        compute <is clc, 2*AFDL>;
    }
} }
partmp t { var numeric: Tx; proc exec init {
    step cpu on 1 { confdev Tx; }
    if (Nproc > 1) { step mpisend { confdev 1, Nproc, 100; } step mpirecv { confdev 1, Nproc, 100; } } } }"""


def test_everything_by_hand(model: Callable[[str], Application], plain: Hardware) -> None:
    found = explain(model(TWO), plain, [1, 2])
    # Work: 10 (0.25 + 2·0.5) = 12.5 us. On two hosts the message follows: 1 + 1, 10 + 10, 3 + 3 us, 40.5 us in all.
    assert (found.best, found.at) == (1, 1)
    one, two = found.points
    assert (one.seconds, one.compute) == pytest.approx((12.5e-6, 12.5e-6))
    assert one.binds == "compute"
    # Even work is half of it; the other half is what processor 2 waits for. 14 us do not depend on the 100 bytes.
    parts = (two.seconds, two.compute, two.imbalance, two.latency, two.bandwidth)
    assert parts == pytest.approx((40.5e-6, 6.25e-6, 6.25e-6, 14e-6, 14e-6))
    assert [(part.line, part.kind) for part in found.work] == [(6, "compute"), (5, "loop")]
    assert [part.seconds for part in found.work] == pytest.approx([10e-6, 2.5e-6])
    assert [item.name for item in found.costs] == ["clc AFDL", "clc LFOR"]
    assert [item.elasticity for item in found.costs] == pytest.approx([0.8, 0.2])
    assert [(item.name, item.changed) for item in found.parameters] == [("n", 11), ("idle", 4)]
    assert [item.elasticity for item in found.parameters] == pytest.approx([1, 0])


def test_another_number_of_hosts_may_be_looked_into(model: Callable[[str], Application], plain: Hardware) -> None:
    found = explain(model(TWO), plain, [1], {"n": 20}, at=2)
    assert (found.best, found.at) == (1, 2)
    assert found.evaluation.seconds == pytest.approx(53e-6)
    assert [(part.kind, part.line) for part in found.path[:2]] == [(COMPUTE, 10), (3, 11)]
    assert {part.kind for part in found.path} == {COMPUTE, SEND, 2, 3}
    # A tenth more of each of the six parts of the message; the network's fixed part is 10 of 53 us.
    costs = {item.name: item.elasticity for item in found.costs}
    assert costs["mpi transfer, per message"] == pytest.approx(10 / 53)
    assert costs["mpi receive, per byte"] == pytest.approx(3 / 53)


def test_a_parameter_at_its_limit_is_changed_downwards(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("var numeric: n = 8 in (1, 8); proc exec init { step cpu { confdev n; } }")
    (item,) = explain(application, plain, [1]).parameters
    assert item.changed == 7
    assert item.elasticity == pytest.approx(1)


def test_a_default_that_depends_on_what_is_given_is_changed_from_there(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    """It was changed from its value with all other defaults: ten percent more made a run of 100 s one of 3 s."""
    application = model("var numeric: a = 1, b = 2 * a; proc exec init { step cpu { confdev b; } }")
    found = {item.name: item for item in explain(application, plain, [1], {"a": 50}).parameters}
    assert (found["b"].value, found["b"].changed) == (100, 110)
    assert found["b"].elasticity == pytest.approx(1)


def test_measured_times_count_as_work(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""proc exec init { step cpu { confdev run() + block(); } }
        proc cflow run { measured (Nproc) { 1: 6, 2: 3 } }
        proc cflow block { compute <is measured, 2>; case (<is measured, 1>) { 0.5: compute <is clc, AFDL>; } }""")
    found = explain(application, plain, range(1, 5))
    assert [point.hosts for point in found.points] == [1, 2]
    assert {(part.line, part.kind, round(part.seconds * 1e6, 6)) for part in found.work} == {
        (2, "measured", 3),
        (3, "compute", 2),
        (3, "case", 1),
        (3, "compute", 0.25),
    }


def test_a_number_that_the_model_does_not_cover_cannot_be_looked_into() -> None:
    with pytest.raises(UserError, match="nothing was measured for 20"):
        explain(load("cpi_measured"), library_hardware("sgi_origin2000"), [1, 2], at=20)


@pytest.mark.parametrize("name", ["sweep3d", "memsort", "improc"])
def test_the_library_explains_itself(name: str) -> None:
    small = {"sweep3d": {"iterations": 2}}.get(name, {})
    application = load(name)
    found = explain(application, library_hardware(application.hardware), [1, 8], small)
    for point in found.points:
        assert point.compute + point.imbalance + point.latency + point.bandwidth == pytest.approx(point.seconds)
    compute = sum(part.seconds for part in found.path if part.kind == COMPUTE)
    # All work of these models is in cflows, and a little more of it makes no other path the critical one.
    assert sum(part.seconds for part in found.work) == pytest.approx(compute, rel=1e-3)
    assert sum(part.seconds for part in found.path) == pytest.approx(found.evaluation.seconds)


def test_bytes_that_are_moved_count_as_work(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""proc exec init { step cpu { confdev w(); } }
        proc cflow w { loop (<is memory, 8, 8>, 2) { compute <is memory, 8, 33>; } }""")
    found = explain(application, plain, [1])
    assert [(part.kind, round(part.seconds * 1e6, 6)) for part in found.work] == [("compute", 8), ("loop", 2)]
    assert [item.name for item in found.costs] == ["memory main, per byte", "memory L1, per byte"]
    assert [item.elasticity for item in found.costs] == pytest.approx([0.8, 0.2])


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


def test_a_block_is_work_and_a_cost_that_matters(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""proc exec init { step cpu { confdev w(); } }
        proc cflow w { compute <is block, update, 1000>; compute <is measured, 1 us>; }""")
    hardware = replace(plain, blocks={"model.update": 0.003, "other.update": 1.0})
    found = explain(application, hardware, [1])
    assert found.evaluation.seconds == pytest.approx(4e-6)
    assert [part.seconds for part in found.work] == pytest.approx([3e-6, 1e-6])
    assert [(cost.name, round(cost.elasticity, 2)) for cost in found.costs] == [("block model.update", 0.75)]
