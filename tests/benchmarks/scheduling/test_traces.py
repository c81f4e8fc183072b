"""The parts that replay a trace, on one that is small enough to follow by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.figures import Figures, kept_sections
from benchmarks.scheduling import traces

if TYPE_CHECKING:
    from pathlib import Path


def a_trace(folder: Path, jobs: list[tuple[int, int, int, int, int]]) -> Path:
    """Write a trace of two processors: number, submission, seconds, processors and the seconds asked for."""
    lines = [
        f"{number} {submitted} -1 {seconds} {count} -1 -1 {count} {asked} -1 1 1 1 1 1 1 -1 -1"
        for number, submitted, seconds, count, asked in jobs
    ]
    file = folder / "small.swf"
    file.write_text("\n".join(["; MaxProcs: 2", *lines]) + "\n")
    return file


def test_a_trace_is_replayed_under_each_policy(tmp_path: Path) -> None:
    # Two processors; the second job could pass the first, and is the shorter one.
    jobs = [(1, 0, 100, 2, 100), (2, 1, 100, 2, 100), (3, 2, 10, 2, 10)]
    file = a_trace(tmp_path, jobs)
    figures = Figures(tmp_path / "kept")
    figures.measure("traces", lambda figures: traces.replays(figures, file))
    rows = kept_sections(tmp_path / "kept")["traces"]["rows"]
    # 1: 100 of 100 s, 2: 199 of 100, 3: 208 of 10; with the shortest first 3 ends after 108, 2 after 209.
    assert rows["easy"]["slowdown"] == pytest.approx((1 + 1.99 + 20.8) / 3)
    assert rows["genetic, slowdown"]["slowdown"] == pytest.approx((1 + 2.09 + 10.8) / 3)
    assert rows.keys() == {"easy", "easy-sjbf", "EASY++", "genetic, slowdown"}


def test_the_first_jobs_are_planned_on_points_and_on_times_that_most_runs_keep(tmp_path: Path) -> None:
    # One after another, so nobody waits; the fourth is beyond the first three.
    file = a_trace(tmp_path, [(1, 0, 20, 2, 30), (2, 50, 20, 1, 30), (3, 100, 20, 2, 30), (4, 101, 20, 2, 30)])
    figures = Figures(tmp_path / "kept")
    figures.measure("ranges", lambda figures: traces.ranges(figures, file, jobs=3))
    section = kept_sections(tmp_path / "kept")["ranges"]
    assert "the first 3 jobs" in section["heading"]
    kinds = [f"{kind}, {name}" for kind in ("rigid", "downey") for name in ("points", "times that 80 % keep")]
    assert [*section["rows"]] == kinds
    assert [section["rows"][kind]["on_time"] for kind in kinds] == [1.0] * 4
    assert [section["rows"][kind]["slowdown"] for kind in kinds[:2]] == [1.0] * 2
