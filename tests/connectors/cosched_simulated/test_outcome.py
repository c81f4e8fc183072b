"""What becomes of a job by itself is drawn once, and the same again for the same seed and attempt."""

from __future__ import annotations

from dataclasses import replace
from math import log
from statistics import mean, stdev

import pytest

from cosched.connector import JobState
from cosched_simulated.pool import drawn_outcome
from cosched_simulated.simulated_settings import SimulatedSettings
from tests.connectors.cosched_simulated.makers import a_launch


def settings(**table: object) -> SimulatedSettings:
    return SimulatedSettings.read({"spool": "/spool", **table})


def test_the_same_attempt_has_the_same_fate() -> None:
    launch = a_launch(predicted=10.0)
    assert (
        drawn_outcome(launch, settings(seed=1))
        == drawn_outcome(launch, settings(seed=1))
        != drawn_outcome(launch, settings(seed=2))
    )
    assert drawn_outcome(launch, settings()) != drawn_outcome(replace(launch, attempt=a_launch().attempt), settings())


def test_run_times_are_log_normal_around_the_prediction() -> None:
    known = [replace(a_launch(predicted=10.0), attempt=f"{number}") for number in range(4000)]
    logs = [log(drawn_outcome(launch, settings(error=0.2))[0] / 10.0) for launch in known]
    assert mean(logs) == pytest.approx(0.0, abs=4 * 0.2 / 4000**0.5)
    assert stdev(logs) == pytest.approx(0.2, rel=0.05)


def test_without_an_error_predictions_are_exact() -> None:
    assert drawn_outcome(a_launch(predicted=10.0), settings(error=0))[0] == 10.0
    assert drawn_outcome(a_launch(), settings(error=0, unpredicted=7.0))[0] == 7.0
    assert drawn_outcome(a_launch(predicted=0.0), settings())[0] == 0.0


def test_a_share_fails() -> None:
    outcomes = [
        drawn_outcome(replace(a_launch(), attempt=f"{number}"), settings(failures=0.3))[1] for number in range(2000)
    ]
    codes = [outcome.exit_code for outcome in outcomes]
    assert set(codes) == {0, 1}
    assert codes.count(1) / 2000 == pytest.approx(0.3, abs=0.05)
    assert {outcome.state for outcome in outcomes if outcome.exit_code} == {JobState.FAILED}
    assert all(outcome.reason for outcome in outcomes if outcome.exit_code)


def test_a_time_limit_cuts_it_off() -> None:
    seconds, outcome = drawn_outcome(a_launch(predicted=10.0, time_limit=2.0), settings(error=0, failures=1))
    assert (seconds, outcome.state, outcome.exit_code) == (2.0, JobState.REMOVED, None)
    assert outcome.reason == "its time limit of 2 s was over"
    assert drawn_outcome(a_launch(predicted=1.0, time_limit=10.0), settings(error=0.1))[1].state is JobState.COMPLETED
