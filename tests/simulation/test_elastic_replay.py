from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.errors import UserError
from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.elastic.tasks import ElasticParameters
from cosched.scheduling.formats.elastic_jobs_file import ElasticBounds
from cosched.scheduling.formats.swf import RecordedJob, parse_swf
from cosched.simulation.elastic_replay import ElasticChoice, elastic_job, elastic_trace_replay, replay_elastic
from cosched.simulation.trace_predictions import PassedPrediction
from cosched.simulation.trace_replay import Moldability, ReplayConditions
from tests.simulation.traces import swf

RECORD = RecordedJob(7, 50.0, 100.0, 8, None)
ALL = ElasticChoice(1.0, cost=5.0)
TRACE = parse_swf(swf(60, processors=16))


def test_a_rigid_job_is_as_recorded_and_an_elastic_one_around_it() -> None:
    rigid = elastic_job(RECORD, 100, ElasticChoice(cost=5.0), 1)
    assert (rigid.least, rigid.most, rigid.on(8), rigid.submitted) == (8, 8, 100.0, 50.0)
    elastic = elastic_job(RECORD, 100, ALL, 1)
    assert (elastic.least, elastic.preferred, elastic.most) == (2, 8, 32)
    assert elastic.on(8) == pytest.approx(100.0)
    assert elastic.on(2) > 100.0 > elastic.on(32)
    assert (elastic.grow_cost, elastic.suspendable) == (5.0, False)
    assert elastic_job(RECORD, 10, ALL, 1).most == 10
    assert elastic_job(replace(RECORD, processors=1), 100, ALL, 1).least == 1


def test_a_job_that_is_elastic_at_some_share_is_so_at_every_larger_one() -> None:
    records = [replace(RECORD, number=number) for number in range(400)]

    def elastic(share: float) -> set[int]:
        return {record.number for record in records if ElasticChoice(share).bounds(record, 1) is not None}

    some, more = elastic(0.2), elastic(0.5)
    assert some < more < elastic(1.0)
    assert len(some) == pytest.approx(80, abs=30)


def test_listed_jobs_have_the_listed_bounds_and_the_others_are_rigid() -> None:
    choice = ElasticChoice(listed={7: ElasticBounds(1, 40, 3, 9.0), 8: ElasticBounds(9, 20)}, cost=2.0)
    listed = elastic_job(RECORD, 16, choice, 1)
    assert (listed.least, listed.preferred, listed.most, listed.shrink_cost) == (1, 3, 16, 9.0)
    plain = elastic_job(replace(RECORD, number=8), 16, choice, 1)
    assert (plain.least, plain.preferred, plain.most, plain.shrink_cost) == (9, 9, 16, 2.0)
    assert elastic_job(replace(RECORD, number=9), 16, choice, 1).most == 8
    with pytest.raises(UserError, match="job 8 needs 9 of 8 processors at least: give more with --set processors=N"):
        elastic_job(replace(RECORD, number=8), 8, choice, 1)


def test_a_moldable_job_may_start_on_any_number_and_keeps_it() -> None:
    record = replace(RECORD, submitted=0.0)
    (alone,) = replay_elastic(
        [record], 16, ElasticPolicyName.IDEAL, ElasticChoice(), ElasticParameters(), Moldability.AMDAHL
    )
    assert [hosts for _, hosts in alone.widths] == [16]
    assert alone.resizes == 0
    assert alone.finished < 100.0


@pytest.mark.parametrize("policy", list(ElasticPolicyName))
def test_every_job_runs_under_every_policy_and_the_seed_decides(policy: ElasticPolicyName) -> None:
    conditions = ReplayConditions(seed=3)
    found = elastic_trace_replay(TRACE, policy, conditions, ElasticChoice(0.5, cost=2.0))
    assert found == elastic_trace_replay(TRACE, policy, conditions, ElasticChoice(0.5, cost=2.0))
    assert found.row["jobs"] == len(found.waits) == 60
    assert 0 < float(found.row["elastic"] or 0.0) < 1
    assert 0 < float(found.row["utilisation"] or 0.0) <= 1
    assert 0 <= float(found.row["on_time"] or 0.0) <= 1
    assert all(wait >= 0 and math.isfinite(wait) for wait in found.waits)
    rigid = elastic_trace_replay(TRACE, policy, conditions, ElasticChoice())
    assert (rigid.row["elastic"], rigid.row["resizes"]) == (0, 0)


def test_deadlines_are_those_of_other_replays() -> None:
    """Two processors. 1 runs 0…100; 2 needs both: 100…150, and may take from 60 s, of which its user asks for 30."""
    lines = ["1 0 0 100 1 -1 -1 1 100", "2 10 0 50 2 -1 -1 2 30"]
    trace = parse_swf("\n".join(line + " -1 1 1 1 -1 -1 -1 -1 -1" for line in lines))
    conditions = ReplayConditions(least_slack=2.0, most_slack=2.0)
    found = elastic_trace_replay(trace, ElasticPolicyName.MARGINAL, conditions, ElasticChoice())
    assert found.waits == (0.0, 90.0)
    assert found.row["on_time"] == 0.5


def test_what_a_pool_does_not_know_is_refused() -> None:
    for conditions, told in (
        (ReplayConditions(noise=0.1), "noise=0.1"),
        (ReplayConditions(passed=PassedPrediction.INCREMENTAL), "passed=2"),
        (ReplayConditions(quantile=0.8), "quantile=0.8"),
    ):
        with pytest.raises(UserError, match=rf"marginal knows how long jobs take: leave --set {told} out"):
            elastic_trace_replay(TRACE, ElasticPolicyName.MARGINAL, conditions, ALL)
    with pytest.raises(UserError, match="give more with --set processors=N"):
        elastic_trace_replay(TRACE, ElasticPolicyName.MARGINAL, ReplayConditions(), ALL, processors=2)
