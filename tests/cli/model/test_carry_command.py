from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.language import check_files, default_library

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """application heat {
    var numeric: cells = 1e6 in (1, 1e9);

    option { hrduse = "node_a", error = 0.05; }

    proc exec init { step cpu { confdev work(); } }

    proc cflow work { compute <is block, update, cells / Nproc>; }
}
"""
CLASS = """config {name} {{
    memory {{ L2_size = 2 MiB, L2_bandwidth = {near} GB/s, bandwidth = {far} GB/s; }}

    clc {{ AFDL = {cost} ns, MFDL = {cost} ns, SFDL = {cost} ns, ARD1 = {cost} ns, LFOR = {cost} ns; }}
}}
"""
OVERLAY = "(* by `cosched model fit` *) config node_a { blocks { heat.update = 2 ns; } }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "heat.psl").write_text(MODEL)
    (tmp_path / "node_a.hmcl").write_text(CLASS.format(name="node_a", near=80, far=12, cost=0.2))
    (tmp_path / "node_b.hmcl").write_text(CLASS.format(name="node_b", near=60, far=6, cost=0.3))
    (tmp_path / "node_a.d").mkdir()
    (tmp_path / "node_a.d" / "heat.hmcl").write_text(OVERLAY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def predicted(hardware: str, capsys: pytest.CaptureFixture[str]) -> tuple[float, float, float]:
    capsys.readouterr()
    assert run(["model", "predict", "heat.psl", "--hardware", hardware, "--hosts", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["low"][0], found["seconds"][0], found["high"][0]


def test_a_model_of_one_class_predicts_on_another_with_a_wider_range(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["model", "predict", "heat.psl", "--hardware", "node_b", "--hosts", "1"]) == 1
    assert "hardware node_b gives no cost of block heat.update" in capsys.readouterr().err
    assert run(["model", "carry", "heat.psl", "--to", "node_b"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        "an operation of node_b takes 1.50 times as long as one of node_a, "
        "bytes near the processor 1.33 times, far from it 2.00 times"
    )
    assert said[1] == "wrote node_b.d/heat.hmcl: 1 block, a guess within 33%; runs there are better"
    low, seconds, high = predicted("node_b", capsys)
    assert seconds == pytest.approx(1.5 * 2e-3)
    assert high / seconds - 1 == pytest.approx((0.05**2 + (1 / 3) ** 2) ** 0.5, rel=1e-2)  # the model's own and this
    assert low < 0.7 * seconds
    low, seconds, high = predicted("node_a", capsys)
    assert (low, seconds, high) == pytest.approx((0.95 * 2e-3, 2e-3, 1.05 * 2e-3))
    assert check_files([folder / "heat.psl", folder / "node_b.d" / "heat.hmcl"], default_library()) == []
    assert run(["model", "carry", "heat.psl", "--to", "./node_b.hmcl", "--json"]) == 0  # again: it is a guess of ours
    assert json.loads(capsys.readouterr().out)["costs"] == {"update": pytest.approx(3e-3)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["heat.psl", "--to", "node_a"], "node_a is the class that the costs are of: name another one with --to"),
        (["heat.psl", "--to", "node_c"], "no hardware"),
        (
            ["heat.psl", "--to", "node_a", "--from", "node_b"],
            "node_b has no costs of blocks of heat: `cosched model fit",
        ),
        (["heat.psl", "--to", "bare"], "node_a and bare have 0 costs of operations in common"),
        (["none.psl", "--to", "node_b"], "none.psl"),
        (["plain.psl", "--to", "node_b"], "names no hardware in its option hrduse: give --from"),
        (["heat.psl", "--to", "mixed"], "mixed lists hosts of several classes: name one of them"),
    ],
)
def test_what_cannot_be_carried_is_said_in_one_line(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bare.hmcl").write_text("config bare { memory { bandwidth = 1 GB/s; } }")
    (folder / "mixed.hmcl").write_text("config mixed { hosts { node_a = 1, node_b = 1; } }")
    (folder / "plain.psl").write_text(MODEL.replace('hrduse = "node_a", ', ""))
    assert run(["model", "carry", *words]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (folder / "node_b.d").exists()


def test_costs_from_runs_are_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "node_b.d").mkdir()
    (folder / "node_b.d" / "heat.hmcl").write_text(OVERLAY.replace("node_a", "node_b"))
    assert run(["model", "carry", "heat.psl", "--to", "node_b"]) == 1
    assert "node_b.d/heat.hmcl has costs of its own, which are better" in capsys.readouterr().err


def test_the_error_of_costs_is_no_block(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "node_a.d" / "heat.hmcl").write_text(OVERLAY.replace("2 ns;", "2 ns, heat.error = 30 %;"))
    (folder / "wrong.psl").write_text(MODEL.replace("update", "error"))
    assert run(["model", "check", "wrong.psl"]) == 1
    assert "error is no block: it says how far off costs may be" in capsys.readouterr().out
