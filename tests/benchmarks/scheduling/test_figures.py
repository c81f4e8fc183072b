"""What docs/figures.md says of the search is what one run has measured, and references hold."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from benchmarks.figures import Figures, kept_sections
from benchmarks.readme_rows import KEPT
from benchmarks.scheduling import independent, references
from benchmarks.scheduling.comparison import judged_anew
from benchmarks.scheduling.etc_matrices import BEST_KNOWN, TUNED_ON
from benchmarks.scheduling.goals import GOALS, goal_table
from cosched.scheduling.bounds import fewest_missed, lower_bound
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.run import Limit
from tests.scheduling.problems import a_problem

_ROOT = Path(__file__).parents[3]
_KEPT = KEPT[-1]


def test_the_page_of_figures_shows_the_run() -> None:
    page = (_ROOT / "docs" / "figures.md").read_text().splitlines()
    sections = kept_sections(_KEPT).values()
    shown = [line for each in sections for line in (each["heading"], *(row["line"] for row in each["rows"].values()))]
    assert [line for line in shown if line.rstrip() not in page] == []


def test_the_page_of_figures_shows_the_goals() -> None:
    page = (_ROOT / "docs" / "figures.md").read_text().splitlines()
    assert [line for line in goal_table(kept_sections(_KEPT)) if line not in page] == []


def test_each_goal_finds_its_figure_in_the_sections_that_are_kept() -> None:
    sections = kept_sections(_KEPT)
    measured = [goal for goal in GOALS if goal.section in sections]
    assert len({goal.section for goal in measured}) > 1
    assert [goal.about for goal in measured if goal.cells(sections)[1] == "not measured"] == []
    assert [goal.about for goal in measured if goal.peer and not goal.cells(sections)[4]] == []


@pytest.mark.parametrize("seed", references.known("makespan"))
def test_no_plan_is_shorter_than_what_was_proved(seed: int) -> None:
    known, problem = references.known("makespan")[seed], references.makespan_queue(seed)
    assert lower_bound(problem) <= known.bound <= known.best
    schedule, _ = plan(problem, PolicyName.GENETIC, Limit(1e6, generations=200), 1, ObjectiveName.MAKESPAN.weights)
    assert schedule.makespan >= known.bound


@pytest.mark.parametrize("stretch", references.STRETCHES)
def test_no_plan_has_more_tasks_in_time_than_was_proved(stretch: str) -> None:
    weights = ObjectiveName.DEADLINES_FIRST.weights
    for seed, known in references.known(stretch).items():
        problem = references.deadline_queue(seed, stretch)
        assert known.best <= known.bound <= references.TASKS - fewest_missed(problem)
        schedule, _ = plan(problem, PolicyName.GENETIC, Limit(1e6, generations=200), 1, weights)
        assert measure(problem, schedule).on_time <= known.bound


def test_what_the_solver_had_found_by_then_is_its_last_plan_of_before() -> None:
    known = references.Reference(55, 53, 30.0, ((0.1, 57), (0.5, 56), (2.0, 55)))
    assert [known.found_within(seconds) for seconds in (0.05, 0.1, 1.0, 10.0)] == [None, 57, 56, 55]
    assert not known.proved


def test_the_exact_partner_proves_what_the_peer_has_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    monkeypatch.setattr(references, "makespan_queue", lambda _: a_problem([[6.0], [6.0], [5.0]]))
    file = tmp_path / "references.json"
    peers = {"best": 12, "bound": 9, "seconds": 9.9, "plans": [[0.5, 12]]}
    file.write_text(json.dumps({"how": "by hand", "makespan": {"7": peers}}))
    ticks = itertools.count()
    references.compute(["makespan"], [7], (10.0, 60.0), lambda: float(next(ticks)), file)
    assert references.known("makespan", file) == {7: references.Reference(11, 11, 9.9, ((0.5, 12),))}
    assert json.loads(file.read_text())["how"] == "by hand"


def test_plans_that_were_kept_are_judged_by_what_was_proved_since(tmp_path: Path) -> None:
    row = {"line": "genetic 10 ms 1.1", "mean": 1.1, "makespans": [55.0, 58.0]}
    heading = "30 tasks on 16 hosts, 2 queues of seeds 201 to 202, 0 optima proved"
    sections = {"makespan, held out": {"heading": heading, "rows": {"genetic 10 ms": row, "other": {"line": "x"}}}}
    figures = Figures(tmp_path)
    (tmp_path / "peers.json").write_text(json.dumps(sections))
    known = {
        201: references.Reference(55, 50, 10.0, ()),
        202: references.Reference(56, 56, 10.0, ()),
        1: references.Reference(1, 1, 10.0, ()),
    }
    figures.change("peers", lambda kept: judged_anew(kept, known))
    changed = kept_sections(tmp_path)["makespan, held out"]
    assert changed["heading"].startswith("30 tasks on 16 hosts, 2 queues of seeds 201 to 202, 1 optima proved")
    found = changed["rows"]["genetic 10 ms"]
    assert found["mean"] == pytest.approx((1 + 58 / 56) / 2)
    assert found["over_bound"] == pytest.approx((55 / 50 + 58 / 56) / 2)
    assert found["over_optimum"] == found["worst_over_optimum"] == pytest.approx(58 / 56)
    assert (found["optimal"], found["proved"], found["makespans"]) == (0, 1, [55.0, 58.0])
    assert found["line"].split()[-2:] == ["1.0679", "0"]
    assert changed["rows"]["other"] == {"line": "x"}


def test_all_twelve_matrices_are_asked_for(tmp_path: Path) -> None:
    assert len(BEST_KNOWN) == 12
    assert BEST_KNOWN.keys() > TUNED_ON
    for name in [*BEST_KNOWN][:11]:
        (tmp_path / name).write_text("1 1\n1\n")
    with pytest.raises(SystemExit, match=r"no u_s_lolo\.0: --braun takes the folder"):
        independent.matrices(tmp_path)
    (tmp_path / "u_s_lolo.0").write_text("1 1\n1\n")
    assert independent.matrices(tmp_path).keys() == BEST_KNOWN.keys()


def test_a_part_that_is_measured_again_replaces_its_own_rows_alone(tmp_path: Path) -> None:
    def one(figures: Figures) -> None:
        figures.section("a", "heading a")
        figures.row("one", "one 1.0", value=1.0)
        figures.row("two", "two 1.0", value=1.0)

    def again(figures: Figures) -> None:
        figures.section("a", "heading a")
        figures.row("one", "one 2.0", value=2.0)

    def other(figures: Figures) -> None:
        figures.section("b", "heading b")
        figures.row("two", "two 1.0", value=1.0)

    first = Figures(tmp_path)
    first.measure("first", one)
    first.measure("second", other)
    Figures(tmp_path, processor_time=True).measure("first", again)
    kept = kept_sections(tmp_path)
    assert kept["a"]["rows"] == {"one": {"line": "one 2.0", "value": 2.0}}
    assert kept["b"]["rows"].keys() == {"two"}
    assert [kept[each]["circumstances"]["budgets"] for each in "ab"] == ["processor time", "wall-clock time"]
