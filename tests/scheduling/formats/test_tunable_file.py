from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.formats.tunable_file import is_tunable, tunable_from_document

STAGE = {"hosts": 1, "seconds": 2}


def document(path: object, **task: Any) -> dict[str, Any]:
    return {"hosts": 4, "tasks": [{"id": "t", "path": path, **task}]}


def test_the_junction_detection_of_the_paper() -> None:
    """Fig. 4: a coarser first step is paid for in the last; the step between depends on the first one's choice."""
    fine = [
        {"name": "sample", "hosts": 4, "seconds": 8, "deadline": 10},
        {"hosts": 2, "seconds": 1, "deadline": 60},
        {"hosts": 4, "seconds": 76, "deadline": 100},
    ]
    coarse = [
        {"hosts": 4, "seconds": 2, "deadline": 10},
        {"hosts": 2, "seconds": 1, "deadline": 60},
        {"hosts": 6, "seconds": 81, "deadline": 100},
    ]
    queue = tunable_from_document({"hosts": 8, "tasks": [{"id": "junctions", "path": [{"any": [fine, coarse]}]}]})
    assert queue.hosts[0] == "host1"
    first, second = queue.tasks[0].chains
    assert [stage.seconds for stage in first.stages] == [8.0, 1.0, 76.0]
    assert [stage.hosts for stage in second.stages] == [4, 2, 6]
    assert first.stages[0].name == "sample"


def test_what_is_left_out_is_no_deadline_full_quality_and_there_at_once() -> None:
    (task,) = tunable_from_document(document([STAGE])).tasks
    assert task.release == 0.0
    assert task.chains[0].stages[0].deadline == math.inf
    assert task.chains[0].quality == 1.0


def test_a_queue_is_tunable_by_its_first_task() -> None:
    assert is_tunable(document([STAGE]))
    assert is_tunable({"hosts": 1, "tasks": [{"id": "a", "application": "junctions"}]})
    assert not is_tunable({"hosts": 1, "tasks": [{"id": "a", "profile": [1]}]})
    assert not is_tunable({"tasks": []})
    assert not is_tunable([])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (document([]), "tasks[0].path: 0 elements"),
        (document([{"hosts": 5, "seconds": 1}]), "tasks[0].path[0].hosts: 5 hosts: give 1 to 4"),
        (document([{"hosts": True, "seconds": 1}]), "tasks[0].path[0].hosts: True hosts"),
        (document([{"hosts": 1, "seconds": 0}]), "tasks[0].path[0].seconds: 0 is no time"),
        (document([{"hosts": 1}]), "tasks[0].path[0]: seconds is missing"),
        (document([{**STAGE, "quality": 0}]), "tasks[0].path[0].quality: 0 is no quality"),
        (document([{**STAGE, "quality": 1e9}] * 40), "the product inf: give such as have 1e-300 to 1e+100"),
        (document([{**STAGE, "quality": 1e-9}] * 40), "the product 0: give such as have 1e-300 to 1e+100"),
        (document([{**STAGE, "deadline": -1}]), "tasks[0].path[0].deadline: -1 is no time"),
        (document([{"any": []}]), "tasks[0].path[0].any: 0 elements"),
        (document([{"any": [[STAGE], [{"hosts": 9, "seconds": 1}]]}]), "tasks[0].path[0].any[1][0].hosts: 9 hosts"),
        (document([{"any": [[STAGE]], "hosts": 1}]), "tasks[0].path[0]: unknown key 'hosts'"),
        (document([{"any": [[STAGE], [STAGE]]}] * 10), "tasks[0].path: there are more than 1000 ways"),
        (document([STAGE], profile=[1]), "tasks[0]: unknown key 'profile'"),
        ({"hosts": 1, "tasks": [{"id": "t", "path": [STAGE]}] * 2}, "tasks[1].id: 't' is also tasks[0].id"),
        (
            {"hosts": [{"name": "a", "class": "x"}, {"name": "b", "class": "y"}], "tasks": [{"id": "t", "path": []}]},
            "hosts: tunable tasks need hosts of one class, there are 2",
        ),
    ],
)
def test_a_bad_element_is_refused_with_its_path(bad: object, message: str) -> None:
    with pytest.raises(UserError) as caught:
        tunable_from_document(bad)
    assert message in str(caught.value)


def test_choices_without_end_are_refused() -> None:
    path: list[Any] = [STAGE]
    for _ in range(30):
        path = [{"any": [path]}]
    with pytest.raises(UserError, match="more than 20 deep"):
        tunable_from_document(document(path))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["any", "hosts", "seconds", "path", "id", "tasks", "quality"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(values)
def test_anything_at_all_is_read_or_refused(path: object) -> None:
    try:
        chains: tuple[object, ...] | None = tunable_from_document(document(path)).tasks[0].chains
    except UserError:
        chains = None
    assert chains is None or chains
