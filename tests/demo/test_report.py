from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from rich.console import Console

from cosched.simulation.kernels import HOSTS, draw_kernel_tasks
from demo import report
from tests.demo.views import ran

if TYPE_CHECKING:
    from rich.table import Table


def shown(table: Table) -> str:
    out = io.StringIO()
    Console(width=140, file=out).print(table)
    return out.getvalue()


def test_a_run_is_measured_by_what_the_manager_reported() -> None:
    hosts = tuple(f"h{number}" for number in range(HOSTS))
    tasks = [ran("1", hosts, 100.0, 104.0, on_time=True), ran("2", hosts, 105.0, 110.0, on_time=False)]
    outcome = report.measure(tasks, began=100.0)
    assert outcome.makespan == 10.0
    assert outcome.idle == pytest.approx(0.1)
    assert outcome.handover == pytest.approx(0.1)
    assert (outcome.gap, outcome.on_time) == (1.0, 1)


def test_the_hand_over_is_counted_on_every_host_and_waiting_for_another_one_named() -> None:
    tasks = [ran("1", ("a",), 0.0, 4.0), ran("2", ("b",), 0.0, 9.0), ran("3", ("a", "b"), 9.5, 10.0)]
    outcome = report.measure(tasks, 0.0)
    assert outcome.handover == pytest.approx((5.5 + 0.5) / (10.0 * HOSTS))
    assert outcome.waiting == pytest.approx((9.0 - 4.0) / (10.0 * HOSTS))
    assert outcome.gap == pytest.approx(0.5)


def test_a_host_that_had_no_job_before_was_handed_over_by_nobody() -> None:
    tasks = [ran("1", ("a",), 0.0, 4.0), ran("2", ("a", "b"), 5.0, 10.0)]
    assert report.measure(tasks, 0.0).handover == pytest.approx(1.0 / (10.0 * HOSTS))


def test_in_order_a_host_also_waits_for_the_job_ahead() -> None:
    tasks = [
        ran("1", ("a",), 0.0, 2.0),
        ran("2", ("b",), 0.0, 6.0),
        ran("3", ("b", "c"), 6.5, 10.0),
        ran("4", ("a",), 7.0, 9.0),
    ]
    in_order, freely = (report.measure(tasks, 0.0, in_order=each) for each in (True, False))
    assert in_order.handover == freely.handover == pytest.approx((0.5 + 5.0) / (10.0 * HOSTS))
    assert in_order.waiting == pytest.approx((6.5 - 2.0) / (10.0 * HOSTS))
    assert freely.waiting == 0.0


def test_plain_first_come_first_served_is_never_better_than_the_bound() -> None:
    orders = draw_kernel_tasks(12, 3)
    profiles = report.kernel_profiles(orders, 1.0)
    ends, bound = report.baselines(profiles, seed=3), report.bound(profiles)
    makespans = {policy: max(own) for policy, own in ends.items()}
    assert set(makespans) == {"fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"}
    assert [len(own) for own in ends.values()] == [12] * 3
    assert min(makespans.values()) >= bound > 0
    text = shown(report.comparison({"cosched": 9.0, **makespans}, bound))
    assert all(policy in text for policy in makespans)


def test_the_table_shows_every_task_and_by_how_much_it_was_early() -> None:
    tasks = [ran("1", ("h1", "h2"), 101.0, 103.0, deadline=105.5), ran("2", ("h1",), 103.0, 109.0, deadline=108.0)]
    text = shown(report.table(tasks, began=100.0))
    assert "2.5" in text
    assert "-1.0" in text
    assert "2: h1 … h2" in text


def test_the_picture_is_a_chart_of_what_ran() -> None:
    tasks = [ran("1", ("h1",), 101.0, 103.0), replace(ran("2", ("h2",), 0.0, 0.0), started=None, finished=None)]
    root = ElementTree.fromstring(report.picture(tasks, 100.0, "local"))
    assert root.tag.endswith("svg")
    assert "2 tasks on 16 hosts under cosched (local connector)" in "".join(root.itertext())


def test_the_sentence_names_the_figures() -> None:
    sentence = report.sentence(report.Outcome(10.0, 0.25, 7, 0.031, 0.014, 0.42), 9)
    assert "deadlines met: 7 of 9; idle 25%" in sentence
    assert "3.1% of the hosts' time, 1.4% while the next one waited" in sentence
