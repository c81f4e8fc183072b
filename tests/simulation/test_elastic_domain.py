from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import CancelRequested, TaskSubmitted
from cosched.simulation.elastic_domain import ElasticDomain
from tests.coscheduler.makers import a_task, elastic_task, settings

if TYPE_CHECKING:
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task

ON_TWO_OR_THREE = (math.inf, 60.0, 40.0)


def seconds(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.on(count) if count <= len(task.profile.seconds) else math.inf


def a_domain(hosts: int, *events: Event, lending: bool = True) -> ElasticDomain:
    """Return a domain in which these have happened and all has ended."""
    elastic = ElasticSettings(lending=lending, settle=1.0)
    domain = ElasticDomain(settings(elastic=elastic), hosts, seconds, drain=2.0)
    for event in events:
        domain.post(event)
    domain.run()
    return domain


def ends(domain: ElasticDomain) -> dict[str, float]:
    return {run.task: run.finished for run in domain.runs}


def test_a_task_on_its_promised_hosts_takes_its_time() -> None:
    domain = a_domain(3, TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE[:2])))
    assert ends(domain) == {"1": 60.0}
    assert not domain.core.tasks
    assert not domain.core.attempts


def test_a_task_that_is_lent_an_idle_host_goes_on_faster() -> None:
    domain = a_domain(3, TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE)))
    assert ends(domain) == pytest.approx({"1": 1 + (1 - 1 / 60) * 40})


def test_a_task_is_lent_nothing_where_nothing_is_lent() -> None:
    assert ends(a_domain(3, TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE)), lending=False)) == {"1": 60.0}


def test_a_lent_host_is_another_tasks_once_its_worker_has_left() -> None:
    others = a_task(2, [5.0], submitted=10.0)
    domain = a_domain(
        3, TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE)), TaskSubmitted(10.0, others), lending=True
    )
    left = 1 - 1 / 60 - 9 / 40 - 7 / 60  # alone on its own two from 10 s to 17 s, when the host is idle again
    assert ends(domain) == pytest.approx({"1": 17 + left * 40, "2": 17.0})


def test_a_cancelled_task_leaves_its_hosts_at_once() -> None:
    domain = a_domain(
        3,
        TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE)),
        CancelRequested(10.0, "1", "not needed"),
        TaskSubmitted(10.0, a_task(2, [math.inf, math.inf, 5.0], submitted=10.0)),
    )
    assert ends(domain) == {"2": 15.0}


def test_a_task_goes_on_with_fewer_hosts_where_one_goes() -> None:
    elastic = ElasticSettings(settle=1.0)
    domain = ElasticDomain(settings(elastic=elastic), 3, seconds, drain=2.0)
    domain.post(TaskSubmitted(0.0, elastic_task(1, ON_TWO_OR_THREE)))
    domain.run(10.0)
    (lent,) = [attempt.hosts[0] for attempt in domain.core.attempts.values() if attempt.loan]
    domain.set_hosts([lent], up=False)
    domain.run()
    assert ends(domain) == pytest.approx({"1": 10 + (1 - 1 / 60 - 9 / 40) * 60})
