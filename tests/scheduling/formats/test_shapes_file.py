from __future__ import annotations

import copy
from typing import Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.problem_file import problem_from_document

GOOD: dict[str, Any] = {
    "hosts": [
        {"name": "n1", "class": "a", "cores": 8, "memory": "16 GiB", "gpus": 1},
        {"name": "n2", "class": "b", "cores": 4, "memory": 8192},
    ],
    "tasks": [
        {"id": "t1", "profile": [10, 6], "cores": 4, "memory": "4G"},
        {"id": "t2", "shapes": [{"cores": 8, "gpus": 1, "seconds": {"a": 9}}, {"hosts": 2, "cores": 2, "seconds": 7}]},
    ],
}


def test_hosts_and_tasks_are_read_with_what_they_have_and_take() -> None:
    problem = problem_from_document(GOOD)
    packing = problem.packing
    assert packing is not None
    assert packing.capacity.tolist() == [[8, 16384, 1], [4, 8192, 0]]
    assert packing.first.tolist() == [0, 2, 4]
    assert packing.hosts.tolist() == [1, 2, 1, 2]
    assert packing.demand.tolist() == [[4, 4096, 0], [4, 4096, 0], [8, 0, 1], [2, 0, 0]]
    assert packing.seconds.tolist() == [[10.0, 10.0], [6.0, 6.0], [9.0, float("inf")], [7.0, 7.0]]
    assert problem.seconds[:, :, 0].tolist() == [[10.0, 9.0], [10.0, float("inf")]]


def _changed(path: list[str | int], value: object) -> dict[str, Any]:
    document = copy.deepcopy(GOOD)
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            ["hosts", 1, "cores"],
            None,
            r"hosts\[1\]: cores is missing: other hosts are shared, so say how many each has",
        ),
        (["hosts", 0, "cores"], 0, r"hosts\[0\].cores: 0 is no number of them: give 1 to"),
        (["hosts", 0, "memory"], "much", r"hosts\[0\].memory: the memory is 'much': write 4G, 512M"),
        (["hosts", 0, "memory"], [1], r"hosts\[0\].memory: the memory is '\[1\]'"),
        (["hosts", 0, "gpus"], 1.5, r"hosts\[0\].gpus: 1.5 is no number"),
        (["tasks", 0, "cores"], None, r"tasks\[0\]: cores is missing: hosts are shared, so say how many it takes"),
        (["tasks", 0, "cores"], True, r"tasks\[0\].cores: True is no number"),
        (
            ["tasks", 0, "cores"],
            9,
            r"tasks\[0\]: no host has 9 cores: ask for less \(the most that any host has: 8 cores, 16G of memory, ",
        ),
        (["tasks", 0, "profile"], [None, None, 4], r"tasks\[0\].profile: none of its host counts can be used on"),
        (["tasks", 0, "memory"], "300G", r"tasks\[0\]: no host has 300G of memory: ask for less"),
        (["tasks", 0, "gpus"], 99, r"tasks\[0\]: no host has 99 gpus: ask for less"),
        (["tasks", 1, "profile"], [1], r"tasks\[1\]: profile and shapes are both there: keep one"),
        (["tasks", 1, "shapes"], [], r"tasks\[1\].shapes: 0 elements"),
        (["tasks", 1, "shapes", 0, "hosts"], 3, r"tasks\[1\].shapes\[0\].hosts: 3 is no number of them: give 1 to 2"),
        (["tasks", 1, "shapes", 0, "seconds"], {"c": 1}, r"tasks\[1\].shapes\[0\].seconds.'c': no host has this class"),
        (["tasks", 1, "shapes", 0, "nodes"], 3, r"tasks\[1\].shapes\[0\]: unknown key 'nodes'"),
        (["tasks", 0, "nodes"], 3, r"tasks\[0\]: unknown key 'nodes'"),
    ],
)
def test_what_is_wrong_is_named(path: list[str | int], value: object, said: str) -> None:
    with pytest.raises(UserError, match=said):
        problem_from_document(_changed(path, value))


def test_the_last_task_must_run_on_a_number_of_hosts_that_there_is_as_any_other() -> None:
    last = {"id": "t3", "profile": [None], "cores": 1}
    with pytest.raises(UserError, match=r"tasks\[2\].profile: none of its host counts can be used on these 2 hosts"):
        problem_from_document({**GOOD, "tasks": [*GOOD["tasks"], last]})


def test_tasks_take_nothing_of_hosts_that_are_not_shared() -> None:
    with pytest.raises(UserError, match=r"tasks\[0\]: unknown key 'cores': known are"):
        problem_from_document({"hosts": 2, "tasks": [{"id": "a", "profile": [1], "cores": 2}]})
