from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.availability import Unavailability
from cosched.scheduling.formats.problem_file import problem_from_document
from tests.scheduling.formats.test_problem_file import JSON, refusal


def a_document(available: Any = None, reservations: Any = None, hosts: int = 2) -> dict[str, Any]:
    listed = [{"name": f"n{number}", "class": "c"} for number in range(hosts)]
    if available is not None:
        listed[0]["available"] = available
    document: dict[str, Any] = {"hosts": listed, "tasks": [{"id": "a", "profile": [5, 3]}]}
    return document if reservations is None else document | {"reservations": reservations}


def test_windows_are_read_as_the_times_between_them() -> None:
    windows = [{"from": 2, "until": 10}, {"from": 12.5, "until": 20}]
    problem = problem_from_document(a_document(windows))
    assert problem.free.tolist() == [2.0, 0.0]
    assert problem.absences == (Unavailability(0, 10.0, 12.5), Unavailability(0, 20.0, math.inf))
    assert problem_from_document(a_document([{}])).absences == ()
    assert problem_from_document(a_document([{"from": 3}])).free.tolist() == [3.0, 0.0]


def test_reservations_keep_hosts_for_others() -> None:
    reservations = [{"hosts": ["n1", "n0"], "from": 5, "until": 9, "name": "course"}, {"hosts": ["n1"], "until": 6}]
    problem = problem_from_document(a_document(None, reservations))
    assert problem.free.tolist() == [0.0, 9.0]
    assert problem.absences == (Unavailability(0, 5.0, 9.0),)
    reserved = [{"hosts": ["host07"], "from": 1, "until": 2}]
    numbered = problem_from_document({"hosts": 10, "reservations": reserved, "tasks": [{"id": "a", "profile": [5]}]})
    assert numbered.absences == (Unavailability(6, 1.0, 2.0),)


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
    assert refusal(a_document(available)).startswith(message)


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
    assert refusal(a_document(None, reservations)).startswith(message)


@given(JSON, JSON, st.booleans())
def test_whatever_stands_there_is_read_or_refused(available: Any, reservations: Any, inside: bool) -> None:
    document = a_document([available] if inside else available, [reservations] if inside else reservations)
    try:
        problem = problem_from_document(document)
    except UserError:
        assert refusal(document)
    else:
        assert all(absence.begin < absence.end for absence in problem.absences)
        assert np.isfinite(problem.free).any()
