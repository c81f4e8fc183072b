"""What docs/modelling.md says of its examples; that they run, test_examples.py sees to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.evaluation import explain, load, load_hardware, profile
from cosched.language import parse_psl, read
from cosched.language.arithmetic import constant
from tests.docs.examples import ROOT, examples

if TYPE_CHECKING:
    from pathlib import Path

PAGE = examples(ROOT / "docs" / "modelling.md")


def written(folder: Path, name: str) -> Path:
    """Write the example of an application or a configuration to a file and return that."""
    suffix, text = next(
        (example.words[0], example.text)
        for example in PAGE
        if example.text.startswith((f"application {name} ", f"config {name} "))
    )
    path = folder / f"{name}.{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_measured_example_is_its_table(tmp_path: Path) -> None:
    seconds = profile(load(written(tmp_path, "render")), load_hardware("sgi_origin2000"), [1, 2, 3, 4, 8])
    assert list(seconds) == [2400, 1260, float("inf"), 690, 400]


def test_the_hardware_example_serves_the_ring(tmp_path: Path) -> None:
    ring, hardware = load(written(tmp_path, "ring")), load_hardware(written(tmp_path, "my_cluster"))
    seconds = profile(ring, hardware, [1, 2, 4])
    assert seconds[0] > seconds[1] > seconds[2] > 0


def test_the_example_in_words_has_the_costs_that_it_says(tmp_path: Path) -> None:
    costs = load_hardware(written(tmp_path, "described")).messages["mpi"]
    # 1.25 GB/s are 1250 bytes a microsecond.
    assert costs.transfer(1250) == pytest.approx(10 + 1)
    assert costs.transfer(11_000) == pytest.approx(12 + 10)
    assert costs.send(5000) == costs.receive(5000) == pytest.approx(2)


def test_caches_make_shares_that_fit_quicker_as_the_page_says(tmp_path: Path) -> None:
    cached, caches = load(written(tmp_path, "cached")), load_hardware(written(tmp_path, "caches"))
    one, sixteen = profile(cached, caches, [1, 16])
    # 24 MB from L3 at 40 GB/s and three operations of 0.2 ns a cell.
    assert one / 100 == pytest.approx(600e-6 + 600e-6)
    assert round(one / sixteen) == 21


def test_the_python_examples_print_what_their_comments_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    for example in PAGE:
        if example.words == ("python",):
            exec(compile(example.text, example.place, "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("(3, 16)\n[16 16 16]\n")
    assert "'kt'" in printed
    assert "16: 'compute'" in printed
    shown = next(example.text for example in PAGE if "3 terms: " in example.text)
    command = ["fit", "stencil", "--table", "runs.csv", "--hardware", "x86_64_gigabit"]
    assert CliRunner().invoke(app, command).output == shown


def test_the_cluster_of_two_kinds_serves_the_ring(tmp_path: Path) -> None:
    ring, fast = load(written(tmp_path, "ring")), load_hardware(written(tmp_path, "fast_node"))
    seconds = profile(ring, load_hardware(written(tmp_path, "both")), range(1, 8))
    # Twice four fast processors, then slow ones that the others wait for; there is no seventh host.
    assert seconds[1] < seconds[0] < seconds[2]
    assert seconds[6] == float("inf")
    assert seconds[:2] == pytest.approx(profile(ring, fast, [1, 2]))


def test_the_table_of_templates_names_their_variables() -> None:
    text = (ROOT / "docs" / "modelling.md").read_text(encoding="utf-8")
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| [^|]+ \| (`[^|]+) \|$", text, re.MULTILINE)}
    for path in sorted((ROOT / "models" / "templates").glob("*.psl")):
        (template,) = parse_psl(read(path))
        defaults = {item.name: item.value for group in template.variables for item in group.declarations}
        named = dict(re.findall(r"`(\w+)`(?: \((\d+)\))?", rows.pop(template.name)))
        assert list(named) == list(defaults)
        for name, default in named.items():
            value = defaults[name]
            assert (constant(value) if value else None) == (float(default) if default else None), (path, name)
    assert not rows.keys() & {"independent", "halo"}


def test_the_stencil_takes_what_the_page_says(tmp_path: Path) -> None:
    heat, hardware = load(written(tmp_path, "heat")), load_hardware("x86_64_gigabit")
    seconds = profile(heat, hardware, range(1, 17))
    assert (round(float(seconds[0]), 1), round(float(seconds[15]), 2)) == (2.6, 0.21)
    assert seconds[10] > seconds[9]
    assert seconds[12] > seconds[11]
    last = explain(heat, hardware, range(1, 17)).points[15]
    assert last.compute / last.seconds == pytest.approx(0.79, abs=0.005)
