from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.events import CancelRequested, TaskSubmitted
from cosched.simulation.contending_hosts import ContendingDomain
from cosched.simulation.simulated_domain import SimulatedDomain
from tests.coscheduler.makers import a_task, settings
from tests.exploring import examples
from tests.simulation.makers import exact

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task

NODE = Host("node", memory=8000, cores=8)


def part(number: int, cores: int, seconds: float = 100.0, submitted: float = 0.0) -> Task:
    task = a_task(number, [seconds], submitted=submitted)
    return replace(task, spec=replace(task.spec, cores=cores))


def ran(*tasks: Task, slowdown: float = 1.0, host: Host = NODE) -> dict[str, float]:
    """Return when each of these tasks ended, submitted together to one host."""
    domain = ContendingDomain(settings(share_hosts=True), [host], exact, lambda _task: slowdown)
    for task in tasks:
        domain.post(TaskSubmitted(0.0, task))
    domain.run()
    return {run.task: run.finished for run in domain.runs}


def test_a_task_alone_takes_its_time() -> None:
    assert ran(part(1, 4)) == {"1": 100.0}


def test_two_halves_of_a_host_slow_one_another() -> None:
    found = ran(part(1, 4), part(2, 4))
    assert found == {"1": pytest.approx(100 * 2**0.5), "2": pytest.approx(100 * 2**0.5)}


def test_once_the_other_has_ended_a_task_goes_on_as_alone() -> None:
    found = ran(part(1, 4), part(2, 4, 40.0))
    shorter = 40 * 2**0.5
    assert found == {"1": pytest.approx(shorter + 60), "2": pytest.approx(shorter)}


def test_what_others_jobs_have_of_the_host_counts_too() -> None:
    assert ran(part(1, 4), host=replace(NODE, claimed=True, others=HostShare(0, 4, 0))) == {
        "1": pytest.approx(100 * 2**0.5)
    }


def test_a_cancelled_neighbour_slows_nobody() -> None:
    domain = ContendingDomain(settings(share_hosts=True), [NODE], exact, lambda _task: 1.0)
    for task in (part(1, 4), part(2, 4)):
        domain.post(TaskSubmitted(0.0, task))
    domain.post(CancelRequested(2**0.5 * 10, "2"))
    domain.run()
    assert {run.task: run.finished for run in domain.runs} == {"1": pytest.approx(2**0.5 * 10 + 90)}


@hypothesis_settings(max_examples=examples(10))
@given(st.lists(st.tuples(st.integers(1, 8), st.floats(1.0, 90.0), st.floats(0.0, 50.0)), max_size=12))
def test_where_nothing_contends_it_is_the_plain_domain_to_the_last_bit(rows: list[tuple[int, float, float]]) -> None:
    hosts = [NODE, replace(NODE, name="other")]
    found = []
    for domain in (
        SimulatedDomain(settings(share_hosts=True), hosts, exact),
        ContendingDomain(settings(share_hosts=True), hosts, exact, lambda _task: 0.0),
    ):
        for number, (cores, seconds, when) in enumerate(rows, start=1):
            domain.post(TaskSubmitted(when, part(number, cores, seconds, submitted=when)))
        domain.run()
        found.append(domain.runs)
    assert found[0] == found[1]
    assert len(found[0]) == len(rows)
