"""What no system could carry is refused by name before any connector sees it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import Launch, LaunchMode, NativeDescription
from cosched.connector.launches import (
    check_attempt,
    check_launch,
    launch_from_json,
    launch_to_json,
    process_environment,
    shown_application,
    shown_deadline,
)
from cosched.errors import UserError

GOOD = Launch(
    "12345678-1234-1234-1234-123456789abc",
    "17",
    "sweep3d on a Sunday",
    ("/bin/echo", "$(x)\n", ""),
    hosts=("a", "b"),
    count=2,
    environment={"MINE": "a\nb", "COSCHED_TASK": "99"},
    classes=("x", "y"),
    parameters={"n": 2.0},
)


def test_a_good_launch_passes() -> None:
    check_launch(GOOD)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (replace(GOOD, attempt="17"), "attempt '17' is not a UUID"),
        (replace(GOOD, name="a\nb"), "the task's name"),
        (replace(GOOD, task="$1"), "the task's identifier"),
        (replace(GOOD, command=()), "empty command"),
        (replace(GOOD, command=("a\0b",)), "an argument"),
        (replace(GOOD, environment={"A": "\ud800"}), "the environment variable A"),
        (replace(GOOD, environment={"A=B": ""}), "environment variable 'A=B'"),
        (replace(GOOD, hosts=("a", "a")), "names host a twice"),
        (replace(GOOD, count=1), "1 processes on 2 hosts"),
        (replace(GOOD, hosts=(), count=0), "0 processes"),
        (replace(GOOD, shared=True), "say how many cores"),
        (replace(GOOD, deadline=float("inf")), "has the deadline inf"),
        (replace(GOOD, deadline=float("nan")), "has the deadline nan"),
    ],
)
def test_a_bad_launch_is_named(bad: Launch, words: str) -> None:
    with pytest.raises(UserError) as caught:
        check_launch(bad)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@given(st.uuids())
def test_every_uuid_passes_in_its_usual_form_only(value: object) -> None:
    check_attempt(str(value))
    for other in (f"{{{value}}}", f"urn:uuid:{value}", str(value).replace("-", ""), f" {value}"):
        with pytest.raises(UserError):
            check_attempt(other)


def test_the_place_of_a_process_wins_over_the_users_environment() -> None:
    assert process_environment(GOOD) == {
        "MINE": "a\nb",
        "COSCHED_TASK": "17",
        "COSCHED_ATTEMPT": GOOD.attempt,
        "COSCHED_HOST_COUNT": "2",
        "COSCHED_HOSTS": "a,b",
        "COSCHED_HOST_CLASSES": "x,y",
        "COSCHED_PARAMETER_n": "2",
    }


def test_a_program_is_told_what_was_chosen_for_it_of_each_host() -> None:
    told = process_environment(replace(GOOD, cores=16, processes_per_host=4, launch=LaunchMode.ONCE))
    assert (told["COSCHED_CORES"], told["COSCHED_PROCESSES_PER_HOST"]) == ("16", "4")


@pytest.mark.parametrize("native", [None, NativeDescription("condor", {"request_cpus": "2"}, "")])
def test_a_launch_that_was_written_down_is_the_same_again(native: NativeDescription | None) -> None:
    launch = replace(GOOD, native=native, time_limit=3.5, predicted=None, deadline=1795215376.25, application="jacobi")
    launch = replace(launch, launch=LaunchMode.MPICH, processes_per_host=2)
    again = launch_from_json(launch_to_json(launch))
    assert again == launch
    assert again.launch.once


def test_a_launch_that_was_written_down_before_there_were_deadlines_is_read() -> None:
    fields = json.loads(launch_to_json(GOOD))
    del fields["deadline"], fields["application"]
    assert launch_from_json(json.dumps(fields)) == GOOD


@given(st.floats(0, 1e11))
def test_the_deadline_shown_is_a_whole_second_and_not_later(deadline: float) -> None:
    shown = shown_deadline(replace(GOOD, deadline=deadline))
    assert shown is not None
    assert shown <= deadline < shown + 1
    assert shown_deadline(GOOD) is None


@pytest.mark.parametrize("name", ["", "jacobi", "my solver-2.sh", "größe"])
def test_an_application_is_shown_by_its_name(name: str) -> None:
    assert shown_application(replace(GOOD, application=name)) == name


@pytest.mark.parametrize("name", ["$(id)", 'a"b', "it's", "a\nb", "-x", "a" * 5000, "a\u202eb"])
def test_a_task_is_not_refused_for_the_name_of_its_program(name: str) -> None:
    launch = replace(GOOD, application=name)
    check_launch(launch)
    assert shown_application(launch) == ""
