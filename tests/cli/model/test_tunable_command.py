from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.errors import UserError
from tests.language.tunable_models import application

if TYPE_CHECKING:
    from pathlib import Path


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["tunable", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def document(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*arguments, "--json"))
    return found


def test_the_papers_example_as_json() -> None:
    found = document("junctions")
    assert found["parameters"] == {"images": 1000.0}
    assert [(node["task"], node["turns"], node["then"]) for node in found["graph"]] == [
        ("sampleImage", 1000, [2]),
        ("markRegionA", 1000, [3]),
        ("computeJunctions", 1000, []),
        ("sampleImage", 1000, [5]),
        ("markRegionB", 1000, [6]),
        ("computeJunctions", 1000, []),
    ]
    assert [node["number"] for node in found["graph"] if node["first"]] == [1, 4]
    assert [node["number"] for node in found["graph"] if node["last"]] == [3, 6]
    fine, coarse = found["chains"]
    (loop,) = fine["stages"]
    assert loop["turns"] == 1000
    assert loop["stages"][0] == {
        "task": "sampleImage",
        "sets": {"sampleGranularity": 16.0},
        "hosts": 4,
        "seconds": 8.0,
        "deadline": 10.0,
        "quality": 1.0,
    }
    assert [stage["hosts"] * stage["seconds"] for stage in loop["stages"]] == [32, 2, 304]
    assert (fine["seconds"], fine["host_seconds"], fine["in_time"]) == (85_000, 338_000, True)
    assert coarse["values"] == {"c": 1.0, "sampleGranularity": 64.0, "searchDistance": 40.0}


def test_for_people() -> None:
    text = said("junctions", "--set", "images=2", "--set", "sampleGranularity=64")
    assert text.splitlines()[0] == "junctions: 1 way (images = 2, sampleGranularity = 64)"
    assert "2 times (4 × 2.0 s, 2 × 1.0 s, 6 × 1 min 21 s)" in text
    assert "never in time" not in text


def test_a_way_that_no_hosts_would_save_and_one_that_may_end_early(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    more = "task_select { when (1) { } when (1) task u [] [] [({}, {1, 1 s}, 1)]; }"
    path.write_text(application(f"task t [2 s] [] [({{}}, {{2, 3 s}}, 1)]; {more}", ""))
    assert [chain["in_time"] for chain in document(path)["chains"]] == [False, False]
    text = said(path)
    assert text.count("never in time") == 2
    assert "2 or the end" in text


def test_a_long_list_is_cut_with_a_word_where_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    path.write_text(application("task t [] [g] [({1 .. 60}, {1, g * 1 s}, 1)];", "var control: g;"))
    assert said(path).count("… and 10 more: --json prints all") == 2
    assert len(document(path)["chains"]) == 60


def test_a_sweep_is_refused() -> None:
    with pytest.raises(UserError, match="--set images: give one value"):
        said("junctions", "--set", "images=1,2")


def test_the_hardware_may_be_named_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    work = "subtask work { include independent; link { independent: Tx_work = 8 s / Nproc; } }"
    path.write_text(application("task t [] [] [({}, {model work}, 1)];", "", "include work;") + work)
    with pytest.raises(UserError, match="task t needs the prediction of work: name the hardware in the option hrduse"):
        said(path)
    chains = document(path, "--hardware", "x86_64_gigabit", "--hosts", "2")["chains"]
    assert [chain["stages"][0]["hosts"] for chain in chains] == [1, 2]
    assert [chain["seconds"] for chain in chains] == pytest.approx([8, 4])
