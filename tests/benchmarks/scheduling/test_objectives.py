"""The parts about other objectives, on two tasks of which the best plan is plain to see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.figures import Figures, kept_sections
from benchmarks.scheduling import objectives, references
from tests.scheduling.problems import a_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("ortools", reason="the extra exact is not installed")


@pytest.fixture(autouse=True)
def _two_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = a_problem([[7.0, 4.0], [6.0, 8.0]], hosts=2, deadline=[4.0, 5.0])
    monkeypatch.setattr(references, "makespan_queue", lambda _: replace(queue, deadline=np.full(2, np.inf)))
    monkeypatch.setattr(references, "deadline_queue", lambda _seed, _stretch: queue)
    monkeypatch.setattr(references, "TASKS", 2)
    monkeypatch.setattr(objectives, "_SEEDS", {"held out": [1]})
    monkeypatch.setattr(objectives, "BUDGETS", (0.01,))


def rows(part: Callable[[Figures], None], folder: Path) -> dict[str, Any]:
    """Measure a part and return the rows of its one section."""
    Figures(folder).measure("part", part)
    (section,) = kept_sections(folder).values()
    found: dict[str, Any] = section["rows"]
    return found


def test_slowdown_is_held_against_the_solver_and_what_it_proves(tmp_path: Path) -> None:
    found = rows(objectives.slowdown, tmp_path)
    # Both tasks are shorter than 10 s, which count as so many.
    assert found["genetic 10 ms"]["mean"] == found["no plan can have less (CP-SAT)"]["mean"] == 1.0
    assert found["genetic 10 ms"]["over_peer"] == found["genetic 10 ms"]["over_bound"] == 1.0


def test_tardiness_is_weighted_and_held_against_the_solver(tmp_path: Path) -> None:
    found = rows(objectives.tardiness, tmp_path)
    heavy, light = np.random.default_rng(1).integers(1, 3, 2, endpoint=True).tolist()
    # Side by side they are 3 and 1 s late; else the second one waits for 4 s, or the first for 6 s.
    least = min(3 * heavy + light, 5 * light, 6 * heavy + light) / 2
    assert found["CP-SAT 10 s of two cores"]["mean"] == pytest.approx(least)
    assert found["genetic 10 ms"]["mean"] == pytest.approx(least)


def test_what_deadlines_cost_is_counted_beside_as_many_on_time(tmp_path: Path) -> None:
    found = rows(objectives.deadlines_cost, tmp_path)["genetic 10 ms, deadlines first"]
    # The first can be in time on two hosts alone, the second one never: 4 + 6 s.
    assert (found["on_time"], found["over_peer"], found["over_bound"]) == (0.5, 1.0, 1.0)
