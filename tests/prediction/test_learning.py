from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from cosched.prediction.history import Run
from cosched.prediction.learning import LearntRuns


def _runs(count: int, seconds: float = 10.0) -> list[Run]:
    return [Run((), 1, "", seconds + number % 3) for number in range(count)]


def test_after_a_tenth_more_runs_all_is_learnt_anew() -> None:
    known = LearntRuns.of(_runs(30))
    assert known.room == 3
    more = known.with_runs(_runs(3))
    assert more is not None
    assert (more.count, more.anew, more.room) == (33, 30, 0)
    assert more.with_runs(_runs(1)) is None
    assert known.with_runs(_runs(4)) is None


def test_a_run_that_surprises_has_all_learnt_anew() -> None:
    assert LearntRuns.of(_runs(30)).with_runs(_runs(1, 90.0)) is None


def test_few_runs_teach_nothing_and_hold_no_more() -> None:
    known = LearntRuns.of(_runs(2))
    assert (known.history, known.stated, known.room) == (None, None, 0)
    assert known.with_runs(_runs(1)) is None


def test_runs_with_and_without_something_stated_are_not_mixed_as_they_come() -> None:
    stated = [replace(run, stated=11.0) for run in _runs(30)]
    known = LearntRuns.of(stated)
    assert known.stated is not None
    assert known.history is known.stated.alone
    assert known.with_runs(_runs(1)) is None
    assert LearntRuns.of(_runs(30)).with_runs(stated[:1]) is None
    both = LearntRuns.of(_runs(10) + stated)
    assert both.history is not None
    assert len(both.history.runs) == 40
    assert both.room == 0


@pytest.mark.parametrize("foretold", [None, 11.0])
def test_what_another_process_learnt_takes_runs_in_as_if_learnt_here(foretold: float | None) -> None:
    """It came back with another prior than this process knew: submissions failed where something was stated."""
    runs = [replace(run, stated=foretold) for run in _runs(32)]
    here = LearntRuns.of(runs[:30])
    there = pickle.loads(pickle.dumps(here))
    ours, theirs = here.with_runs(runs[30:]), there.with_runs(runs[30:])
    assert ours is not None
    assert ours.history is not None
    assert theirs.history.foretold == ours.history.foretold
    assert (theirs.count, theirs.history.runs) == (ours.count, ours.history.runs)
    if foretold is not None:
        assert ours.stated is not None
        assert theirs.stated.weights == ours.stated.weights
