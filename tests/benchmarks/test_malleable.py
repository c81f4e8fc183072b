from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from benchmarks import malleable
from benchmarks.malleable import SCENARIOS, Moves, ScenarioRun, clusters, moves_of, table, trouble
from demo.elastic_picture import DEADLINE, LENT, OTHER, PROMISED, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cosched.api.documents import TaskDetail

GROUPS = [["b", "a", "c", "d"], ["e", "f", "g", "h"], ["i", "j", "k", "l"]]


def test_a_program_begins_on_three_clusters_and_its_lead_is_in_the_first() -> None:
    names = {host: str(number) for number, group in enumerate(GROUPS) for host in group}
    assert clusters("b", list("lkjihgfedca"), names) == GROUPS
    assert clusters("b", ["d", "a", "c"], names) == GROUPS[:1]


def test_trouble_is_on_the_last_cluster_and_in_one_scenario_on_that_before() -> None:
    assert trouble(SCENARIOS["2"], GROUPS, 0.5) == dict.fromkeys("ijkl", (3.0, 0.0))
    assert trouble(SCENARIOS["3"], GROUPS, 0.5) == dict.fromkeys("ijkl", (1.0, 8.0))
    both = dict.fromkeys("ijkl", (1.0, 8.0)) | dict.fromkeys("efgh", (5.0, 0.0))
    assert trouble(SCENARIOS["4"], GROUPS, 0.5) == both
    assert trouble(SCENARIOS["0"], GROUPS, 0.5) == trouble(SCENARIOS["5"], GROUPS, 0.5) == {}


def test_moves_are_read_off_who_had_which_host_when() -> None:
    pieces = [
        Piece("h1", 2.0, 60.0, PROMISED, "lead"),
        Piece("h2", 5.0, 60.0, PROMISED, "worker 1"),
        Piece("h3", 12.0, 33.0, LENT, "worker 2"),
        Piece("h4", 14.0, 34.5, LENT, "worker 3"),
        Piece("h3", 50.0, 60.0, LENT, "worker 4"),
        Piece("h3", 0.0, 10.0, OTHER, "task 1"),
        Piece("h3", 35.0, 45.0, DEADLINE, "task 3"),
    ]
    urgent = cast("TaskDetail", SimpleNamespace(submitted=30.0, dispatched=34.75, started=35.0))
    found = moves_of(pieces, urgent, 4, 0)
    assert found == Moves(first_worker=2.0, grown=4.0, drained=4.5, idle=0.5, hand_over=0.25, repeated=0)


RUNS = [
    ScenarioRun("1a", False, 80.0, 1.5, 4, 0, 0, 0),
    ScenarioRun("1a", True, 40.0, 1.5, 16, 2, 3, 0),
    ScenarioRun("5", True, 9.0, 1.5, 8, 0, 0, 3),
]


def test_the_table_has_what_ran_both_ways_beside_the_paper() -> None:
    (_, row) = table(RUNS)
    assert row.split() == ["1a", "80.0", "s", "40.0", "s", "4→16", "2", "3", "-50", "%", "-50", "%", "0,", "0"]


@pytest.mark.parametrize(("repeated", "code"), [(0, 0), (1, 1)])
def test_work_that_is_repeated_though_no_host_was_lost_is_no_success(
    repeated: int, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(
        connector: str, names: Sequence[str], scale: float, lending: bool, told: Callable[[ScenarioRun], None]
    ) -> None:
        assert (connector, scale) == ("local", 1.0)
        for name in names:
            lost = 7 if name == "5" else 0
            told(replace(RUNS[0], scenario=name, lending=lending, repeated=lost or repeated))

    def move(*_what: Any) -> Moves:
        return Moves(1.0, 2.0, 3.0, 0.4, 0.1, 0)

    monkeypatch.setattr(malleable, "measure_scenarios", measure)
    monkeypatch.setattr(malleable, "measure_moves", move)
    monkeypatch.setattr(sys, "argv", ["malleable", "--json", str(tmp_path / "malleable.json")])
    with pytest.raises(SystemExit) as end:
        malleable.main()
    assert end.value.code == code
    assert "idle for +0.30 s beside the manager's hand-over" in capsys.readouterr().out
    figures = json.loads((tmp_path / "malleable.json").read_text())
    assert (figures["connector"], figures["moves"]["idle"], len(figures["scenarios"])) == ("local", 0.4, 12)
