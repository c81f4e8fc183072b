from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.swf import parse_swf
from cosched.scheduling.policies import PolicyName
from cosched.simulation.experiments.trace import trace_experiment, wait_charts
from cosched.simulation.trace_predictions import Predictions
from cosched.simulation.trace_replay import Moldability, ReplayConditions, replay_trace
from tests.simulation.traces import swf

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow

TRACE = parse_swf(swf(40))


def test_the_picture_has_a_line_for_each_policy() -> None:
    found = {policy: replay_trace(TRACE, PolicyName(policy), ReplayConditions(), jobs=10) for policy in ("easy", "edf")}
    (text,) = wait_charts(found, "a trace").values()
    assert "easy" in text
    assert "edf" in text


def test_a_row_for_each_policy_and_what_is_set_is_used() -> None:
    trace = parse_swf(swf(30))
    chosen = trace_experiment(
        trace, "small", [PolicyName.EASY, PolicyName.EDF], Moldability.RIGID, Predictions.RECORDED
    )
    rows = chosen.run(1, chosen.settings({"jobs": "12"}))
    assert [(row["policy"], row["jobs"]) for row in rows] == [("easy", 12), ("edf", 12)]
    larger = chosen.run(1, chosen.settings({"jobs": "12", "processors": "64"}))
    assert all(row["wait"] == 0 for row in larger)
    assert set(chosen.charts(rows, 1, chosen.settings({"jobs": "12"}))) == {"waits"}


def test_generations_are_refused_where_jobs_are_elastic_and_nobody_searches() -> None:
    """They were ignored: a replay with twice as many took, and found, the same."""

    def rows(*policies: PolicyName, generations: int) -> list[ResultRow]:
        chosen = trace_experiment(parse_swf(swf(10)), "small", policies, Moldability.RIGID, Predictions.RECORDED)
        return chosen.run(1, chosen.settings({"generations": str(generations)}))

    with pytest.raises(UserError, match="marginal searches nothing: leave --set generations=20 out"):
        rows(PolicyName.MARGINAL, generations=20)
    with pytest.raises(UserError, match="marginal and easy search nothing: leave --set generations=20 out"):
        rows(PolicyName.MARGINAL, PolicyName.EASY, generations=20)
    assert len(rows(PolicyName.MARGINAL, PolicyName.TITAN_CLASSIC, generations=1)) == 2


def test_what_was_assumed_of_the_jobs_is_told() -> None:
    """The JSON of a replay did not say by which model of run times it had come about."""
    chosen = trace_experiment(parse_swf(swf(3)), "small", [PolicyName.EASY], Moldability.DOWNEY, Predictions.REQUESTED)
    assert chosen.reproduces.endswith("processors, downey, predicted as users asked for")
