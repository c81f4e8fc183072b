from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import TaskRequest
from cosched.api.sweeps import MOST_SWEPT, swept
from cosched.errors import UserError


def test_an_application_gets_each_combination_the_last_parameter_changing_first() -> None:
    request = TaskRequest(application="heat", parameters={"steps": 5.0}, name="night")
    found = swept(request, ["n=100..300 step 100", "k=1,2"])
    assert [task.parameters for task in found][:3] == [
        {"steps": 5.0, "n": 100.0, "k": 1.0},
        {"steps": 5.0, "n": 100.0, "k": 2.0},
        {"steps": 5.0, "n": 200.0, "k": 1.0},
    ]
    assert [task.name for task in found][-1] == "night n=300 k=2"
    assert len(found) == 6


def test_a_command_has_the_values_where_it_names_them() -> None:
    found = swept(TaskRequest(command=("./heat", "--size={n}", "{n}.out")), ["n=1..4:*2"])
    assert [task.command for task in found] == [("./heat", f"--size={n}", f"{n}.out") for n in (1, 2, 4)]
    assert [task.name for task in found] == ["heat n=1", "heat n=2", "heat n=4"]
    assert all(task.parameters == {} for task in found)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("{{n}}", "{n}"),
        ("{{m}}", "{m}"),
        ('{"size":{n}}', '{"size":7}'),
        ("${HOME}/${n}", "${HOME}/$7"),
        ("{print $1} {} {1}", "{print $1} {} {1}"),
    ],
)
def test_braces_of_the_commands_own_are_written_twice_and_others_left_alone(word: str, expected: str) -> None:
    (task,) = swept(TaskRequest(command=("./heat", "{n}", word)), ["n=7"])
    assert task.command == ("./heat", "7", expected)


def test_a_command_with_a_model_of_its_own_has_them_as_parameters_too() -> None:
    (task,) = swept(TaskRequest(command=("./heat", "{n}"), model="…"), ["n=7"])
    assert (task.command, task.parameters) == (("./heat", "7"), {"n": 7.0})


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["k=1,2"], "no word of the command has {k}"),
        (["n=1..101", "n2=1"], "no word of the command has {n2}"),
        (["n=1..200", "m=1..200"], f"at most {MOST_SWEPT} combinations"),
        (["n"], "--sweep 'n': write NAME=NUMBER"),
        (["n=1,2"], "the command has {m}, and no --sweep m=… gives it values: give one, or write {{m}} where"),
        (["n=1,2,1", "m=1"], "--sweep n has 1 twice: give each value once"),
        (["n=0,0", "m=1"], "--sweep n has 0 twice"),
    ],
)
def test_what_has_no_place_or_is_too_much_is_refused(settings: list[str], why: str) -> None:
    with pytest.raises(UserError) as caught:
        swept(TaskRequest(command=("./heat", "{n}", "{m}")), settings)
    assert why in str(caught.value)


def test_without_a_setting_it_is_the_request() -> None:
    request = TaskRequest(application="heat")
    assert swept(request, []) == [request]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=9, unique=True))
def test_each_value_comes_once_in_its_order(values: list[int]) -> None:
    found = swept(TaskRequest(application="heat"), [f"n={','.join(map(str, values))}"])
    assert [task.parameters["n"] for task in found] == values
