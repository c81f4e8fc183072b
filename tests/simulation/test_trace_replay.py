from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.formats.swf import RecordedJob, WorkloadTrace, parse_swf
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import POLICIES, PolicyName
from cosched.simulation.trace_predictions import PassedPrediction, Predictions
from cosched.simulation.trace_replay import (
    Moldability,
    ReplayConditions,
    downey_speedup,
    moldable_times,
    replay_trace,
)
from tests.exploring import examples
from tests.simulation.traces import swf

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACE = parse_swf(swf(40))


def line(number: int, submitted: int, seconds: int, processors: int, requested: int = -1) -> str:
    return f"{number} {submitted} 0 {seconds} {processors} -1 -1 {processors} {requested} -1 1 1 1 -1 -1 -1 -1 -1"


def test_the_figures_of_a_queue_worked_out_by_hand() -> None:
    """Two processors. 1 runs 0…100 on one; 2 needs both: 100…150; 3 fits beside 1 only under backfilling: 20…70."""
    trace = parse_swf("\n".join([line(1, 0, 100, 1, 100), line(2, 10, 50, 2, 50), line(3, 20, 50, 1, 50)]))
    strict = replay_trace(trace, PolicyName.FCFS_CALCULATED, ReplayConditions(), processors=2)
    assert strict.waits == (0.0, 90.0, 130.0)
    backfilled = replay_trace(trace, PolicyName.EASY, ReplayConditions(least_slack=2.0, most_slack=2.0), processors=2)
    assert backfilled.waits == (0.0, 90.0, 0.0)
    row = backfilled.row
    assert row["wait"] == 30.0
    assert row["wait_median"] == 0.0
    assert row["bounded_slowdown"] == pytest.approx((1 + 140 / 50 + 1) / 3)
    assert row["utilisation"] == pytest.approx((100 + 100 + 50) / (2 * 150))
    assert row["on_time"] == pytest.approx(2 / 3)
    assert row["makespan"] == 150.0


def test_a_job_that_comes_when_others_end_finds_their_processors_free() -> None:
    """Four processors. 4 needs all, when 2 ends at 3; 5 comes as 1 ends, and would hold it up by 8 s."""
    jobs = [line(1, 0, 2, 3), line(2, 0, 1, 2), line(3, 1, 9, 4), line(4, 2, 10, 1)]
    found = replay_trace(parse_swf("\n".join(jobs)), PolicyName.EASY, ReplayConditions())
    assert found.waits == (0.0, 2.0, 2.0, 10.0)


def test_jobs_that_end_together_are_known_to_have_ended() -> None:
    """Four processors. 3 needs all of them when 1 and 2 end, and 4 is not to go before it."""
    jobs = [line(1, 0, 2000, 2), line(2, 0, 2000, 2), line(3, 1, 100, 4), line(4, 2, 50, 2)]
    found = replay_trace(parse_swf("\n".join(jobs)), PolicyName.EASY, ReplayConditions())
    assert found.waits == (0.0, 0.0, 1999.0, 2098.0)


def test_a_job_shorter_than_its_user_said_gives_its_processors_back_early() -> None:
    trace = parse_swf("\n".join([line(1, 0, 100, 2, 1000), line(2, 10, 50, 2, 60)]))
    found = replay_trace(trace, PolicyName.EASY, ReplayConditions(predictions=Predictions.REQUESTED))
    assert found.waits == (0.0, 90.0)
    assert (found.row["error"], found.row["off_by_two"], found.row["within"]) == (455.0, 0.5, None)


@pytest.mark.parametrize(
    ("passed", "wait"),
    [
        (PassedPrediction.CORE, 500.0),  # 3 is expected until 165, 225 and 390 as others arrive, and 5 fits in nowhere
        (PassedPrediction.REQUESTED, 0.0),  # 3 is expected until 1100, and 5 ends before
        (PassedPrediction.INCREMENTAL, 40.0),  # at 190, when 3 is expected until 420
        (PassedPrediction.DOUBLED, 150.0),  # at 300, likewise; at 190 it was expected until 260
    ],
)
def test_what_a_job_that_outlives_its_prediction_is_expected_to_take(passed: PassedPrediction, wait: float) -> None:
    """Two processors. 3 is foretold 20 s, like its user's jobs before, and takes 500 s; 4 needs both; 5 takes 100 s.

    6 and 7 need both, too: as they arrive, the others are looked at.
    """
    jobs = [
        (0, 20, 1, 1000, 1),
        (30, 20, 1, 1000, 1),
        (100, 500, 1, 1000, 1),
        (110, 50, 2, 50, 2),
        (150, 100, 1, 100, 3),
        (190, 10, 2, 10, 4),
        (300, 10, 2, 10, 4),
    ]
    trace = parse_swf(
        "\n".join(
            f"{number} {begin} 0 {seconds} {width} -1 -1 {width} {asked} -1 1 {user} 1 -1 -1 -1 -1 -1"
            for number, (begin, seconds, width, asked, user) in enumerate(jobs, 1)
        )
    )
    found = replay_trace(trace, PolicyName.EASY, ReplayConditions(predictions=Predictions.LAST_TWO, passed=passed))
    assert found.waits[:4] == (0.0, 0.0, 0.0, 490.0)
    assert found.waits[4] == wait


def test_jobs_may_have_what_was_asked_for_and_end_when_it_is_over() -> None:
    """1 asked for 60 s on one processor, and had two for 100 s; as it asked, it leaves one to 2."""
    had = f"1 0 0 100 2 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n{line(2, 10, 50, 1, 60)}\n{line(3, 20, 50, 2, 60)}"
    trace = parse_swf(had)
    assert replay_trace(trace, PolicyName.EASY, ReplayConditions()).waits == (0.0, 90.0, 130.0)
    assert replay_trace(trace, PolicyName.EASY, ReplayConditions(as_asked=True)).waits == (0.0, 0.0, 40.0)


@pytest.mark.parametrize(
    "policy", ["genetic", "fcfs-arbitrary", "easy", "easy-sjbf", "conservative", "edf", "two-phase", "tunable"]
)
@pytest.mark.parametrize("moldability", Moldability)
def test_every_job_runs_under_every_policy_and_the_seed_decides(policy: str, moldability: Moldability) -> None:
    conditions = ReplayConditions(moldability, noise=0.3, generations=2, seed=4)
    found = replay_trace(TRACE, PolicyName(policy), conditions, jobs=15)
    assert found.row["jobs"] == len(found.waits) == 15
    assert all(wait >= 0 for wait in found.waits)
    assert found == replay_trace(TRACE, PolicyName(policy), conditions, jobs=15)


@pytest.mark.parametrize("policy", [PolicyName.GENETIC, PolicyName.EASY, PolicyName.EDF, PolicyName.TWO_PHASE])
@pytest.mark.parametrize("predictions", [Predictions.REQUESTED, Predictions.LAST_TWO, Predictions.RUNS])
@given(st.integers(0, 11), st.booleans(), st.sampled_from(ObjectiveName), st.permutations(range(12)))
@settings(max_examples=examples(2))
def test_nothing_is_decided_by_how_long_a_job_will_take(
    policy: PolicyName, predictions: Predictions, known: int, asked: bool, objective: ObjectiveName, order: list[int]
) -> None:
    """Deadlines told the recorded times: as long as no job with another one has ended, nothing may differ."""
    conditions = ReplayConditions(Moldability.AMDAHL, predictions, generations=2, objective=objective)
    records = [record if asked else replace(record, requested=None) for record in TRACE.records[:12]]
    first = replay_trace(_trace(records), policy, conditions)
    began = [record.submitted + wait for record, wait in zip(records, first.waits, strict=True)]
    moment = sorted(began)[known]
    later = [place for place in order if began[place] >= moment]
    changed = list(records)
    for place, other in zip(sorted(later), later, strict=True):
        changed[place] = replace(records[place], seconds=records[other].seconds)
    second = replay_trace(_trace(changed), policy, conditions)
    ends = [
        job.submitted + wait + _quickest(one, conditions)
        for jobs, found in ((records, first), (changed, second))
        for place, (job, one, wait) in enumerate(zip(records, jobs, found.waits, strict=True))
        if records[place] != changed[place]
    ]
    told = min(ends, default=math.inf)
    for record, before, after in zip(records, first.waits, second.waits, strict=True):
        assert before == after or record.submitted + min(before, after) >= told - 1e-6


def test_where_slowdown_is_the_aim_short_jobs_go_ahead_of_long_ones() -> None:
    """All on one processor; the second is long, and the third short."""
    trace = parse_swf("\n".join([line(1, 0, 100, 1, 100), line(2, 10, 4000, 1, 4000), line(3, 20, 50, 1, 50)]))
    for policy, waits in ((PolicyName.EASY, (0.0, 90.0, 4080.0)), (PolicyName.GENETIC, (0.0, 140.0, 80.0))):
        found = replay_trace(trace, policy, ReplayConditions(objective=ObjectiveName.SLOWDOWN), processors=1)
        assert found.waits == waits


def test_a_plan_for_a_quantile_reckons_with_longer_runs() -> None:
    """User 1's jobs take 50 to 150 s. One comes 110 s before the time at which a job that waits needs its processor."""
    past = [line(number, 10_000 * number, 50 * (1 + number % 3), 1, 1000) for number in range(1, 40)]
    others = [line(40, 400_000, 115, 1, 115), line(41, 400_001, 50, 2, 50)]
    coming = [each.replace(" -1 1 1 1 ", " -1 1 2 1 ") for each in others] + [line(42, 400_005, 100, 1, 1000)]
    trace = parse_swf("\n".join([*past, *coming]))
    waits = {}
    for quantile in (0.5, 0.95):
        conditions = ReplayConditions(predictions=Predictions.RUNS, quantile=quantile)
        waits[quantile] = replay_trace(trace, PolicyName.EASY, conditions, processors=2).waits[-1]
    assert waits == {0.5: 0.0, 0.95: 160.0}


def test_ranges_that_end_at_what_was_expected_survive_rounding_on_other_counts() -> None:
    """Most jobs go on for longer than asked for, at which predictions are cut off: as expected, and at most."""
    past = [line(number, 10_000 * number, 80 + 20 * (number % 4), 3, 100) for number in range(1, 40)]
    cut = [line(number, 10_000 * number, number + 40, 3, number + 37) for number in range(40, 60)]
    conditions = ReplayConditions(Moldability.DOWNEY, Predictions.RUNS)
    found = replay_trace(parse_swf("\n".join([*past, *cut])), PolicyName.EASY, conditions, processors=8)
    assert found.row["jobs"] == 59


def _trace(records: Sequence[RecordedJob]) -> WorkloadTrace:
    return WorkloadTrace(tuple(records), 0, {"MaxProcs": "8"})


def _quickest(record: RecordedJob, conditions: ReplayConditions) -> float:
    """Return the shortest that a job may take, on any number of processors, seconds."""
    seed = f"{conditions.seed}/{record.number}"
    return min(moldable_times(conditions.moldability, record.seconds, record.processors, 8, seed))


def test_titans_search_is_followed_wherever_it_leads() -> None:
    conditions = ReplayConditions(Moldability.AMDAHL, generations=2, seed=4)
    found = replay_trace(TRACE, PolicyName.TITAN_CLASSIC, conditions, jobs=12)
    assert found.row["jobs"] == 12
    assert found == replay_trace(TRACE, PolicyName.TITAN_CLASSIC, conditions, jobs=12)
    assert found.waits != replay_trace(TRACE, PolicyName.GENETIC, conditions, jobs=12).waits


@pytest.mark.parametrize("policy", [name for name, one in POLICIES.items() if one.online and one.one_host])
def test_mappings_replay_jobs_that_can_run_on_one_processor(policy: PolicyName) -> None:
    found = replay_trace(TRACE, policy, ReplayConditions(Moldability.AMDAHL, seed=4), jobs=12)
    assert found.row["jobs"] == len(found.waits) == 12
    with pytest.raises(UserError, match=rf"{policy} places a job on one processor, and job \d+ needs \d+: choose"):
        replay_trace(TRACE, policy, ReplayConditions(Moldability.RIGID))


def test_a_policy_that_keeps_no_queue_is_refused() -> None:
    with pytest.raises(UserError, match="dual-price cannot run a domain as tasks come and go: choose one of a-mm"):
        replay_trace(TRACE, PolicyName.DUAL_PRICE, ReplayConditions())


def test_a_job_wider_than_the_machine_is_refused() -> None:
    with pytest.raises(UserError, match=r"needs . of 2 processors: give more with --set processors=N"):
        replay_trace(TRACE, PolicyName.EASY, ReplayConditions(), processors=2)


def test_a_machine_too_large_to_be_simulated_is_refused() -> None:
    """The option was bounded, the trace's own header was not: a billion processors were waited for without end."""
    trace = parse_swf("; MaxProcs: 1000000000\n1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1")
    with pytest.raises(UserError, match="has 1000000000 processors, and 16384 are the most"):
        replay_trace(trace, PolicyName.EASY, ReplayConditions())
    assert replay_trace(trace, PolicyName.EASY, ReplayConditions(), processors=4).waits == (0.0,)


counts = st.integers(1, 64)


@given(st.sampled_from(Moldability), st.floats(0.5, 1e6), counts, st.text(max_size=5))
def test_the_recorded_time_holds_on_the_recorded_number(
    model: Moldability, seconds: float, recorded: int, seed: str
) -> None:
    found = moldable_times(model, seconds, recorded, 64, seed)
    assert found[recorded - 1] == seconds
    assert found == moldable_times(model, seconds, recorded, 64, seed)


@given(st.sampled_from([Moldability.AMDAHL, Moldability.DOWNEY]), counts, st.text(max_size=5))
def test_more_processors_are_never_slower_and_never_more_than_pay(model: Moldability, recorded: int, seed: str) -> None:
    found = moldable_times(model, 100.0, recorded, 64, seed)
    assert len(found) == 64
    for count in range(1, 64):
        assert found[count] <= found[count - 1] * (1 + 1e-12)
        assert found[count] * (count + 1) >= found[count - 1] * count * (1 - 1e-12)


def test_a_rigid_job_runs_on_its_number_alone() -> None:
    assert moldable_times(Moldability.RIGID, 7.0, 3, 64, "") == (math.inf, math.inf, 7.0)


@given(counts, st.floats(1.0, 100.0), st.floats(0.0, 5.0))
def test_downeys_speed_up_lies_between_one_and_what_there_is(count: int, parallelism: float, variance: float) -> None:
    assert 1 - 1e-9 <= downey_speedup(count, parallelism, variance) <= min(count, parallelism) + 1e-9


@pytest.mark.parametrize(
    ("count", "parallelism", "variance", "speed_up"),
    [
        (1, 8.0, 0.5, 1.0),
        (4, 8.0, 0.0, 4.0),  # no variance: linear up to the parallelism, then flat
        (32, 8.0, 0.0, 8.0),
        (8, 8.0, 1.0, 64 / 11.5),  # 8·8 / (8 + 1/2·7)
        (10, 8.0, 1.0, 80 / 12.5),  # 8·10 / (7.5 + 10/2)
        (8, 8.0, 2.0, 192 / 38),  # 8·8·3 / (2·15 + 8)
        (22, 8.0, 2.0, 8.0),  # flat from A + A·s - s on
    ],
)
def test_downeys_formula(count: int, parallelism: float, variance: float, speed_up: float) -> None:
    assert downey_speedup(count, parallelism, variance) == pytest.approx(speed_up)
