"""Hosts whose owners come back: what the core plans, starts, expects and learns there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.durations import format_duration
from cosched.prediction.loads.host_load import Coupling, HostLoad, Interruption
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import (
    a_core,
    a_task,
    complete,
    dispatched,
    hosts,
    mixed_hosts,
    on_both,
    settings,
    start,
    submit,
)

QUARTER = HostLoad(rate=1 / 300, mean=100, square=20_000)  # takes a quarter: runs last a third longer
THREE_QUARTERS = HostLoad(rate=3 / 64, mean=64, square=8192)
HALF = HostLoad(rate=1 / 100, mean=100, square=20_000)


def loaded_core(count: int = 2, **changes: object) -> Coscheduler:
    """Return a core whose first host has an owner."""
    core = Coscheduler(settings(**changes))
    core.handle(HostsObserved(0.0, hosts(count), {"node01": QUARTER}))
    return core


def test_dedicated_hosts_are_planned_as_before() -> None:
    plain, told = a_core(2), Coscheduler(settings())
    told.handle(HostsObserved(0.0, hosts(2), {}))
    for core in (plain, told):
        submit(core, a_task(1, (120.0, 70.0)))
        submit(core, a_task(2, (120.0, 70.0)))
        submit(core, a_task(3, (120.0, 70.0)))
    first, second = plain.planning_view.problem(0.0), told.planning_view.problem(0.0)
    assert first is not None
    assert second is not None
    assert (first.classes, first.seconds.tolist()) == (second.classes, second.seconds.tolist())
    assert plain.snapshot() == told.snapshot()


def test_a_task_takes_the_host_without_an_owner() -> None:
    (attempt,) = dispatched(submit(loaded_core(), a_task(1, (120.0,))))
    assert (attempt.hosts, attempt.predicted) == (("node02",), 120.0)


def test_a_run_beside_an_owner_is_predicted_to_last_longer() -> None:
    core = loaded_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, (120.0,))))
    assert attempt.predicted == pytest.approx(160.0)
    assert core.tasks["1"].status.predicted == pytest.approx(160.0)
    assert core.tasks["1"].status.load_factor == pytest.approx(4 / 3)


def test_a_program_on_several_hosts_waits_for_every_owner() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(2), {"node01": QUARTER, "node02": QUARTER}))
    (attempt,) = dispatched(submit(core, a_task(1, (float("inf"), 90.0))))
    assert attempt.predicted == pytest.approx(160.0)  # 90 / 0.75²


def test_a_program_waits_for_no_owner_of_another_host() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(16)))
    (attempt,) = dispatched(submit(core, replace(a_task(1), profile=on_so_many(16))))
    start(core, attempt, 0.0)
    core.handle(HostsObserved(20.0, hosts(16), {"node03": HALF}))
    assert core.attempts[attempt.uuid].predicted == pytest.approx(20 + 100 / 0.5)
    assert core.tasks["1"].status.load_factor == pytest.approx(220 / 120)
    ends = EndRanges(core).of(core.tasks["1"], attempt.hosts, 0.0)
    assert ends is not None
    assert ends[1] < 24 * 60
    said = explain(core, "1", 20.0)
    assert said is not None
    assert any("up to 50%" in each for each in said.waits_for)


@pytest.mark.parametrize("coupling", Coupling)
def test_no_more_owners_are_planned_with_than_there_are(coupling: Coupling) -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(16), {"node03": HALF, "node04": QUARTER}))
    for number in (1, 2):
        submit(core, replace(a_task(number), profile=replace(on_so_many(16), coupling=coupling)))
    (attempt,) = core.attempts.values()
    place = predict_placement(core, replace(a_task(3), profile=replace(on_so_many(16), coupling=coupling)), 0.0)
    assert attempt.predicted is not None
    assert attempt.predicted <= 120 / 0.5 / 0.75 + 1
    assert place is not None
    assert place.end == pytest.approx(3 * attempt.predicted, rel=0.05)


def test_loads_and_classes_count_together() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, mixed_hosts(3), {"node01": HALF}))  # the fast one is as slow as the others then
    submit(core, on_both(1, (100.0,), (150.0,)))
    problem = core.planning_view.problem(0.0)
    assert core.attempts
    assert problem is None
    (attempt,) = core.attempts.values()
    assert attempt.hosts[0] in {"node02", "node03"}


def test_a_high_quantile_leaves_room_for_more_interruptions() -> None:
    (expected,) = dispatched(submit(loaded_core(1), a_task(1, (600.0,))))
    (careful,) = dispatched(submit(loaded_core(1, quantile=0.9), a_task(1, (600.0,))))
    (free,) = dispatched(submit(a_core(1, quantile=0.9), a_task(1, (600.0,))))
    assert expected.predicted == pytest.approx(800.0)
    assert careful.predicted is not None
    assert careful.predicted > 900
    assert free.predicted == 600.0


def test_an_evicted_task_is_planned_with_its_tries() -> None:
    core = loaded_core(1, interruption=Interruption.EVICT)
    (attempt,) = dispatched(submit(core, a_task(1, (600.0,))))
    assert attempt.predicted is not None
    assert attempt.predicted > 2000  # (e² - 1) · 400 s
    assert core.tasks["1"].status.load_factor == 1.0  # a run that ends well is not longer


def test_a_placement_is_foreseen_with_the_load() -> None:
    placed = predict_placement(loaded_core(1), a_task(1, (120.0,)), 0.0)
    assert placed is not None
    assert placed.end == pytest.approx(160.0)


def test_ranges_of_ends_reckon_with_the_owner() -> None:
    core = loaded_core(2)
    task = a_task(1, (600.0,))
    submit(core, task)
    assert EndRanges(core).of(task, ["node02"], 0.0) is None
    found = EndRanges(core).of(task, ["node01"], 0.0)
    assert found is not None
    assert 600 <= found[0] * (1 + 1e-9) < 800 < found[1]


def test_a_waiting_task_is_told_what_the_owner_costs() -> None:
    core = loaded_core(1)
    submit(core, a_task(1, (120.0,)))
    submit(core, a_task(2, (120.0,)))
    found = explain(core, "2", 0.0)
    assert found is not None
    assert found.would_change[-1] == (
        "host node01: its owner is expected to take 25% at this hour, so that 2 min 40 s are predicted in place of "
        "2 min: 40 s of delay"
    )


@pytest.mark.parametrize(
    ("coupling", "why"),
    [
        (Coupling.COUPLED, "its parts are coupled: it waits for the owner of each"),
        (Coupling.INDEPENDENT, "its parts are independent: it ends with the last of them"),
    ],
)
def test_a_task_on_several_hosts_is_told_why_their_owners_cost_that_much(coupling: Coupling, why: str) -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(2), {"node01": QUARTER, "node02": QUARTER}))
    profile = Profile((float("inf"), 900.0), PredictionSource.MODEL, coupling=coupling)
    (attempt,) = dispatched(submit(core, replace(a_task(1), profile=profile)))
    start(core, attempt, 0.0)
    found = explain(core, "1", 10.0)
    assert found is not None
    assert attempt.predicted is not None
    delay = format_duration(attempt.predicted - 900)
    (said,) = [each for each in found.waits_for if "owners are" in each]
    assert said.endswith(f"in place of 15 min: {delay} of delay, as {why}")


def test_a_task_whose_owner_drives_it_away_is_told_that() -> None:
    core = Coscheduler(settings(interruption=Interruption.EVICT))
    core.handle(HostsObserved(0.0, hosts(1), {"node01": QUARTER}))
    (attempt,) = dispatched(submit(core, a_task(1, (120.0,))))
    start(core, attempt, 0.0)
    found = explain(core, "1", 10.0)
    assert found is not None
    (said,) = [each for each in found.waits_for if "its owner is" in each]
    assert said.endswith(" of delay, as an owner drives its job away, which begins again")


def test_a_running_task_is_expected_later_when_its_owner_comes_more_often() -> None:
    core = loaded_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, (120.0,))))
    start(core, attempt, 0.0)
    core.handle(HostsObserved(80.0, hosts(1), {"node01": HALF}))  # half of 160 s are over; 60 s of work are left
    assert core.attempts[attempt.uuid].predicted == pytest.approx(80 + 120)
    assert core.tasks["1"].status.load_factor == pytest.approx(200 / 120)
    core.handle(HostsObserved(90.0, hosts(1), {"node01": HALF, "node09": QUARTER}))  # nothing has changed for it
    assert core.attempts[attempt.uuid].predicted == pytest.approx(200)
    core.handle(HostsObserved(140.0, hosts(1), {}))  # 30 s of work are left, and nobody disturbs it any more
    assert core.attempts[attempt.uuid].predicted == pytest.approx(170)


def test_a_changed_load_makes_a_new_plan() -> None:
    core = a_core(2)
    for number in (1, 2, 3):
        submit(core, a_task(number, (100.0,)))
    before = core.planning_view.forecast(0.0)
    core.handle(HostsObserved(0.0, hosts(2), {"node01": HALF}))
    after = core.planning_view.forecast(0.0)
    assert before is not None
    assert after is not None
    assert after[1].assignments[0].hosts == ("node02",)


def test_what_a_run_beside_an_owner_teaches_is_its_time_without_him() -> None:
    core = loaded_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, (120.0,))))
    start(core, attempt, 0.0)
    outcome = complete(core, attempt, 0.0, 160.0)
    (run,) = outcome.changes.runs
    assert (run.predicted, run.seconds) == pytest.approx((120.0, 120.0))
    assert core.corrections()["app/test"].factor == pytest.approx(1.0)


def test_a_core_goes_on_from_a_snapshot_with_its_loads() -> None:
    core = loaded_core(2)
    again = Coscheduler.from_snapshot(core.settings, core.snapshot())
    assert again.snapshot() == core.snapshot()
    assert dispatched(submit(again, a_task(1, (120.0,))))[0].hosts == ("node02",)


def test_parts_that_do_not_wait_for_one_another_end_sooner() -> None:
    found = []
    for coupling in Coupling:
        core = Coscheduler(settings())
        core.handle(HostsObserved(0.0, hosts(2), {"node01": QUARTER, "node02": QUARTER}))
        profile = Profile((float("inf"), 900.0), PredictionSource.MODEL, coupling=coupling)
        (attempt,) = dispatched(submit(core, replace(a_task(1), profile=profile)))
        assert attempt.predicted is not None
        assert core.tasks["1"].status.load_factor == pytest.approx(attempt.predicted / 900)
        found.append(attempt.predicted)
    assert found[0] == pytest.approx(1600.0)  # 900 / 0.75²
    assert 1200 < found[1] < 1450


@pytest.mark.parametrize("count", [16, 32])
def test_a_core_goes_on_where_owners_come_to_many_hosts_of_a_task(count: int) -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(count)))
    (attempt,) = dispatched(submit(core, replace(a_task(1), profile=on_so_many(count))))
    start(core, attempt, 0.0)
    submit(core, replace(a_task(2), profile=on_so_many(count)))
    core.handle(HostsObserved(20.0, hosts(count), dict.fromkeys(attempt.hosts, THREE_QUARTERS)))
    assert explain(core, "1", 20.0)
    assert explain(core, "2", 20.0)
    predicted = core.attempts[attempt.uuid].predicted
    assert predicted is not None
    assert predicted <= 10 * 365 * 86400.0
    core.handle(HostsObserved(40.0, hosts(count)))  # they have gone again
    assert core.attempts[attempt.uuid].predicted == pytest.approx(140, abs=0.01)


def test_a_run_that_owners_should_have_kept_for_ever_teaches_nothing() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(16), {f"node{number:02}": THREE_QUARTERS for number in range(1, 17)}))
    (attempt,) = dispatched(submit(core, replace(a_task(1), profile=on_so_many(16))))
    start(core, attempt, 0.0)
    assert not complete(core, attempt, 0.0, 130.0).changes.runs
    assert not core.corrections()


def on_so_many(count: int) -> Profile:
    """Return two minutes on so many hosts, and on no other number of them."""
    return Profile((float("inf"),) * (count - 1) + (120.0,), PredictionSource.USER)
