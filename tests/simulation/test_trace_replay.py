from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.swf import parse_swf
from cosched.scheduling.policies import POLICIES, PolicyName
from cosched.simulation.trace_replay import Moldability, ReplayConditions, replay_trace, wait_charts
from tests.simulation.traces import swf

TRACE = parse_swf(swf(40))


def line(number: int, submitted: int, seconds: int, processors: int, requested: int = -1) -> str:
    return f"{number} {submitted} 0 {seconds} {processors} -1 -1 {processors} {requested} -1 1 1 1 -1 -1 -1 -1 -1"


def test_the_figures_of_a_queue_worked_out_by_hand() -> None:
    """Two processors. 1 runs 0…100 on one; 2 needs both: 100…150; 3 fits beside 1 only under backfilling: 20…70."""
    trace = parse_swf("\n".join([line(1, 0, 100, 1), line(2, 10, 50, 2), line(3, 20, 50, 1)]))
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


def test_a_job_shorter_than_its_user_said_gives_its_processors_back_early() -> None:
    trace = parse_swf("\n".join([line(1, 0, 100, 2, 1000), line(2, 10, 50, 2, 60)]))
    assert replay_trace(trace, PolicyName.EASY, ReplayConditions(requested=True)).waits == (0.0, 90.0)


@pytest.mark.parametrize("policy", ["genetic", "fcfs-arbitrary", "easy", "conservative", "edf", "two-phase", "tunable"])
@pytest.mark.parametrize("moldability", Moldability)
def test_every_job_runs_under_every_policy_and_the_seed_decides(policy: str, moldability: Moldability) -> None:
    conditions = ReplayConditions(moldability, noise=0.3, generations=2, seed=4)
    found = replay_trace(TRACE, PolicyName(policy), conditions, jobs=15)
    assert found.row["jobs"] == len(found.waits) == 15
    assert all(wait >= 0 for wait in found.waits)
    assert found == replay_trace(TRACE, PolicyName(policy), conditions, jobs=15)


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


def test_the_picture_has_a_line_for_each_policy() -> None:
    found = {policy: replay_trace(TRACE, PolicyName(policy), ReplayConditions(), jobs=10) for policy in ("easy", "edf")}
    (text,) = wait_charts(found, "a trace").values()
    assert "easy" in text
    assert "edf" in text
