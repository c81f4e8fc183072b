from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.measurement.programs.records import ObservedRun, record_line
from tests.modelling.test_block_costs import HARDWARE, SIZES, SKELETON, model, timed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    application = model(tmp_path, SKELETON)
    runs = timed(application, {"update_14": 5e-4, "init_9": 6e-3, "startup": 800.0})
    assert HARDWARE.processors == 1
    lines = [f"{size['nx']:g},{size['steps']:g},{each.seconds}" for size, each in zip(SIZES, runs, strict=True)]
    (tmp_path / "runs.csv").write_text("\n".join(["nx,steps,seconds", *lines]))
    (tmp_path / "one.csv").write_text("\n".join(["nx,steps,seconds", lines[0]]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_costs_of_a_derived_model_are_learnt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "fit", "stencil", "--table", "runs.csv", "--derived", "derived.psl"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "5 runs, each cost: update_14 0.5 ns, init_9 6 ns, startup 800 us"
    assert said[1].startswith("leave-one-size-out: mean 0.0%")
    assert said[-1] == "wrote stencil.psl (error 0.01 inside what was seen)"
    assert run(["model", "check", "stencil.psl", "--hardware", "x86_64_gigabit"]) == 0
    assert run(["model", "format", "--check", "stencil.psl"]) == 0
    assert "update_14 = 0.5 ns" in (folder / "stencil.psl").read_text()


def test_one_run_is_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--table", "one.csv", "--derived", "derived.psl", "--out", "quick.psl", "--json"]
    assert run(["model", "fit", "stencil", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["file"], found["runs"], found["law"], found["error"]) == ("quick.psl", 1, "one factor", 0.5)
    assert found["mean_error"] is None
    assert (folder / "quick.psl").exists()


def test_a_model_of_another_tool_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.psl").write_text("application mine { var numeric: a = 1 ns; proc exec init { } }")
    assert run(["model", "fit", "stencil", "--table", "runs.csv", "--derived", "mine.psl"]) == 1
    assert "mine.psl was not written by `cosched model derive`: make one" in capsys.readouterr().err
    assert run(["model", "fit", "stencil", "--table", "runs.csv", "--derived", "none.psl"]) == 1
    assert "none.psl" in capsys.readouterr().err


def test_a_fitted_model_is_fitted_again_and_held_against_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["model", "fit", "derived", "--derived", "derived.psl", "--table"]
    assert run([*again, "one.csv"]) == 0
    first = (folder / "derived.psl").read_text()
    assert 'seen = "nx ' in first
    assert run([*again, "runs.csv"]) == 0
    second = (folder / "derived.psl").read_text()
    assert second.count("option {") == second.count("samples = ") == second.count("Costs are from") == 1
    assert "Costs are from 5 runs (each cost)" in second
    assert second.split("samples =")[1] != first.split("samples =")[1]
    capsys.readouterr()
    assert run(["model", "validate", "derived.psl", "--table", "runs.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] in ("inside", "ends")


def test_runs_on_several_classes_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.csv").write_text("nx,steps,class,seconds\n500,20,a,1\n600,20,b,1\n")
    assert run(["model", "fit", "stencil", "--table", "two.csv", "--derived", "derived.psl"]) == 1
    assert "several classes of hosts (a, b): choose one with --class" in capsys.readouterr().err


def test_costs_go_beside_the_class_of_hosts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "node_a.hmcl").write_text("config node_a { clc { LFOR = 0.5 ns; } }")
    words = ["--table", "runs.csv", "--derived", "derived.psl", "--hardware", "./node_a.hmcl", "--blocks"]
    assert run(["model", "fit", "stencil", *words]) == 0
    assert "wrote stencil.psl and node_a.d/stencil.hmcl (error 0.01" in capsys.readouterr().out
    model = (folder / "stencil.psl").read_text()
    assert "compute <is block, update_14, nx ^ 2 * steps>;" in model
    assert "compute <is block, startup, 1>;" in model
    assert "update_14 =" not in model
    overlay = (folder / "node_a.d" / "stencil.hmcl").read_text()
    assert "stencil.update_14 = 0.5 ns" in overlay
    for file in ("stencil.psl", "node_a.d/stencil.hmcl", "node_a.hmcl"):
        assert run(["model", "format", "--check", file]) == (file == "node_a.hmcl")
    assert run(["model", "check", "stencil.psl"]) == 0
    capsys.readouterr()
    assert run(["model", "predict", "./stencil.psl", "--set", "nx=400", "--set", "steps=30", "--json"]) == 0
    seconds = json.loads(capsys.readouterr().out)["seconds"][0]
    assert seconds == pytest.approx((5e-4 * 400**2 * 30 + 6e-3 * 402**2 + 800) * 1e-6, rel=1e-4)
    assert run(["model", "fit", "stencil", *words]) == 0  # its own files are written again


def test_costs_beside_a_class_need_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["model", "fit", "stencil", "--table", "runs.csv", "--blocks"]
    assert run([*words, "--derived", "derived.psl"]) == 1
    assert "--blocks: the runs name no class of hosts" in capsys.readouterr().err
    assert run(words) == 1
    assert "--blocks: only models of `cosched model derive` name blocks" in capsys.readouterr().err
    (folder / "node_a.d").mkdir()
    (folder / "node_a.d" / "stencil.hmcl").write_text("config node_a { blocks { stencil.a = 1 ns; } }")
    assert run([*words, "--derived", "derived.psl", "--class", "node_a"]) == 1
    assert "was not written by" in capsys.readouterr().err


def test_runs_that_show_only_the_start_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{size['nx']:g},{size['steps']:g},1.5" for size in SIZES]
    (folder / "same.csv").write_text("\n".join(["nx,steps,seconds", *rows]))
    assert run(["model", "fit", "stencil", "--table", "same.csv", "--derived", "derived.psl"]) == 0
    assert "the runs are too short to tell what the blocks cost: run larger sizes" in capsys.readouterr().out


def record(size: dict[str, float], seconds: float) -> str:
    return record_line(
        ObservedRun(
            "stencil", "", size, 1, 1, "", 0.0, seconds, (seconds,), 0.0, 0, False, 0, startup=1.5, by_task=True
        )
    )


@pytest.mark.parametrize("blocks", [False, True])
def test_launchers_are_part_of_the_model(folder: Path, capsys: pytest.CaptureFixture[str], blocks: bool) -> None:
    application = model(folder, SKELETON)
    runs = timed(application, {"update_14": 5e-4, "init_9": 6e-3, "startup": 800.0})
    (folder / "runs.jsonl").write_text("".join(record(dict(each.parameters), each.seconds) for each in runs))
    (folder / "node_a.hmcl").write_text("config node_a { clc { LFOR = 0.5 ns; } }")
    words = ["--derived", "derived.psl", "--hardware", "./node_a.hmcl", *(["--blocks"] if blocks else [])]
    assert run(["model", "fit", "stencil", "runs.jsonl", *words]) == 0
    assert "Launchers take 1.5 s more (launcher; within 32%)" in capsys.readouterr().out
    assert run(["model", "check", "stencil.psl"]) == 0
    size = {"nx": 500.0, "steps": 20.0}
    capsys.readouterr()
    assert (
        run(
            [
                "model",
                "predict",
                "./stencil.psl",
                "--hosts=1",
                *(f"--set={name}={size[name]}" for name in size),
                "--json",
            ]
        )
        == 0
    )
    (foretold,) = json.loads(capsys.readouterr().out)["seconds"]
    alone = timed(application, {"update_14": 5e-4, "init_9": 6e-3, "startup": 800.0}, [size])[0].seconds
    assert foretold == pytest.approx(1.5 + alone, rel=1e-3)
    assert run(["model", "validate", "stencil.psl", "--records", "runs.jsonl"]) == 0  # of the runs without launchers
    assert " 0.0%" in capsys.readouterr().out
    if not blocks:
        again = ["--derived", "stencil.psl", "--hardware", "./node_a.hmcl"]
        before = (folder / "stencil.psl").read_text()
        assert run(["model", "fit", "stencil", "runs.jsonl", *again]) == 0
        assert (folder / "stencil.psl").read_text().count("launcher") == before.count("launcher")


def test_a_derived_model_is_named_where_its_costs_are_wanted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "fit", "derived", "--table", "runs.csv"]) == 1
    assert "derived.psl is the derived model: give --derived derived.psl for its costs" in capsys.readouterr().err


CACHED = """config cached {
    memory { L1_size = 32 KiB, L1_bandwidth = 90 GB/s, L2_size = 2 MiB, L2_bandwidth = 40 GB/s, bandwidth = 10 GB/s; }
}
"""


def test_costs_beyond_a_cache_come_from_what_runs_took_of_memory(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["nx,steps,memory MiB,class,seconds"]
    for nx in (80, 200, 300, 400, 600, 900):
        for steps in (10, 30):
            beyond = max(0.0, 1 - 2 * (1 << 20) / (16 * nx * nx))
            seconds = 1e-9 * (nx**2 * steps * (0.5 + beyond) + 6 * (nx + 2) ** 2) + 8e-4
            lines.append(f"{nx},{steps},{9 + 16 * nx * nx / (1 << 20)},cached,{seconds}")
    (folder / "cached.csv").write_text("\n".join(lines))
    (folder / "cached.hmcl").write_text(CACHED)
    words = ["model", "fit", "stencil", "--derived", "derived.psl", "--out", "out.psl", "--table"]
    assert run([*words, "cached.csv"]) == 0
    said = capsys.readouterr().out
    assert "12 runs, each cost and caches: update_14 0.5 ns" in said
    assert "update_14_beyond_L2 1 ns" in said
    assert "within L2" not in said
    assert run(["model", "predict", "out.psl", "--hosts", "1", "--set", "nx=2000", "--set", "steps=10", "--json"]) == 0
    seconds = json.loads(capsys.readouterr().out)["seconds"][0]
    wanted = 1e-9 * (2000**2 * 10 * (1.5 - 2 * (1 << 20) / (16 * 2000**2)) + 6 * 2002**2) + 8e-4
    assert seconds == pytest.approx(wanted, rel=0.01)
    (folder / "small.csv").write_text("\n".join(lines[:7]))
    assert run([*words, "small.csv"]) == 0
    assert "within L2 (2 MiB): a size beyond it takes longer than the model says" in capsys.readouterr().out
