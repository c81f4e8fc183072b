from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks import against_managers
from benchmarks.manager_arms import Arm, Circumstances, Outcome, Result, goals, keep_result, kept_result, table

if TYPE_CHECKING:
    from pathlib import Path

ALONE = Arm("slurm", "alone", 300, 1.0, 16)
FIGURES = replace(ALONE, variant="figures")
HERE = Circumstances("2026-11-27 09:00", "x86_64, 2 processors", "slurm 22.05.8", "3.11.2")
OF_ALONE = Outcome(2000.0, 300.0, 8.0, 0.5, 0.8, 20.0, 1500, 3.0)
OF_FIGURES = Outcome(1990.0, 100.0, 4.0, 0.7, 0.81, 30.0, None, 4.0)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[Arm]:
    """Run the command with these words, and return the arms that it measured."""
    measured: list[Arm] = []

    def measure(arm: Arm) -> Result:
        measured.append(arm)
        if arm.variant == "learnt":
            raise SystemExit("the jobs did not end")
        return Result(arm, OF_ALONE if arm.variant == "alone" else OF_FIGURES, HERE)

    monkeypatch.setattr(against_managers, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["against_managers", *words])
    against_managers.main()
    return measured


def test_arms_that_are_kept_are_not_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--keep", str(tmp_path / "kept"), "--variants")
    with pytest.raises(SystemExit, match="did not end"):
        run(monkeypatch, *words, "alone,learnt,figures")
    assert run(monkeypatch, *words, "alone,figures", "--resume") == [FIGURES]
    said = capsys.readouterr().out
    assert "| slurm alone | 2000 s |" in said
    assert "figures: on time +20.0 points (goal +20: met)" in said
    assert run(monkeypatch, *words, "alone,figures") == [ALONE, FIGURES]


def test_an_arm_of_another_size_is_another_arm(tmp_path: Path) -> None:
    keep_result(tmp_path, Result(ALONE, OF_ALONE, HERE))
    assert kept_result(tmp_path, ALONE) == Result(ALONE, OF_ALONE, HERE)
    for other in (replace(ALONE, scale=0.5), replace(ALONE, jobs=30), replace(ALONE, nodes=8), FIGURES):
        assert kept_result(tmp_path, other) is None


def test_what_is_resumed_needs_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, "--resume")
    assert end.value.code == 2


def test_a_goal_that_is_missed_says_so() -> None:
    slower = replace(OF_FIGURES, makespan=2001.0, slowdown=4.1, on_time=0.69)
    (said,) = goals([Result(ALONE, OF_ALONE, HERE), Result(FIGURES, slower, HERE)])
    assert said.count("missed") == 3
    assert goals([Result(FIGURES, slower, HERE)]) == []


def test_the_table_has_a_row_for_each_arm() -> None:
    rows = table([Result(ALONE, OF_ALONE, HERE), Result(FIGURES, OF_FIGURES, HERE)]).splitlines()
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {10}


@pytest.mark.parametrize(("estimate", "minutes"), [(60.0, 1), (24.0, 1), (150.0, 3), (600.0, 10)])
def test_limits_of_whole_minutes_are_no_shorter_than_estimates(estimate: float, minutes: int) -> None:
    """They were rounded: at a scale of 0.5 Slurm ended jobs that kept to estimates of 150 s after 120 s."""
    assert against_managers.limit_minutes(estimate) == minutes
