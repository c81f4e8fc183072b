from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.availability import Unavailability
from cosched.scheduling.formats.input_file import read_json
from cosched.scheduling.formats.problem_file import MOST_TASKS, problem_from_document


def a_document(**changes: Any) -> dict[str, Any]:
    task = {"id": "a", "profile": [4, None, 2.5, 9], "deadline": 30, "release": 1, "depends_on": ["b"]}
    return {"hosts": 3, "tasks": [{**task, **changes}, {"id": "b", "profile": [1]}]}


def refusal(document: Any) -> str:
    with pytest.raises(UserError) as caught:
        problem_from_document(read_json(document if isinstance(document, str) else json.dumps(document)))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_keys_are_read() -> None:
    problem = problem_from_document(a_document())
    assert problem.tasks == ("a", "b")
    assert problem.hosts == ("host1", "host2", "host3")
    assert problem.seconds[0].tolist() == [[4.0, math.inf, 2.5], [1.0, math.inf, math.inf]]
    assert problem.deadline.tolist() == [30.0, math.inf]
    assert problem.release.tolist() == [1.0, 0.0]
    assert problem.depends_on == ((1,), ())


def test_classes_have_profiles_of_their_own() -> None:
    hosts = [{"name": "n1", "class": "slow"}, {"name": "n2", "class": "fast"}, {"name": "n3", "class": "slow"}]
    tasks = [{"id": "a", "profile": {"fast": [2]}}, {"id": "b", "profile": [5, 3]}]
    problem = problem_from_document({"hosts": hosts, "tasks": tasks})
    assert problem.classes == ("slow", "fast")
    assert problem.host_class.tolist() == [0, 1, 0]
    assert problem.seconds[:, 0, 0].tolist() == [math.inf, 2.0]
    assert problem.seconds[:, 1, :2].tolist() == [[5.0, 3.0], [5.0, 3.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"profile": [4, 0]}, "tasks[0].profile[1]: 0 is no time"),
        ({"profile": [-1]}, "tasks[0].profile[0]: -1 is no time"),
        ({"profile": [math.nan]}, "tasks[0].profile[0]: nan is no time"),
        ({"profile": [1, math.inf]}, "tasks[0].profile[1]: inf is no time"),
        ({"profile": [-0.0]}, "tasks[0].profile[0]: -0.0 is no time"),
        ({"profile": [1e308]}, "tasks[0].profile[0]: 1e+308 is no time"),
        ({"profile": [10**400]}, "tasks[0].profile[0]: 1000"),
        ({"profile": [True]}, "tasks[0].profile[0]: True is no time"),
        ({"profile": ["4"]}, "tasks[0].profile[0]: '4' is no time"),
        ({"profile": []}, "tasks[0].profile: 0 elements"),
        ({"profile": 4}, "tasks[0].profile: give a list"),
        ({"profile": [None, None]}, "tasks[0].profile: none of its host counts can be used on these 3 hosts"),
        ({"profile": [None, None, None, 3]}, "tasks[0].profile: none of its host counts"),
        ({"profile": {}}, "tasks[0].profile: no class is given"),
        ({"profile": {"gpu": [1]}}, "tasks[0].profile.'gpu': no host has this class: the classes are default"),
        ({"profile": {"default": [1, 0]}}, "tasks[0].profile.default[1]: 0 is no time"),
        ({"deadline": 0}, "tasks[0].deadline: 0 is no time"),
        ({"deadline": "now"}, "tasks[0].deadline: 'now' is no time"),
        ({"release": -1}, "tasks[0].release: -1 is no time"),
        ({"waited": "long"}, "tasks[0].waited: "),
        ({"depends_on": ["zz"]}, "tasks[0].depends_on[0]: 'zz' is not the id of a task"),
        ({"depends_on": ["b", "b"]}, "tasks[0].depends_on[1]: 'b' is there twice"),
        ({"depends_on": ["a"]}, "tasks[0].depends_on[0]: the task depends on itself"),
        ({"depends_on": [[]]}, "tasks[0].depends_on[0]: [] is not the id"),
        ({"depends_on": "b"}, "tasks[0].depends_on: give a list"),
        ({"id": "b"}, "tasks[1].id: 'b' is also tasks[0].id"),
        ({"id": ""}, "tasks[0].id: '' is no name"),
        ({"id": 7}, "tasks[0].id: 7 is no name"),
        ({"id": "x\n#SBATCH"}, "tasks[0].id: 'x\\n#SBATCH' is no name"),
        ({"id": "\u202etxt"}, "tasks[0].id: '\\u202etxt' is no name"),
        ({"id": "\ud800"}, "tasks[0].id: '\\ud800' is no name"),
        ({"walltime": 4}, "tasks[0]: unknown key 'walltime'"),
    ],
)
def test_a_bad_task_is_refused_with_its_path(changes: dict[str, Any], message: str) -> None:
    assert refusal(a_document(**changes)).startswith(message)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"hosts": 0, "tasks": []}, "hosts: 0 hosts"),
        ({"hosts": 10**9, "tasks": []}, "hosts: 1000000000 hosts"),
        ({"hosts": True, "tasks": []}, "hosts: give a number"),
        ({"hosts": [], "tasks": []}, "hosts: 0 elements"),
        ({"hosts": [3], "tasks": []}, "hosts[0]: give an object"),
        ({"hosts": [{"name": "n"}], "tasks": []}, "hosts[0]: class is missing"),
        ({"hosts": [{"name": "n", "class": "c"}] * 2, "tasks": []}, "hosts[1].name: 'n' is there twice"),
        ({"hosts": 2, "tasks": []}, "tasks: 0 elements"),
        ({"hosts": 2, "tasks": [4]}, "tasks[0]: give an object"),
        ({"hosts": 2, "tasks": [{"id": "a"}]}, "tasks[0]: profile is missing"),
        ({"hosts": 2}, "tasks is missing"),
        ({"hosts": 2, "tasks": [], "policy": "edf"}, "unknown key 'policy'"),
        ({"hosts": 4096, "tasks": [{"id": "a", "profile": [1]}] * 20_000}, "tasks: 20000 tasks x 4096 hosts"),
        ("[]", "give an object"),
        ('{"hosts": 2,\n "tasks": }', "line 2, column 11: not JSON"),
        ('{"hosts": 2, "hosts": 3}', "the key 'hosts' is there twice"),
        ('{"hosts": ' + "[" * 100_000, "not a problem: it is nested too deeply"),
        ('{"hosts": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_bad_document_is_refused_with_the_path(document: Any, message: str) -> None:
    assert refusal(document).startswith(message)


@pytest.mark.parametrize("key", ["deadline", "release", "waited", "depends_on"])
def test_null_is_as_good_as_leaving_out(key: str) -> None:
    """A deadline could be null, a release or a list of predecessors was "None": "is no time"."""
    document = {"hosts": 2, "reservations": None, "tasks": [{"id": "a", "profile": [1.0], key: None}]}
    problem = problem_from_document(document)
    assert (problem.release.tolist(), problem.deadline.tolist(), problem.depends_on) == ([0.0], [math.inf], ())


def test_hosts_that_leave_for_good_are_not_counted_where_nothing_can_run() -> None:
    """All hosts were named as those that do not leave."""
    hosts: list[dict[str, Any]] = [{"name": "a", "class": "c"}]
    hosts += [{"name": name, "class": "c", "available": [{"until": 5}]} for name in "bc"]
    message = refusal({"hosts": hosts, "tasks": [{"id": "a", "profile": [None, 1.0]}]})
    assert message.startswith("tasks[0].profile: none of its host counts can be used on these 1 hosts that stay or")


def test_tasks_that_wait_for_each_other_are_named() -> None:
    tasks = [
        {"id": name, "profile": [1], "depends_on": before}
        for name, before in [("a", []), ("b", ["a", "d"]), ("c", ["b"]), ("d", ["c"]), ("e", ["d"])]
    ]
    message = refusal({"hosts": 1, "tasks": tasks})
    assert message == "tasks[1].depends_on: tasks wait for each other: tasks[1] → tasks[3] → tasks[2] → tasks[1]"


def test_a_long_cycle_is_named_in_a_line_that_can_be_read() -> None:
    count = MOST_TASKS
    tasks = [{"id": f"t{task}", "profile": [1], "depends_on": [f"t{(task + 1) % count}"]} for task in range(count)]
    message = refusal({"hosts": 1, "tasks": tasks})
    assert message.endswith(f"tasks[8] → … {count - 9} more … → tasks[0]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["id", "profile", "deadline", "release", "waited", "depends_on"]), JSON)
@example("profile", {"default": [None]})
def test_whatever_stands_in_a_task_is_read_or_refused(key: str, value: Any) -> None:
    document = a_document(**{key: value})
    try:
        problem = problem_from_document(document)
    except UserError:
        assert "tasks[" in refusal(document)
    else:
        assert np.isfinite(problem.seconds).any(axis=(0, 2)).all()


def uncertain(**changes: Any) -> dict[str, Any]:
    times: dict[str, Any] = {"low": [2, None, 1], "expected": [4, None, 2], "high": [16, None, 8], **changes}
    return a_document(profile=times)


@pytest.mark.parametrize(("quantile", "seconds"), [(0.05, 2.0), (0.5, 4.0), (0.95, 16.0)])
def test_uncertain_times_are_taken_at_the_wanted_quantile(quantile: float, seconds: float) -> None:
    problem = problem_from_document(uncertain(), quantile)
    assert problem.seconds[0, 0].tolist() == pytest.approx([seconds, math.inf, seconds / 2])
    assert problem.seconds[0, 1, 0] == 1.0


def test_uncertain_times_may_be_given_for_a_class() -> None:
    hosts = [{"name": "n", "class": "fast"}]
    times = {"fast": {"low": [1], "expected": [2], "high": [3]}}
    assert problem_from_document({"hosts": hosts, "tasks": [{"id": "a", "profile": times}]}).seconds[0, 0, 0] == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": [2, 1]}, r"tasks\[0\]\.profile: .*another number"),
        ({"high": [3, None, 8]}, r"tasks\[0\]\.profile: the prediction for 1 host .* must ascend"),
        ({"high": [16, None, -1]}, r"tasks\[0\]\.profile\.high\[2\]: -1 is no time"),
        ({"most": [1]}, r"tasks\[0\]\.profile: unknown key 'most'"),
    ],
)
def test_impossible_ranges_are_refused(changes: dict[str, Any], message: str) -> None:
    assert re.match(message, refusal(uncertain(**changes)))


def a_host_document(available: Any = None, reservations: Any = None, hosts: int = 2) -> dict[str, Any]:
    listed = [{"name": f"n{number}", "class": "c"} for number in range(hosts)]
    if available is not None:
        listed[0]["available"] = available
    document: dict[str, Any] = {"hosts": listed, "tasks": [{"id": "a", "profile": [5, 3]}]}
    return document if reservations is None else document | {"reservations": reservations}


def test_windows_are_read_as_the_times_between_them() -> None:
    windows = [{"from": 2, "until": 10}, {"from": 12.5, "until": 20}]
    problem = problem_from_document(a_host_document(windows))
    assert problem.free.tolist() == [2.0, 0.0]
    assert problem.unavailability == (Unavailability(0, 10.0, 12.5), Unavailability(0, 20.0, math.inf))
    assert problem_from_document(a_host_document([{}])).unavailability == ()
    assert problem_from_document(a_host_document([{"from": 3}])).free.tolist() == [3.0, 0.0]


def test_reservations_keep_hosts_for_others() -> None:
    reservations = [{"hosts": ["n1", "n0"], "from": 5, "until": 9, "name": "course"}, {"hosts": ["n1"], "until": 6}]
    problem = problem_from_document(a_host_document(None, reservations))
    assert problem.free.tolist() == [0.0, 9.0]
    assert problem.unavailability == (Unavailability(0, 5.0, 9.0),)
    reserved = [{"hosts": ["host07"], "from": 1, "until": 2}]
    numbered = problem_from_document({"hosts": 10, "reservations": reserved, "tasks": [{"id": "a", "profile": [5]}]})
    assert numbered.unavailability == (Unavailability(6, 1.0, 2.0),)


@pytest.mark.parametrize(
    ("available", "message"),
    [
        ([], "hosts[0].available: 0 elements"),
        (7, "hosts[0].available: give a list"),
        ([7], "hosts[0].available[0]: give an object"),
        ([{"from": -1}], "hosts[0].available[0].from: -1 is no time"),
        ([{"from": 3, "until": 3}], "hosts[0].available[0].until: 3 s is not after 3 s"),
        ([{"until": 5}, {"from": 5, "until": 9}], "hosts[0].available[1].from: 5 s is not after"),
        ([{}, {"from": 5}], "hosts[0].available[1].from: 5 s is not after the window before it ends, inf s"),
        ([{"to": 5}], "hosts[0].available[0]: unknown key 'to'"),
    ],
)
def test_bad_windows_are_refused_with_their_path(available: Any, message: str) -> None:
    assert refusal(a_host_document(available)).startswith(message)


@pytest.mark.parametrize(
    ("reservations", "message"),
    [
        ({"hosts": ["n0"]}, "reservations: give a list"),
        ([{}], "reservations[0]: hosts is missing"),
        ([{"hosts": []}], "reservations[0].hosts: 0 elements"),
        ([{"hosts": ["n0", "n7"]}], "reservations[0].hosts[1]: 'n7' is not the name of a host"),
        ([{"hosts": ["n0"], "from": 4, "until": 2}], "reservations[0].until: 2 s is not after 4 s"),
        ([{"hosts": ["n0"], "name": 3}], "reservations[0].name: 3 is no name"),
        ([{"hosts": ["n0", "n1"]}], "tasks[0].profile: none of its host counts can be used on these 0 hosts that stay"),
    ],
)
def test_bad_reservations_are_refused_with_their_path(reservations: Any, message: str) -> None:
    assert refusal(a_host_document(None, reservations)).startswith(message)


@given(JSON, JSON, st.booleans())
def test_whatever_stands_there_is_read_or_refused(available: Any, reservations: Any, inside: bool) -> None:
    document = a_host_document([available] if inside else available, [reservations] if inside else reservations)
    try:
        problem = problem_from_document(document)
    except UserError:
        assert refusal(document)
    else:
        assert all(period.begin < period.end for period in problem.unavailability)
        assert np.isfinite(problem.free).any()


def test_a_file_says_how_long_tasks_have_waited() -> None:
    tasks: list[dict[str, object]] = [{"id": "a", "profile": [4], "waited": 60}, {"id": "b", "profile": [4]}]
    told = problem_from_document({"hosts": 1, "tasks": tasks}).waited
    assert told is not None
    assert told.tolist() == [60.0, 0.0]
    assert problem_from_document({"hosts": 1, "tasks": tasks[1:]}).waited is None
