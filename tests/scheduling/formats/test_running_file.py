from __future__ import annotations

import copy
from typing import Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.elastic.tasks import RunningTask
from cosched.scheduling.formats.problem_file import problem_from_document

QUEUE: dict[str, Any] = {
    "hosts": 4,
    "tasks": [
        {"id": "a", "profile": [40, 20, 14, 10], "elastic": {"least": 2, "most": 3}},
        {"id": "b", "profile": [9]},
        {"id": "c", "profile": [5], "release": 3},
        {"id": "d", "profile": [5], "depends_on": ["b"]},
    ],
}


def running(*items: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {**copy.deepcopy(QUEUE), "running": list(items), **others}


def test_running_tasks_have_hosts_and_a_rest() -> None:
    document = running({"id": "a", "hosts": ["host4", "host2"], "left": 0.4}, {"id": "b", "hosts": ["host1"]})
    assert problem_from_document(document).running == {0: RunningTask((1, 3), 0.4), 1: RunningTask((0,), 1.0)}
    assert problem_from_document(running()).running is None


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"id": "x", "hosts": ["host1"]}], r"running\[0\].id: 'x' is not the id of a task"),
        ([{"id": "b", "hosts": ["n1"]}], r"running\[0\].hosts\[0\]: 'n1' is not the name of a host"),
        ([{"id": "b", "hosts": []}], r"running\[0\].hosts: 0 elements: give 1 to 4"),
        ([{"id": "b"}], r"running\[0\]: hosts is missing: add it"),
        ([{"id": "b", "hosts": ["host1"]}] * 2, r"running\[1\].id: 'b' is there twice: keep one"),
        ([{"id": "a", "hosts": ["host1"] * 2}], r"running\[0\].hosts\[1\]: 'host1' is there twice: give each host"),
        (
            [{"id": "b", "hosts": ["host1"]}, {"id": "a", "hosts": ["host1", "host2"]}],
            r"running\[1\].hosts\[0\]: 'host1' runs 'b': give each host to one task, once",
        ),
        ([{"id": "a", "hosts": ["host1"]}], r"running\[0\].hosts: the task has 1 host, and its elastic says 2 to 3"),
        ([{"id": "b", "hosts": ["host1", "host2"]}], r"running\[0\].hosts: the task has no run time on 2 hosts: give"),
        ([{"id": "b", "hosts": ["host1"], "left": 0}], r"running\[0\].left: 0 is no part of a task: give a number"),
        ([{"id": "b", "hosts": ["host1"], "left": 1.5}], r"running\[0\].left: 1.5 is no part of a task: give a number"),
        ([{"id": "c", "hosts": ["host1"]}], r"running\[0\].id: 'c' runs already: leave out its release and depends_on"),
        ([{"id": "d", "hosts": ["host1"]}], r"running\[0\].id: 'd' runs already: leave out its release and depends_on"),
    ],
)
def test_what_cannot_run_is_refused_with_its_path(items: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UserError, match=f"^{message}"):
        problem_from_document(running(*items))


@pytest.mark.parametrize(
    ("others", "where"),
    [
        ({"reservations": [{"hosts": ["host1"]}]}, "on hosts that come and go or are reserved"),
        ({"hosts": [{"name": "host1", "class": "x", "cores": 4}]}, "on hosts that tasks share"),
        ({"licences": {"l": 1}, "tasks": [{"id": "b", "profile": [9], "licences": {"l": 1}}]}, "beside tasks with"),
        (
            {
                "hosts": [{"name": "host1", "class": "x"}, {"name": "host2", "class": "y"}],
                "tasks": [{"id": "b", "profile": {"x": [9], "y": [8]}}],
            },
            "on hosts of several classes",
        ),
    ],
)
def test_where_running_tasks_are_not_planned_is_said(others: dict[str, Any], where: str) -> None:
    queue = {"tasks": [{"id": "b", "profile": [9], "cores": 1} if "share" in where else {"id": "b", "profile": [9]}]}
    document = running({"id": "b", "hosts": ["host1"]}, **{**queue, **others})
    with pytest.raises(UserError, match=f"^running: tasks that run already are not planned {where}"):
        problem_from_document(document)
