from __future__ import annotations

import math
from typing import Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.problem_file import problem_from_document


def read(elastic: Any, profile: Any = (60, 32, 24, 20), hosts: Any = 3, **more: Any) -> Any:
    return problem_from_document(
        {"hosts": hosts, "tasks": [{"id": "a", "profile": list(profile), "elastic": elastic, **more}]}
    )


def test_an_elastic_task_runs_on_its_least_to_its_most_hosts() -> None:
    problem = read({"least": 2, "most": 8, "cost": 3, "drain": 5})
    (task,) = problem.elastic.values()
    assert (task.least, task.most, task.preferred, task.grow_cost, task.shrink_cost, task.drain) == (2, 3, 2, 3, 3, 5)
    assert problem.seconds[0, 0].tolist() == [math.inf, 32.0, 24.0]


def test_all_of_it_may_be_left_out() -> None:
    (task,) = read({}, profile=(None, 32, 24)).elastic.values()
    assert (task.least, task.most, task.grow_cost, task.drain) == (2, 3, 0, 0)
    assert problem_from_document({"hosts": 2, "tasks": [{"id": "a", "profile": [1], "elastic": None}]}).elastic is None


@pytest.mark.parametrize(
    ("elastic", "message"),
    [
        (7, r"tasks\[0\].elastic: give an object"),
        ({"least": 4}, r"tasks\[0\].elastic.least: 4 is no such number of hosts: give 1 to 3"),
        ({"least": 0}, r"tasks\[0\].elastic.least: 0 is no such number of hosts"),
        ({"least": True}, r"tasks\[0\].elastic.least: True is no such number"),
        ({"least": 2, "most": 1}, r"tasks\[0\].elastic.most: 1 is no such number of hosts: give 2 to 3"),
        ({"preferred": 9}, r"tasks\[0\].elastic.preferred: 9 is no such number of hosts: give 1 to 3"),
        ({"cost": -1}, r"tasks\[0\].elastic.cost: -1 is no time"),
        ({"drain": "5s"}, r"tasks\[0\].elastic.drain: '5s' is no time"),
        ({"share": 1}, r"tasks\[0\].elastic: unknown key 'share': known are cost, drain"),
    ],
)
def test_bad_elements_are_refused_with_their_path(elastic: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(elastic)


def test_a_task_must_run_on_its_least_and_on_some_number_that_there_is() -> None:
    with pytest.raises(UserError, match=r"tasks\[0\].elastic.least: the task has no run time on 1 host:"):
        read({"least": 1}, profile=(None, 32, 24))
    with pytest.raises(UserError, match=r"tasks\[0\].elastic: the task runs on no number of hosts that there is"):
        read({}, profile=(None, None, None, 20))


def test_where_elastic_tasks_are_not_planned_yet_the_file_is_refused() -> None:
    classes = [{"name": "n1", "class": "fast"}, {"name": "n2", "class": "slow"}]
    with pytest.raises(UserError, match="not planned on hosts of several classes yet"):
        problem_from_document(
            {"hosts": classes, "tasks": [{"id": "a", "profile": {"fast": [6, 3], "slow": [8, 4]}, "elastic": {}}]}
        )
    away = [{"name": "n1", "class": "any", "available": [{"from": 5}]}]
    with pytest.raises(UserError, match="not planned on hosts that come and go or are reserved yet"):
        read({}, hosts=away)
    shared = [{"name": "n1", "class": "any", "cores": 4}]
    with pytest.raises(UserError, match="not planned on hosts that tasks share yet"):
        read({}, hosts=shared, cores=2)
