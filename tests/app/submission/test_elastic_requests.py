from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.validation import TaskValidator
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.elastic.values import Elastic
from cosched.errors import UserError
from tests.daemon.makers import Halving, catalogue

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_750_000_000.0
DOMAIN = DomainState(NOW, hosts=16)
WORKER = ElasticRequest(worker=("/opt/worker", "{lead}"))
REQUEST = TaskRequest(command=("/opt/lead",), hosts="2-4", profile=(None, 60.0, 40.0, 30.0), elastic=WORKER)


@pytest.fixture
def intake(tmp_path: Path) -> TaskValidator:
    return TaskValidator(catalogue(tmp_path / "applications.d"), Halving(), "fast")


def test_a_worker_that_names_its_lead_waits_for_it(intake: TaskValidator) -> None:
    assert intake.task(REQUEST, DOMAIN).spec.elastic == Elastic(("/opt/worker", "{lead}"), needs_lead=True, grace=30.0)
    alone = replace(REQUEST, elastic=ElasticRequest(worker=("/opt/worker",), grace="2m"))
    assert intake.task(alone, DOMAIN).spec.elastic == Elastic(("/opt/worker",), needs_lead=False, grace=120.0)


def test_a_task_without_workers_is_not_elastic(intake: TaskValidator) -> None:
    assert intake.task(replace(REQUEST, elastic=None), DOMAIN).spec.elastic is None


@pytest.mark.parametrize(
    ("changes", "domain", "message"),
    [
        ({"profile": None}, DOMAIN, "no number can be promised: give --runtime"),
        ({"elastic": ElasticRequest()}, DOMAIN, "the worker's command starts with ''"),
        ({"elastic": ElasticRequest(worker=("worker",))}, DOMAIN, "give the program's absolute path"),
        ({"elastic": replace(WORKER, grace="1h")}, DOMAIN, "the grace is 1 h: give up to 10 min"),
        ({"elastic": replace(WORKER, worker=("/w", "a\0"))}, DOMAIN, "zero byte"),
        ({"launch": LaunchMode.OPENMPI}, DOMAIN, "leave launch, mpi and processes out"),
        ({"processes": 8}, DOMAIN, "leave launch, mpi and processes out"),
        ({"cores": "2-4"}, DOMAIN, "an elastic task takes whole hosts"),
        ({"native": NativeDescription("local", {}, "")}, DOMAIN, "describes one job"),
        ({}, replace(DOMAIN, shares_hosts=True), "tasks share hosts here"),
        ({}, replace(DOMAIN, carries_mail=False), "cannot tell cosched an address"),
    ],
)
def test_what_cannot_be_elastic_is_refused_with_what_would_do(
    intake: TaskValidator, changes: dict[str, Any], domain: DomainState, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        intake.task(replace(REQUEST, **changes), domain)
