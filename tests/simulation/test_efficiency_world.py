from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.prediction.efficiency import parallel_speedup
from cosched.simulation.efficiency_world import Crash, IterativeProgram, Monitoring, Trouble, run_iterations

PROGRAM = IterativeProgram(4, 1800.0, 35.0, 0.0, {"a": 72, "b": 32, "c": 32}, {"a": 12, "b": 12, "c": 12})


def test_without_trouble_every_iteration_lasts_as_long_as_the_parallelism_says() -> None:
    run = run_iterations(PROGRAM)
    assert run.durations == pytest.approx([100.0] * 4)
    alone = run_iterations(replace(PROGRAM, begins={"a": 12}))
    assert alone.durations == pytest.approx([1800 / parallel_speedup(12, 35.0)] * 4)


def test_monitoring_alone_costs_its_overhead_and_measures_the_efficiency() -> None:
    run = run_iterations(PROGRAM, monitoring=Monitoring(60.0, 0.15, adapts=False))
    assert run.seconds == pytest.approx(1.15 * 400)
    assert run.efficiencies == pytest.approx([0.5] * 7)
    assert set(run.hosts) == {36}


def test_a_program_on_too_few_hosts_is_given_more_until_its_efficiency_is_the_upper_threshold() -> None:
    program = replace(PROGRAM, iterations=20, begins={"a": 8})
    run = run_iterations(program, monitoring=Monitoring(60.0, 0.0))
    assert list(run.hosts) == sorted(run.hosts)
    assert run.hosts[-1] == 36
    assert run.durations[-1] == pytest.approx(100.0)


def test_slow_workers_leave_and_others_take_their_places() -> None:
    trouble = Trouble("b", since=100.0, speed=0.5, hold_up=(2.0,))
    program = replace(PROGRAM, iterations=30)
    fixed = run_iterations(program, [trouble])
    assert fixed.durations[0] == pytest.approx(100.0)
    assert fixed.durations[-1] == pytest.approx(2 * 1800 / parallel_speedup(30, 35.0))
    run = run_iterations(program, [trouble], monitoring=Monitoring(60.0, 0.0))
    assert run.durations[-1] == pytest.approx(100.0)
    assert run.hosts[-1] == 36


def test_a_badly_linked_cluster_leaves_and_none_of_its_hosts_comes_back() -> None:
    trouble = Trouble("c", hold_up=(4.0,), link=True)
    run = run_iterations(replace(PROGRAM, iterations=30), [trouble], monitoring=Monitoring(60.0, 0.0))
    assert run.durations[-1] == pytest.approx(100.0)  # a single host of c would hold it up fourfold
    assert run.durations[0] > 100.0


def test_lost_hosts_are_replaced_only_with_advice() -> None:
    crash = Crash(("b", "c"), 200.0)
    fixed = run_iterations(PROGRAM, crash=crash)
    assert fixed.durations == pytest.approx([100.0, 100.0, *[1800 / parallel_speedup(12, 35.0)] * 2])
    run = run_iterations(replace(PROGRAM, iterations=20), crash=crash, monitoring=Monitoring(60.0, 0.0))
    assert run.hosts[-1] in (35, 36)
    assert run.durations[-1] < 105.0


def test_a_change_of_workers_costs_its_seconds() -> None:
    program = replace(PROGRAM, begins={"a": 8}, resize=5.0, iterations=1)
    quick, slow = (
        run_iterations(each, monitoring=Monitoring(200.0, 0.0)) for each in (replace(program, resize=0.0), program)
    )
    assert slow.seconds == pytest.approx(quick.seconds + 5.0)
