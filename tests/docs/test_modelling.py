"""Every example in docs/modelling.md is checked and, where it can be, evaluated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cosched.evaluation import load, load_hardware, profile
from cosched.language import check_files, default_library

PAGE = (Path(__file__).parents[2] / "docs" / "modelling.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", blocks("psl"))
def test_a_psl_example_is_evaluated(text: str, tmp_path: Path) -> None:
    found = re.search(r"application (\w+)", text)
    assert found
    path = tmp_path / f"{found[1]}.psl"
    path.write_text(text, encoding="utf-8")
    assert check_files([path], default_library()) == []
    seconds = profile(load(path), load_hardware("sgi_origin2000"), [1, 2, 4])
    assert (np.diff(seconds) < 0).all()
    assert (seconds > 0).all()


def test_the_hardware_example_serves_the_ring(tmp_path: Path) -> None:
    hardware, ring = blocks("hmcl")[0], blocks("psl")[1]
    (tmp_path / "my_cluster.hmcl").write_text(hardware, encoding="utf-8")
    (tmp_path / "ring.psl").write_text(ring, encoding="utf-8")
    assert check_files([tmp_path / "my_cluster.hmcl"], default_library()) == []
    assert profile(load(tmp_path / "ring.psl"), load_hardware(tmp_path / "my_cluster.hmcl"), [8])[0] > 0


def test_the_example_in_words_has_the_costs_that_it_says(tmp_path: Path) -> None:
    path = tmp_path / "described.hmcl"
    path.write_text(blocks("hmcl")[1], encoding="utf-8")
    assert check_files([path], default_library()) == []
    costs = load_hardware(path).messages["mpi"]
    # 1.25 GB/s are 1250 bytes a microsecond.
    assert costs.transfer(1250) == pytest.approx(10 + 1)
    assert costs.transfer(11_000) == pytest.approx(12 + 10)
    assert costs.send(5000) == costs.receive(5000) == pytest.approx(2)


def test_the_python_examples_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    for code in blocks("python"):
        exec(compile(code, "modelling.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("(3, 16)\n[16 16 16]\n")
    assert "'kt'" in printed
    assert "16: 'compute'" in printed
