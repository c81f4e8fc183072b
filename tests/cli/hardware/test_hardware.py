from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.measurement.machine import MachineBench
from cosched.measurement.samples import Samples
from cosched.measurement.writing import MeasuredMachine
from tests.measurement.makers import FACTS, made_up_samples
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return kept(tmp_path, "old")


def kept(folder: Path, name: str, factor: float = 1.0) -> Path:
    """Write the samples of a machine that was measured before."""
    file = folder / f"{name}.samples.json"
    file.write_text(MeasuredMachine(name, FACTS, made_up_samples(factor)).samples_text())
    return file


def test_a_model_is_made_of_samples_and_predicts(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hardware", "measure", "node_a", "--samples", str(old), "--folder", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "242 opcodes; cc 12 -O2; spread 0.0%" in said
    assert "within the host: Open MPI 4; lines up to 0% off" in said
    assert run(["model", "predict", "sweep3d", "--hardware", str(tmp_path / "node_a.hmcl")]) == 0
    assert "sweep3d on node_a" in capsys.readouterr().out
    assert run(["hardware", "measure", "node_a", "--samples", str(old), "--folder", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opcodes"] == 242


@pytest.mark.parametrize(
    ("taken", "given", "message"),
    [
        (r'"operation[^]]*\],?', "", "lacks the samples of 'operation': measure once more"),
        (r'"network send 1024":\[[^]]*\],?', "", "lacks the samples of 'network send 1024': measure once more"),
        ('"memory 16384"', '"memory L1"', "has samples of no test (invalid literal"),
    ],
)
def test_samples_that_are_no_whole_measurement_are_told_in_one_line(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: str, given: str, message: str
) -> None:
    text, count = re.subn(taken, given, old.read_text())
    assert count
    (tmp_path / "less.json").write_text(text)
    assert (
        run(["hardware", "measure", "less", "--samples", str(tmp_path / "less.json"), "--folder", str(tmp_path)]) == 1
    )
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_model_written_by_hand_is_not_written_over(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.hmcl").write_text("config mine { }")
    assert run(["hardware", "measure", "mine", "--samples", str(old), "--folder", str(tmp_path)]) == 1
    assert "was not written by `cosched hardware measure`: choose another name" in capsys.readouterr().err
    assert (tmp_path / "mine.hmcl").read_text() == "config mine { }"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["measure", "node a"], "'node a' cannot name a resource model: use letters, digits and '_'"),
        (["measure", "a", "--folder", "/no/such"], "there is no such folder"),
        (["measure", "a", "--samples", "/no/such.json"], "cannot be read"),
        (["measure", "a", "--cc", 'gcc "'], "--cc or --cflags cannot be read (No closing quotation)"),
        (["compare", "/no/such.hmcl", "/no/such.hmcl"], "cannot be read"),
    ],
)
def test_a_fault_is_told_in_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hardware", *words]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_what_differs_is_shown_and_ends_with_1(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = kept(tmp_path, "new", 1.5)
    assert run(["hardware", "compare", str(old), str(old)]) == 0
    assert "0 of" in capsys.readouterr().out
    assert run(["hardware", "compare", str(old), str(new)]) == 1
    said = capsys.readouterr().out
    assert "operation" in said
    assert "1.50" in said
    assert "memory" not in said


@pytest.mark.parametrize(("factor", "code"), [(1.5, 0), (3.0, 1), (0.3, 1)])
def test_noise_differs_where_it_has_doubled_or_halved(
    old: Path, tmp_path: Path, factor: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = made_up_samples()
    changed = {name: list(samples.of(name)) for name in samples}
    changed["noise deviation"] = [factor * value for value in changed["noise deviation"]]
    new = tmp_path / "new.samples.json"
    new.write_text(MeasuredMachine("new", FACTS, Samples(changed)).samples_text())
    assert run(["hardware", "compare", str(old), str(new)]) == code
    assert ("noise deviation" in capsys.readouterr().out) == bool(code)


def test_a_launcher_that_fails_costs_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a busy machine MPI's ranks, which wait busily, ended after minutes, and all that was measured was lost."""
    for name, text in (
        ("mpicc", 'while [ "$1" != -o ]; do shift; done; echo > "$2"\n'),
        ("mpirun", '[ "$1" = --version ] && echo "mpirun of no use" || { echo "no processors" >&2; exit 1; }\n'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    made_up, timed = made_up_samples(), MachineBench.messages

    def put(found: Samples, group: str) -> None:
        for name in made_up:
            if name.startswith(group):
                found.add(name, made_up.value(name))

    def messages(bench: MachineBench, found: Samples, kind: str, way: str) -> None:
        timed(bench, found, kind, way) if way == "mpi" else put(found, kind)

    monkeypatch.setattr(MachineBench, "messages", messages)
    for method, group in (("operations", "operation"), ("memory", "memory"), ("noise", "noise")):
        monkeypatch.setattr(MachineBench, method, lambda _bench, found, group=group: put(found, group))
    words = ["hardware", "measure", "node_a", "--quick", "--cc", compiler(), "--folder", str(tmp_path)]
    assert run(words) == 0
    said = capsys.readouterr()
    assert "mpirun fails: no processors; messages within the host are timed by sockets" in said.err
    assert "46 sizes within the host: sockets, as mpirun fails: no processors; lines" in said.out
    assert "sockets, as mpirun fails: no processors" in (tmp_path / "node_a.hmcl").read_text()
