from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.handovers import DocumentParameter, document_of, spec_of
from cosched.coscheduler.task import TaskSpec

SPEC = TaskSpec(
    name="night run",
    application="sweep3d",
    command=("/opt/sweep3d", "50"),
    parameters={"n": 50.0, "mode": "fast"},
    environment={"SIZE": "5"},
    directory="/data",
    deadline=1060.0,
    count=2,
    prepare=("/bin/fetch", "x"),
    native=NativeDescription("slurm", {"constraint": "ib"}, "#!/bin/sh"),
    best_effort=True,
    time_limit=90.0,
)


def test_a_spec_comes_back_from_its_document_where_its_deadline_counts_from_arrival() -> None:
    document = document_of(SPEC, owner="ann", least=2, most=4)
    assert (document.owner, document.least, document.most) == ("ann", 2, 4)
    assert spec_of(replace(document, deadline=60.0), 1000.0) == SPEC


def test_how_a_task_is_launched_travels_where_it_is_not_launched_on_each_host() -> None:
    """A domain that does not know of launching understands all other documents."""
    assert document_of(SPEC, owner="ann", least=2, most=4).launch is None
    parallel = replace(SPEC, native=None, launch=LaunchMode.MPICH, processes_per_host=8)
    document = document_of(parallel, owner="ann", least=2, most=4)
    assert spec_of(replace(document, deadline=60.0), 1000.0) == parallel


def test_model_predecessors_and_notifications_stay_at_home() -> None:
    own = replace(SPEC, model="application a {}", after=("1",), notify=("mailto:ann@example.org",))
    document = document_of(own, owner="ann", least=2, most=4)
    assert document.model is None
    assert spec_of(replace(document, deadline=60.0), 1000.0) == SPEC


def test_a_spec_without_a_deadline_has_an_endless_one_elsewhere() -> None:
    document = document_of(replace(SPEC, deadline=None), owner="ann", least=1, most=0)
    assert document.deadline == math.inf


@pytest.mark.parametrize(("number", "value"), [(True, 50.0), (False, "50")])
def test_a_parameter_is_a_number_where_its_document_says_so(number: bool, value: float | str) -> None:
    document = document_of(SPEC, owner="ann", least=1, most=0)
    parameter = DocumentParameter("n", "50", number=number)
    assert spec_of(replace(document, parameters=(parameter,)), 0.0).parameters == {"n": value}


def test_a_parameter_that_is_called_a_number_and_is_none_stays_text() -> None:
    document = document_of(SPEC, owner="ann", least=1, most=0)
    parameter = DocumentParameter("n", "many", number=True)
    assert spec_of(replace(document, parameters=(parameter,)), 0.0).parameters == {"n": "many"}
