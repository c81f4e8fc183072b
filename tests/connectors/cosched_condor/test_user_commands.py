"""A user's commands in cosched's submit description: text that means what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

import htcondor2

from cosched.connector import Launch, NativeDescription
from cosched.errors import UserError
from cosched_condor.submission import combined_expression, merged_environment, user_commands

LAUNCH = Launch("12345678-1234-1234-1234-123456789abc", "17", "n", ("/x",), native=NativeDescription("condor", {}))
NAMES = st.from_regex(r"[A-Z_]{1,5}", fullmatch=True)
VALUES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)


def _with(**settings: str) -> Launch:
    return replace(LAUNCH, native=NativeDescription("condor", settings))


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_value_comes_out_of_htcondor_as_it_went_in_or_is_refused(value: str) -> None:
    try:
        (line,) = user_commands(_with(arguments=value))
    except UserError:
        return
    assert "\n" not in line
    if "$$(" in value or "(ProcId)" in value or "(ClusterId)" in value or "(Node)" in value:
        return  # filled in by HTCondor itself
    submit = htcondor2.Submit(f"executable = /x\n{line}\nqueue\n")
    assert list(submit.keys()) == ["executable", "arguments"] or not value.strip()
    if value.strip():
        assert submit.expand("arguments") == value.strip(" \t")


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,5}", fullmatch=True),
        st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20).filter(
            lambda text: "$(dollar)" not in text.lower()  # refused, see below
        ),
        max_size=3,
    )
)
def test_environments_are_merged_whatever_is_in_them(variables: dict[str, str]) -> None:
    value = merged_environment(
        replace(LAUNCH, environment=variables, native=NativeDescription("condor", {"environment": '"A=1"'}))
    )
    expanded = htcondor2.Submit(f"executable = /x\nenvironment = {value}\nqueue\n").expand("environment")
    for name, text in variables.items():
        quoted = text.replace("'", "''").replace('"', '""')
        assert f"{name}='{quoted}'" in expanded
    assert expanded.startswith('"A=1 ')


def test_the_one_text_that_a_submit_file_cannot_carry_is_refused() -> None:
    """It arrived as a single dollar."""
    with pytest.raises(UserError, match="leave it out"):
        merged_environment(
            replace(LAUNCH, environment={"B": "a$(Dollar)"}, native=NativeDescription("condor", {"environment": ""}))
        )


def test_the_old_form_of_an_environment_is_understood() -> None:
    value = merged_environment(_with(environment="A=1;B=x y"))
    assert value.startswith("\"A='1' B='x y' COSCHED_")
    assert value.endswith(' COSCHED_RANK=$(CoschedRank)"')


def test_expressions_are_put_together() -> None:
    assert combined_expression(_with(requirements="a || b").native, "requirements", "c", "&&") == "(a || b) && (c)"
    assert combined_expression(_with().native, "requirements", "c", "&&") == "c"
    assert combined_expression(None, "requirements", "", "&&") == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"queue": "1"},
        {"my.coschedtask": "1"},
        {"coschedrank": "1"},
        {"a b": "1"},
        {"arguments": "a\\"},
        {"arguments": "a\nb"},
    ],
)
def test_what_is_not_the_users_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UserError):
        user_commands(_with(**settings))
