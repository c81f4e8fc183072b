"""Results of fault sessions are summed over runs, and what is missing is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.faults.results import Results, Session

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = [
    Session("local", 1, {"daemon killed": 3, "disk full": 1}, 20, 10.0),
    Session("local", 2, {"daemon killed": 2}, 5, 4.5, ("task 3 completed 2 times",)),
    Session("condor", 1, {"connector killed": 4}, 9, 30.0),
]


def test_what_was_written_is_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    assert Results.read(file) == Results()
    Results(SESSIONS[:1]).write(file)
    found = Results.read(file)
    found.sessions += SESSIONS[1:]
    found.write(file)
    assert Results.read(file).sessions == SESSIONS
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_faults_are_summed_by_connector_and_kind() -> None:
    results = Results(SESSIONS)
    assert results.faults("local") == {"daemon killed": 5, "disk full": 1}
    assert results.missing("local", ("daemon killed", "disk full", "search killed"), 5) == {
        "disk full": 4,
        "search killed": 5,
    }
    document = results.document()
    assert (document["total"], document["tasks"], document["seconds"]) == (10, 34, 44)
    assert document["wrong"] == ["local, seed 2: task 3 completed 2 times"]


def test_no_session_repeats_anothers_seed() -> None:
    results = Results(SESSIONS)
    assert [results.seed(name, 1) for name in ("local", "condor", "slurm")] == [3, 2, 1]
