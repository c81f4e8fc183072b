from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.changes import Changes, RunRecord
from cosched.prediction.others.other_programs import KeyedRun
from cosched.prediction.others.startup import StartedRun
from cosched.store import Store
from cosched.store.runs import RunTable
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from pathlib import Path


def _run(key: str, finished: float, owner: str = "ann") -> RunRecord:
    return RunRecord("7", key, (1.0, 2.5), owner, "heat", 4, "fast", None, 10.0, finished)


def test_the_newest_runs_of_a_key_are_found_and_old_ones_forgotten(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    runs = RunTable(store)
    assert (runs.newest("k"), list(runs.of("k", 10))) == (0, [])
    store.commit(Changes(runs=tuple(_run("k", float(number)) for number in range(5))))
    store.commit(Changes(runs=(_run("other", 2.0),)))
    assert list(runs.of("k", 2)) == [_run("k", 3.0), _run("k", 4.0)]
    assert runs.newest("k") < runs.newest("other")
    runs.forget_before(3.0)
    assert [run.finished for run in runs.of("k", 10)] == [3.0, 4.0]
    assert list(runs.of("other", 10)) == []
    store.close()


def test_an_owners_runs_are_forgotten_and_no_others(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    runs = RunTable(store)
    store.commit(Changes(runs=(_run("a", 1.0), _run("b", 2.0, "bob"))))
    assert [run.owner for run in runs.of_application("heat", None, 10)] == ["bob", "ann"]
    assert [run.owner for run in runs.of_application("heat", "ann", 10)] == ["ann"]
    runs.forget("heat", "ann")
    assert [run.owner for run in runs.of_application("heat", None, 10)] == ["bob"]
    runs.forget("heat", None)
    assert list(runs.of_application("heat", None, 10)) == []
    store.close()


def test_runs_that_a_model_had_foretold_tell_how_they_were_launched(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    runs = RunTable(store)
    kept = (_run("a", 1.0), replace(_run("b", 2.0), launch="openmpi", stated=8.0), replace(_run("c", 3.0), stated=8.0))
    store.commit(Changes(runs=kept))
    assert list(runs.launched(10)) == [StartedRun("b", "openmpi", 4, 10.0, 8.0)]
    store.close()


def test_the_newest_runs_of_each_program_are_found_and_one_that_runs_often_hides_no_other(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    runs = RunTable(store)
    assert list(runs.of_programs(3, 9)) == []
    store.commit(Changes(runs=(_run("a", 1.0), *[replace(_run("b", 2.0), seconds=float(place)) for place in range(7)])))
    found = [KeyedRun("b", (1.0, 2.5), 4, "fast", float(place), None) for place in (4, 5, 6)]
    assert list(runs.of_programs(3, 9)) == [KeyedRun("a", (1.0, 2.5), 4, "fast", 10.0, None), *found]
    assert list(runs.of_programs(3, 2)) == found[1:]
    store.close()


def test_runs_after_one_are_found_with_whether_they_stayed_within_their_range(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    runs = RunTable(store)
    ranges = [(9.0, 11.0), (11.0, 12.0), (None, None), (5.0, 9.5), (5.0, 10.0)]
    kept = [replace(_run("k", float(place)), low=low, high=high) for place, (low, high) in enumerate(ranges)]
    store.commit(Changes(runs=tuple(kept)))
    assert list(runs.since("k", 0, 9)) == kept
    assert [run.finished for run in runs.since("k", 2, 2)] == [3.0, 4.0]
    assert list(runs.held(0, 10)) == [(1, True), (2, False), (4, False), (5, True)]
    assert list(runs.held(4, 10)) == [(5, True)]
    assert list(runs.held(0, 1)) == [(5, True)]
    store.close()
