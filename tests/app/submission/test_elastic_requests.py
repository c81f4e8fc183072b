from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.validation import TaskValidator
from cosched.client.dask_commands import dask_worker_command
from cosched.connector.hosts import Host
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.elastic.values import Elastic, ElasticSettings, LoanExceptions
from cosched.errors import UserError
from tests.daemon.makers import Halving, catalogue

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_750_000_000.0
DOMAIN = DomainState(NOW, hosts=16)
WORKER = ElasticRequest(worker=("/opt/worker", "{lead}"))
REQUEST = TaskRequest(command=("/opt/lead",), hosts="2-4", profile=(None, 60.0, 40.0, 30.0), elastic=WORKER)


RESTART = ElasticRequest(kind="restart")
DASK = ElasticRequest(worker=("/opt/python", *dask_worker_command()[1:]))


@pytest.fixture
def intake(tmp_path: Path) -> TaskValidator:
    return TaskValidator(catalogue(tmp_path / "applications.d"), Halving(), "fast")


def test_a_worker_that_names_its_lead_waits_for_it(intake: TaskValidator) -> None:
    assert intake.task(REQUEST, DOMAIN).spec.elastic == Elastic(("/opt/worker", "{lead}"), needs_lead=True, grace=30.0)
    alone = replace(REQUEST, elastic=ElasticRequest(worker=("/opt/worker", "{print $1} {x}"), grace="2m"))
    of_its_own = ("/opt/worker", "{print $1} {x}")  # in braces, but nothing like {lead} or {worker}
    assert intake.task(alone, DOMAIN).spec.elastic == Elastic(of_its_own, needs_lead=False, grace=120.0)


def test_a_program_that_checkpoints_is_started_as_any_other(intake: TaskValidator) -> None:
    asked = replace(REQUEST, elastic=replace(RESTART, cost="2m", force=True), launch=LaunchMode.OPENMPI)
    spec = intake.task(asked, DOMAIN).spec
    assert spec.elastic == Elastic(restart=True, grace=30.0, cost=120.0, force=True)
    assert spec.launch is LaunchMode.OPENMPI
    assert intake.task(replace(REQUEST, elastic=RESTART), DOMAIN).spec.elastic == Elastic(restart=True, grace=30.0)


@pytest.mark.parametrize("elastic", [WORKER, RESTART])
def test_the_grace_is_that_of_the_request_or_else_of_its_user_or_its_application(
    intake: TaskValidator, elastic: ElasticRequest
) -> None:
    terms = ElasticSettings(
        grace=10.0,
        applications={"lead": LoanExceptions(grace=20.0)},
        users={"ann": LoanExceptions(grace=40.0), "eve": LoanExceptions(lending=False)},
    )
    domain, request = replace(DOMAIN, elastic=terms), replace(REQUEST, elastic=elastic)

    def grace(request: TaskRequest, owner: str) -> float:
        found = intake.task(request, domain, owner).spec.elastic
        assert found is not None
        return found.grace

    assert grace(request, "ann") == 40.0
    assert grace(request, "eve") == grace(request, "bob") == 20.0
    assert grace(replace(request, command=("/opt/other",)), "bob") == 10.0
    assert grace(replace(request, elastic=replace(elastic, grace="5s")), "ann") == 5.0


SHARED = replace(
    DOMAIN, hosts=2, sizes=(Host("n1", memory=8000, cores=8), Host("n2", memory=8000, cores=8)), shares_hosts=True
)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"hosts": "2-12"}, 12),
        ({"hosts": None}, 9),  # as its run times say
        ({"hosts": "2-30"}, 16),  # one core each
        ({"hosts": "2-30", "cores": 3}, 4),
        ({"hosts": "2-30", "memory": "5000M"}, 2),
        ({"hosts": "2-30", "exclusive": True}, 2),
        ({"hosts": "2-30", "elastic": None}, 2),
    ],
)
def test_an_elastic_task_on_shared_hosts_may_have_as_many_places_as_there_are(
    intake: TaskValidator, changes: dict[str, Any], most: int
) -> None:
    times = (None, *(float(1000 - count) for count in range(2, 31)))
    request = replace(REQUEST, profile=times[: 9 if changes.get("hosts", "") is None else 30], **changes)
    profile = intake.task(request, SHARED).profile
    assert profile is not None
    assert len(profile.seconds) == most


def test_braces_of_a_workers_own_are_written_twice(intake: TaskValidator) -> None:
    words = ("/w", "{{led}}", "{{lead}}", '{"n":{worker}}')
    task = intake.task(replace(REQUEST, elastic=ElasticRequest(worker=words)), DOMAIN)
    assert task.spec.elastic is not None
    assert not task.spec.elastic.needs_lead
    assert task.as_worker(3, "tcp://h:1").spec.command == ("/w", "{led}", "{lead}", '{"n":3}')


def test_what_must_be_promised_more_places_than_there_are_hosts_is_refused(intake: TaskValidator) -> None:
    with pytest.raises(UserError, match="its fewest places, 3 with its lead's, are promised on different hosts"):
        intake.task(replace(REQUEST, hosts="3-4"), SHARED)


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
        ({"elastic": replace(WORKER, worker=("/w", "--at={led}"))}, DOMAIN, r"has \{led\}: did you mean lead\?"),
        ({"elastic": replace(WORKER, worker=("/w", "{Workers}"))}, DOMAIN, r"has \{Workers\}: did you mean worker\?"),
        ({"launch": LaunchMode.OPENMPI}, DOMAIN, "leave launch, mpi and processes out"),
        ({"processes": 8}, DOMAIN, "leave launch, mpi and processes out"),
        ({"cores": "2-4"}, DOMAIN, "takes the same of each host: give one number of cores"),
        ({"native": NativeDescription("local", {}, "")}, DOMAIN, "describes one job"),
        ({"elastic": RESTART}, replace(DOMAIN, shares_hosts=True), "restarted on others needs whole ones"),
        ({}, replace(DOMAIN, carries_mail=False), "cannot tell cosched an address"),
        ({"elastic": DASK}, replace(DOMAIN, carries_mail=False), "a Dask computation cannot run here"),
        ({"elastic": replace(WORKER, kind="malleable")}, DOMAIN, "write workers or restart"),
        ({"elastic": replace(WORKER, cost=3.0)}, DOMAIN, "are of elastic tasks that are restarted"),
        ({"elastic": replace(WORKER, kind="restart")}, DOMAIN, "has no workers: leave the worker's command out"),
        ({"elastic": replace(RESTART, cost="2d")}, DOMAIN, "give up to 24 h"),
        ({"elastic": replace(RESTART, cost=-1.0)}, DOMAIN, "give up to 24 h|duration"),
        ({"elastic": RESTART}, replace(DOMAIN, carries_mail=False), "cannot be told to checkpoint"),
        ({"elastic": replace(RESTART, grace="soon")}, DOMAIN, "^the grace: 'soon' is not a duration"),
        ({"elastic": replace(RESTART, cost="soon")}, DOMAIN, "^the cost of a restart: 'soon' is not a duration"),
        ({"elastic": RESTART, "profile": None}, DOMAIN, "no number can be promised: give --runtime"),
        ({"elastic": RESTART, "cores": "2-4"}, DOMAIN, "takes the same of each host: give one number of cores"),
    ],
)
def test_what_cannot_be_elastic_is_refused_with_what_would_do(
    intake: TaskValidator, changes: dict[str, Any], domain: DomainState, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        intake.task(replace(REQUEST, **changes), domain)
