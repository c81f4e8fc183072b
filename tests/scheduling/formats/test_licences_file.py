from __future__ import annotations

from typing import Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.problem_file import problem_from_document

HOSTS = [{"name": "n1", "class": "node", "cores": 8}]


def a_file(*asked: Any, total: Any = None, hosts: Any = 2, **more: Any) -> dict[str, Any]:
    shared = {} if isinstance(hosts, int) else {"cores": 1}
    tasks = [
        {"id": f"t{n}", "profile": [3], **shared, **({} if each is None else {"licences": each})}
        for n, each in enumerate(asked)
    ]
    return {"hosts": hosts, "tasks": tasks, "licences": {"matlab": 4, "ansys": 1} if total is None else total, **more}


@pytest.mark.parametrize("hosts", [2, HOSTS])
def test_what_tasks_ask_for_is_read(hosts: Any) -> None:
    problem = problem_from_document(a_file({"ansys": 1, "matlab": 4}, None, hosts=hosts))
    assert problem.licences is not None
    assert problem.licences.names == ("matlab", "ansys")
    assert problem.licences.total.tolist() == [4, 1]
    assert problem.licences.demand.tolist() == [[4, 1], [0, 0]]


def test_a_file_of_which_no_task_asks_for_any_has_none() -> None:
    assert problem_from_document(a_file(None, {})).licences is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (a_file({"matlab": 5}), r"tasks\[0\].licences.matlab: 5 are more than the 4 that there are"),
        (
            a_file(None, {"spice": 1}),
            r"tasks\[1\].licences.spice: there is no such licence: the file has matlab",
        ),
        (a_file({"matlab": 1}, total={}), r'there is no such licence: give \{"licences": '),
        (a_file({"matlab": 0}), r"tasks\[0\].licences.matlab: 0 is no number of them: give 1 to"),
        (a_file({"matlab": True}), "True is no number of them"),
        (a_file({"matlab": 1.5}), "1.5 is no number of them"),
        (a_file(["matlab"]), r"tasks\[0\].licences: .* are no licences"),
        (a_file(None, total={"mat lab": 1}), "licences: 'mat lab' is no name of a licence"),
        (a_file(None, total=3), "licences: 3 are no licences"),
    ],
)
def test_what_cannot_be_is_refused_with_its_path(document: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        problem_from_document(document)


def test_elastic_tasks_are_not_planned_beside_licences() -> None:
    document = a_file({"matlab": 1}, None)
    document["tasks"][1]["elastic"] = {"least": 1}
    with pytest.raises(UserError, match=r"tasks\[1\].elastic: elastic tasks are not planned beside tasks with"):
        problem_from_document(document)
