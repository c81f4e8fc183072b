from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.api.documents import TaskChange, TaskRequest
from cosched.api.problems import NotFoundError
from cosched.app.submission.resubmission import requests_again
from cosched.app.submission.similar_requests import request_like_task
from cosched.connector.values import NativeDescription
from tests.daemon.makers import daemon
from tests.documents import NOW, detail, profile

if TYPE_CHECKING:
    from pathlib import Path

HALVING = TaskRequest(application="halving", parameters={"work": 40.0})
ANN, BOB = Principal("ann", Role.USER), Principal("bob", Role.USER)


def test_a_task_like_another_is_made_from_all_of_it() -> None:
    native = NativeDescription("slurm", {"mem": "2G"}, "#!/bin/sh\n")
    task = detail(command=("/job.sh",), native=native, environment={"A": "1"}, deadline=NOW, count=3, prepare=("/p",))
    again = request_like_task(task, NOW, catalogued=False)
    assert again == TaskRequest(
        command=("/job.sh",),
        native=native,
        environment={"A": "1"},
        deadline=NOW + 100,
        hosts=3,
        name="night",
        prepare=("/p",),
    )
    predicted = detail(application="jacobi", parameters={"Scale": 2.0}, profile=profile((4.0, 2.0), "model"))
    assert request_like_task(predicted, NOW, catalogued=True) == TaskRequest(
        application="jacobi", parameters={"Scale": 2.0}, name="night"
    )


def test_a_predicted_task_once_more_keeps_the_only_number_of_hosts_that_its_user_allowed() -> None:
    """Regression: `--hosts 3` of an application with a model was lost, and the next one ran on any number."""
    predicted = detail(application="jacobi", profile=profile((None, None, 2.0), "model"))
    assert request_like_task(predicted, NOW, catalogued=True).hosts == 3
    tries = detail(application="jacobi", profile=replace(profile((None, None, 2.0), "model"), explores=True))
    assert request_like_task(tries, NOW, catalogued=True).hosts is None
    own = detail(command=("/bin/true",), profile=profile((None, None, 2.0), "user"))
    again = request_like_task(own, NOW, catalogued=False)
    assert (again.hosts, again.profile) == (None, (None, None, 2.0))


@pytest.mark.parametrize("request_", [HALVING, TaskRequest(command=("/bin/true",))])
def test_a_task_once_more_may_have_the_hosts_that_its_user_asked_for(tmp_path: Path, request_: TaskRequest) -> None:
    """Regression: of `--hosts 2-3` a model's task forgot all, and a command without a prediction all but the 2."""
    with daemon(tmp_path) as here:
        submit, edit = here.services.submissions.submit, here.services.tasks.edit
        (first,) = submit(ANN, [replace(request_, hosts="2-3", begin="now+1h")], "", "")
        (again,) = requests_again(here.services, ANN, [first.id])
        assert again.hosts == "2-3"
        (second,) = submit(ANN, [again], "", "")
        assert requests_again(here.services, ANN, [second.id])[0].hosts == "2-3"
        edit(ANN, first.id, TaskChange(hosts=3))
        assert requests_again(here.services, ANN, [first.id])[0].hosts == 3
        edit(ANN, first.id, TaskChange(name="other"))
        assert requests_again(here.services, ANN, [first.id])[0].hosts == 3
        edit(ANN, first.id, TaskChange(hosts="1-2", runtime="1:60s,2:30s"))
        (own,) = requests_again(here.services, ANN, [first.id])
        assert (own.hosts, own.profile) == (None, (60.0, 30.0))


@pytest.mark.parametrize(("begin", "kept"), [(NOW + 60, NOW + 60), (NOW - 60, None), (None, None)])
def test_a_task_once_more_waits_for_a_begin_that_is_still_to_come(begin: float | None, kept: float | None) -> None:
    assert request_like_task(detail(begin=begin), NOW, catalogued=False).begin == kept


def test_a_task_is_submitted_once_more_with_other_values_once_under_a_key(tmp_path: Path) -> None:
    with daemon(tmp_path) as here:
        request = TaskRequest(application="halving", parameters={"work": 40.0}, deadline="now+1h", name="night")
        (first,) = here.services.submissions.submit(ANN, [request], "", "")
        submit = here.services.submissions.submit
        (same,) = submit(ANN, requests_again(here.services, ANN, [first.id]), "", "")
        assert (same.name, same.application) == ("night", "halving")
        assert same.deadline is not None
        assert first.deadline is not None
        assert same.deadline - same.submitted == pytest.approx(first.deadline - first.submitted, abs=5.0)
        change = TaskChange(deadline="none", name="day", best_effort=True)
        (other,) = submit(ANN, requests_again(here.services, ANN, [first.id], change), "key", "digest")
        assert (other.name, other.deadline, other.best_effort) == ("day", None, True)
        (under_key,) = submit(ANN, requests_again(here.services, ANN, [first.id], change), "key", "digest")
        assert under_key.id == other.id
        with pytest.raises(NotFoundError, match="there is no task"):
            requests_again(here.services, BOB, [first.id])
