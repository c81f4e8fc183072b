from __future__ import annotations

import pytest

from cosched.api.documents import HostView, PlacementView, PlanView, RunView
from cosched.portal.pages.domain import BusySpan, HostClass, busy_over_time, busy_shares, host_classes, spans_of
from tests.portal.pages.makers import host

HOSTS = [host("a"), host("b"), host("c")]


def spans() -> list[BusySpan]:
    run = RunView(
        task="1", name="", application="", hosts=("a", "gone"), start=-50.0, end=20.0, deadline=None, state="completed"
    )
    running = PlacementView(task="2", hosts=("a", "b"), start=60.0, end=500.0, deadline=None, running=True)
    planned = PlacementView(task="3", hosts=("c",), start=10.0, end=90.0, deadline=None, running=False)
    return spans_of(
        [run],
        PlanView(time=100.0, placements=(running, planned), makespan=0.0, bound=None, gap=None, evaluations=0),
        100.0,
    )


def test_a_host_is_busy_while_tasks_are_on_it() -> None:
    assert busy_shares(HOSTS, spans(), (0.0, 100.0)) == {"a": 0.6, "b": 0.4, "c": 0.0}


def test_the_course_adds_up_to_the_shares() -> None:
    course = busy_over_time(HOSTS, spans(), (0.0, 120.0))
    assert [course[second] for second in (0, 19, 20, 59, 60, 99, 100)] == pytest.approx(
        [1 / 3, 1 / 3, 0.0, 0.0, 2 / 3, 2 / 3, 0.0]
    )
    shares = busy_shares(HOSTS, spans(), (0.0, 120.0))
    assert sum(course) / len(course) == pytest.approx(sum(shares.values()) / 3)


def test_without_hosts_nothing_is_busy() -> None:
    assert set(busy_over_time([], spans(), (0.0, 120.0))) == {0.0}


def test_classes_have_their_own_shares() -> None:
    hosts = [
        HostView(name=name, host_class=kind, up=up, reason="", task="", free_at=None)
        for name, kind, up in (("a", "fast", True), ("b", "slow", True), ("c", "slow", False))
    ]
    assert host_classes(hosts, {"a": 0.6, "b": 0.4, "c": 0.0}) == [
        HostClass("fast", 1, 0, 0.6),
        HostClass("slow", 1, 1, 0.2),
    ]
