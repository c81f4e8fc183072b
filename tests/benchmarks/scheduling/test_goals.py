"""The one command that measures part by part, and its table of goals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.figures import Figures, kept_sections
from benchmarks.scheduling import __main__ as command
from benchmarks.scheduling.goals import GOALS, Goal, goal_table

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = {"a": {"rows": {"ours": {"mean": 1.00049}, "peer": {"mean": 1.2}}}}


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Run the command with two stand-ins for its parts, and return those that were measured to their ends."""
    measured: list[str] = []

    def part(name: str) -> None:
        def measure(figures: Figures) -> None:
            figures.section("braun" if name == "queues" else name, f"heading of {name}")
            if "stop" in words and name == "long":
                raise KeyboardInterrupt
            figures.row("dual-price 10 ms", "a line", all=1.0083)
            measured.append(name)

        parts[name] = measure

    parts: dict[str, object] = {}
    for name in ("queues", "long", "classes"):
        part(name)
    monkeypatch.setattr(command, "PARTS", parts)
    monkeypatch.setattr(command, "warm_up", lambda: None)
    monkeypatch.setattr(command, "warm_up_prices", lambda: None)
    monkeypatch.setattr(sys, "argv", ["scheduling", *(word for word in words if word != "stop")])
    command.main()
    return measured


def test_parts_that_are_kept_are_not_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--keep", str(tmp_path / "kept"))
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, *words, "stop")
    assert kept_sections(tmp_path / "kept").keys() == {"braun"}
    assert run(monkeypatch, *words, "--resume") == ["long", "classes"]
    assert kept_sections(tmp_path / "kept").keys() == {"braun", "long", "classes"}
    assert run(monkeypatch, *words, "--resume") == []
    assert run(monkeypatch, *words, "--only", "classes") == ["classes"]
    said = capsys.readouterr().out
    assert "| makespan ÷ best known, Braun's twelve matrices, geometric mean, 10 ms | 1.0083 | ≤ 1.0090 | met |" in said


def test_what_is_resumed_needs_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "--resume")


@pytest.mark.parametrize(
    ("part", "option"), [("braun", "--braun FOLDER"), ("traces", "--trace FILE"), ("ranges", "--trace FILE")]
)
def test_a_part_says_which_file_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], part: str, option: str
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "--only", part)
    assert f"the part {part} needs {option}" in capsys.readouterr().err


def test_a_part_of_which_all_is_missing_is_tried_again(tmp_path: Path) -> None:
    figures = Figures(tmp_path)
    figures.measure("highs", lambda _: None)
    assert not figures.keeps("highs")


def test_a_goal_is_met_as_it_is_shown() -> None:
    cells = Goal("x", "a", "ours", "mean", most=1.0005, peer=("peer", "Peer")).cells(SECTIONS)
    assert cells == ("x", "1.0005", "≤ 1.0005", "met", "1.2000 (Peer)")
    assert Goal("x", "a", "ours", "mean", most=1.0004).cells(SECTIONS)[3] == "missed"


def test_a_goal_may_be_the_peers_figure_or_a_range_about_a_published_one() -> None:
    cells = Goal("x", "a", "ours", "mean", ".2f", peer=("peer", "Peer"), as_peer=True).cells(SECTIONS)
    assert cells == ("x", "1.00", "≥ 1.20", "missed", "1.20 (Peer)")
    assert Goal("x", "b", "ours", "mean", as_peer=True).cells(SECTIONS)[2] == "≥ the peer's"
    cells = Goal("x", "a", "ours", "mean", ".0%", 0.9, 1.1, published=(1.05, "they")).cells(SECTIONS)
    assert cells == ("x", "100%", "90% to 110%", "met", "105% (they)")


def test_what_was_not_measured_is_in_the_table_and_not_met() -> None:
    rows = goal_table({})
    assert len(rows) == 2 + len(GOALS)
    assert all("| not measured |" in row and " met " not in row for row in rows[2:])
