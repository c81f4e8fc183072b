"""Programs of several processes are counted by real MPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import evaluate, load, load_hardware, profile
from cosched.language import check_files, default_library, format_source, read
from cosched.language.library import locate
from cosched.modelling.derivation import Derivation, DerivationRequest, derive
from tests.modelling.derivation.programs import RING, coverage_reader, written
from tests.testbed.software.mpi_compiler import environment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return written(tmp_path, "ring.c", RING)


def derived(source: Path, sizes: str) -> Derivation:
    return derive(DerivationRequest([source], sizes, gcov=coverage_reader(), runs=10, limit=60.0))


def test_processes_of_mpi_are_counted_together(source: Path, tmp_path: Path) -> None:
    found = derived(source, "Nproc=1..3 nx=8..40 ny=8..40 steps=3..20")
    formulas = {found.lines(each.block): each.formula.text() for each in found.blocks}
    assert formulas["ring.c:15-16"] == "nx * ny * steps"
    assert formulas["ring.c:13,18-19"] == "Nproc * steps"
    assert all(each.formula.exact for each in found.blocks)
    assert "MPI_Sendrecv" in {name for each in found.blocks for name in each.calls}
    assert [(each.template, each.settings, each.turns, each.calls) for each in found.communication.exchanges] == [
        ("allreduce", {"size": "8"}, "1", ["MPI_Allreduce at ring.c:24"]),
        ("shift", {"size": "8 * ny", "periodic": "1"}, "steps", ["MPI_Sendrecv at ring.c:19"]),
    ]
    assert all(each.exact for each in found.communication.exchanges)
    model = written(tmp_path, "ring.psl", found.psl())
    assert check_files([model], default_library()) == []
    assert format_source(read(model)) == found.psl()
    hardware = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))
    sizes = {"nx": 1e4, "ny": 1e4, "steps": 100}
    one, three = profile(load(model), hardware, [1, 3], parameters=sizes)
    assert one / three == pytest.approx(3, rel=0.05)
    result = evaluate(load(model), hardware, 3, sizes)
    assert (result.messages, result.bytes_sent) == (3 * 100 + 4, 3 * 100 * 8e4 + 4 * 8)


def test_a_program_of_mpi_runs_alone_without_a_launcher(source: Path) -> None:
    found = derived(source, "nx=8..40 ny=8..40 steps=3..20")
    assert found.blocks[0].formula.text() == "nx * ny * steps"
    assert "link { hardware: Nproc = 1; }" in found.psl()
