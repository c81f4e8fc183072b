from __future__ import annotations

import math
import random

import pytest

from cosched.scheduling.formats.swf import RecordedJob
from cosched.simulation.trace_predictions import (
    AskedTimes,
    PassedPrediction,
    Predictions,
    TracePredictor,
    trace_predictor,
)


def _job(number: int, seconds: float, user: int = 1, requested: float | None = 1000.0) -> RecordedJob:
    return RecordedJob(number, 0.0, seconds, 4, requested, user)


def _learn(asked: AskedTimes, predictor: TracePredictor, job: RecordedJob) -> None:
    foretold = predictor.predict(job)
    asked.learn(job)
    predictor.learn(job, foretold)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [(Predictions.RECORDED, 30.0), (Predictions.REQUESTED, 1000.0), (Predictions.LAST_TWO, 35.0)],
)
def test_a_jobs_time_is_foretold_from_its_users_earlier_ones(predictions: Predictions, expected: float) -> None:
    asked = AskedTimes()
    predictor = trace_predictor(predictions, asked)
    for number, seconds in enumerate((90.0, 20.0, 50.0)):
        _learn(asked, predictor, _job(number, seconds))
    assert predictor.predict(_job(4, 30.0)) == (expected,) * 3
    stranger = _job(5, 30.0, user=2)
    assert predictor.predict(stranger) == ((30.0 if predictions is Predictions.RECORDED else 1000.0),) * 3


def test_no_job_is_foretold_to_take_longer_than_it_may() -> None:
    for predictions in (Predictions.LAST_TWO, Predictions.RUNS):
        asked = AskedTimes()
        predictor = trace_predictor(predictions, asked)
        for number in range(6):
            _learn(asked, predictor, _job(number, 900.0))
        assert max(predictor.predict(_job(9, 50.0, requested=60.0))) <= 60.0


def test_users_who_ask_for_too_much_are_found_out_and_nine_jobs_in_ten_stay_within_the_range() -> None:
    draw, predictor, within, off = random.Random(3), trace_predictor(Predictions.RUNS, AskedTimes()), [], []
    for number in range(100):
        asked = draw.choice((600.0, 3600.0, 7200.0))
        job = _job(number, asked / 5 * math.exp(draw.gauss(0, 0.3)), requested=asked)
        low, expected, high = foretold = predictor.predict(job)
        predictor.learn(job, foretold)
        if number >= 30:
            within.append(low <= job.seconds <= high)
            off.append(abs(math.log(expected / job.seconds)))
    assert sum(off) / len(off) < 0.3
    assert 0.84 <= sum(within) / len(within) <= 0.96


@pytest.mark.parametrize("predictions", [Predictions.REQUESTED, Predictions.LAST_TWO, Predictions.RUNS])
def test_how_long_a_job_without_a_request_will_take_is_told_by_those_before_it(predictions: Predictions) -> None:
    """Where nothing was asked for, the recorded time was foretold."""
    asked = AskedTimes()
    predictor = trace_predictor(predictions, asked)
    assert predictor.predict(_job(1, 30.0, requested=None)) == (3600.0,) * 3
    for number in range(6):
        _learn(asked, predictor, _job(number, 5000.0 + number % 2, requested=None))
    assert predictor.predict(_job(7, 30.0, requested=None))[1] == pytest.approx(5000.5, rel=0.02)
    if predictions is not Predictions.RUNS:
        assert predictor.predict(_job(8, 30.0, user=2, requested=None))[1] == 5000.5


@pytest.mark.parametrize(
    ("rule", "course"),
    [
        (PassedPrediction.CORE, []),
        (PassedPrediction.REQUESTED, [5000.0]),
        (PassedPrediction.INCREMENTAL, [160.0, 400.0, 1000.0, 1900.0, 3700.0, 5000.0]),
        (PassedPrediction.DOUBLED, [200.0, 400.0, 800.0, 1600.0, 3200.0, 5000.0]),
    ],
)
def test_a_passed_prediction_grows_up_to_what_was_asked_for(rule: PassedPrediction, course: list[float]) -> None:
    found, passed = [], 100.0
    while (more := rule.corrected(100.0, passed, 5000.0)) is not None:
        found.append(more)
        passed = more
    assert found == course


def test_a_prediction_of_hardly_a_moment_is_doubled_from_a_second() -> None:
    assert PassedPrediction.DOUBLED.corrected(0.0, 0.0, 100.0) == 2.0
