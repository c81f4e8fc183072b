from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import Host
from cosched.coscheduler.places.contention import ExpectedContention
from cosched.coscheduler.planning.problem_builder import PlanningAssumptions, run_times
from cosched.coscheduler.task import Task, TaskSpec
from cosched.errors import UserError
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.formats.problem_file import problem_from_document
from cosched.scheduling.formats.tunable_file import tunable_from_document
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.run import Limit

NODES: dict[str, Any] = {
    "hosts": [
        {"name": "n1", "class": "a", "cores": 8, "memory": "16 GiB"},
        {"name": "n2", "class": "a", "cores": 8, "memory": "16 GiB"},
        {"name": "n3", "class": "b", "cores": 4},
    ],
    "tasks": [
        {"id": "part", "profile": [100, 60], "cores": 2},
        {"id": "whole", "profile": {"a": [100]}, "cores": 8},
        {"id": "memory", "profile": {"a": [100]}, "cores": 2, "memory": "16 GiB"},
        {"id": "choice", "shapes": [{"cores": 4, "seconds": 50}, {"cores": 8, "seconds": 30}]},
    ],
}


def changed(*changes: tuple[list[str | int], object]) -> dict[str, Any]:
    document = copy.deepcopy(NODES)
    for path, value in changes:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return document


def seconds(document: dict[str, Any]) -> list[list[float]]:
    """Return the run times of all shapes on each host, alone on its class."""
    problem = problem_from_document(document)
    assert problem.packing is not None
    return [[row[place] for place in problem.host_class.tolist()] for row in problem.packing.seconds.tolist()]


def test_a_task_that_leaves_room_on_its_hosts_runs_longer_there() -> None:
    found = seconds(changed((["contention"], {"a": 1.0})))
    grown = 2**0.75  # others can have three quarters of a host of class a, and double the time of one that is full
    assert found == [
        pytest.approx([100 * grown, 100 * grown, 100]),
        pytest.approx([60 * grown, 60 * grown, 60]),
        [100, 100, math.inf],  # it takes all cores,
        [100, 100, math.inf],  # or all memory: nobody is beside it
        pytest.approx([50 * 2**0.5, 50 * 2**0.5, 50]),
        [30, 30, 30],
    ]


def test_classes_that_are_not_named_have_the_default_and_hosts_their_own() -> None:
    found = seconds(changed((["contention"], {"default": 1.0, "b": 0}), (["hosts", 1, "contention"], 3)))
    assert found[0] == pytest.approx([100 * 2**0.75, 100 * 4**0.75, 100])


def test_what_a_task_says_of_itself_counts_before_its_hosts() -> None:
    stated: tuple[list[str | int], object] = (["contention"], {"default": 1.0})
    found = seconds(changed(stated, (["tasks", 0, "contention"], 0), (["tasks", 3, "contention"], {"b": 0})))
    assert found[0] == [100, 100, 100]
    assert found[4] == pytest.approx([50 * 2**0.5, 50 * 2**0.5, 50])
    assert seconds(changed((["tasks", 0, "contention"], 1.0)))[0] == pytest.approx(
        [100 * 2**0.75, 100 * 2**0.75, 100 * 2**0.5]
    )


def test_hosts_of_one_class_and_two_sizes_leave_unlike_rooms() -> None:
    document = changed((["contention"], {"a": 1.0}), (["hosts", 1, "cores"], 4))
    del document["tasks"][1:]
    problem = problem_from_document(document)
    assert problem.classes == ("a of 8 cores, 16384M, 1", "a of 4 cores, 16384M, 1", "b")
    assert seconds(document)[0] == pytest.approx([100 * 2**0.75, 100 * 2**0.5, 100])


@pytest.mark.parametrize(
    "stated",
    [(), ((["contention"], None),), ((["contention"], {"a": 0, "default": 0}), (["tasks", 0, "contention"], 0.0))],
)
def test_where_nobody_is_slower_the_problem_is_the_very_same(stated: Any) -> None:
    plain, same = problem_from_document(NODES), problem_from_document(changed(*stated))
    assert same.packing is not None
    assert plain.packing is not None
    assert (same.classes, same.tasks, same.hosts) == (plain.classes, plain.tasks, plain.hosts)
    for name in ("host_class", "free", "seconds", "release", "deadline"):
        assert np.array_equal(getattr(same, name), getattr(plain, name))
    assert pickle.dumps(same.packing) == pickle.dumps(plain.packing)


@given(
    slowdown=st.floats(0.01, 3),
    cores=st.integers(1, 16),
    memory=st.sampled_from((0, 1000, 4000, 8000)),
    own=st.none() | st.floats(0, 3),
)
def test_a_file_is_planned_with_the_very_times_of_the_daemon(
    slowdown: float, cores: int, memory: int, own: float | None
) -> None:
    document: dict[str, Any] = {
        "hosts": [{"name": f"n{number}", "class": "a", "cores": 16, "memory": 8000} for number in (1, 2)],
        "contention": {"a": slowdown},
        "tasks": [{"id": "t", "profile": [90, 50], "cores": cores, "memory": memory, "contention": own}],
    }
    problem = problem_from_document(document)
    assert problem.packing is not None
    profile = Profile((90.0, 50.0), PredictionSource.USER)
    spec = TaskSpec("", "", ("/bin/true",), cores=cores, memory=memory or 500 * cores)
    kinds = {"a": Host("n1", "a", memory=8000, cores=16)}
    expected = ExpectedContention(stated={"a": slowdown if own is None else own})
    assumptions = PlanningAssumptions(kinds=kinds, memory_per_core=500, contention=expected)
    times = run_times(Task("t", 1, 0.0, spec, profile=profile), assumptions, ("a",), 2)
    if memory or cores < 16:  # a task of no memory has that of its cores in a daemon
        assert problem.packing.seconds[:, 0].tolist() == times[0].tolist()


def test_plans_choose_shapes_by_what_others_cost_and_last_as_long_as_is_expected() -> None:
    document: dict[str, Any] = {
        "hosts": [{"name": "n1", "class": "a", "cores": 8}],
        "tasks": [{"id": "t", "shapes": [{"cores": 4, "seconds": 50}, {"cores": 8, "seconds": 60}]}],
    }
    for stated, taken, end in ((None, 4, 50.0), ({"a": 1.0}, 8, 60.0)):
        problem = problem_from_document({**document, "contention": stated})
        schedule = plan(problem, PolicyName.HEURISTIC, Limit(1.0), seed=1).schedule
        assert not check_schedule(problem, schedule)
        (only,) = schedule.assignments
        assert (only.taken[0], only.end) == (taken, end)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["contention"], 0.1, r"contention: give an object with a, b, default"),
        (["contention"], {"c": 0.1}, r"contention: unknown key 'c': known are a, b, default"),
        (["contention"], {"a": -0.1}, r"contention.a: -0.1 is no slowdown on a host that others fill: give 0.08 for"),
        (["contention"], {"a": True}, r"contention.a: True is no slowdown"),
        (["hosts", 1, "contention"], "8 %", r"hosts\[1\].contention: '8 %' is no slowdown"),
        (["hosts", 2, "contention"], 3.1, r"hosts\[2\].contention: 3.1 is no slowdown .* at most 3"),
        (["tasks", 3, "contention"], float("nan"), r"tasks\[3\].contention: nan is no slowdown"),
        (["tasks", 0, "contention"], {"c": 1}, r"tasks\[0\].contention: unknown key 'c': known are a, b"),
        (["tasks", 0, "contention"], {"b": [1]}, r"tasks\[0\].contention.b: '\[1\]'|tasks\[0\].contention.b: \[1\]"),
    ],
)
def test_a_bad_statement_is_refused_with_its_place(path: list[str | int], value: object, said: str) -> None:
    with pytest.raises(UserError, match=rf"^{said}"):
        problem_from_document(changed((path, value)))


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"hosts": 2, "contention": {"default": 0.1}, "tasks": [{"id": "t", "profile": [1]}]}, "contention"),
        ({"hosts": 2, "tasks": [{"id": "t", "profile": [1], "contention": 0.1}]}, r"tasks\[0\].contention"),
        (
            {"hosts": [{"name": "n", "class": "a", "contention": 0.1}], "tasks": [{"id": "t", "profile": [1]}]},
            r"hosts\[0\].contention",
        ),
    ],
)
def test_where_nobody_shares_hosts_nobody_is_beside_anybody(document: dict[str, Any], place: str) -> None:
    with pytest.raises(UserError, match=rf"^{place}: each task has its hosts for itself"):
        problem_from_document(document)


def test_tunable_tasks_have_their_hosts_for_themselves() -> None:
    hosts = [{"name": "n", "class": "a", "contention": 0.1}]
    with pytest.raises(UserError, match=r"^hosts\[0\].contention: each task has its hosts for itself"):
        tunable_from_document({"hosts": hosts, "tasks": [{"id": "t", "path": [{"hosts": 1, "seconds": 2}]}]})


def test_hosts_of_very_many_sizes_are_refused() -> None:
    hosts = [{"name": f"n{cores}", "class": "a", "cores": cores} for cores in range(1, 80)]
    task = {"id": "t", "profile": [1], "cores": 1}
    with pytest.raises(UserError, match=r"^contention: the hosts are of 79 classes and sizes"):
        problem_from_document({"hosts": hosts, "tasks": [task], "contention": {"a": 0.5}})
    assert problem_from_document({"hosts": hosts, "tasks": [task]}).classes == ("a",)
