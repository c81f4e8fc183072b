"""sbatch's options as users write them."""

from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched_slurm.scripts.sbatch_options import (
    check_user_option,
    long_name,
    parse_begin,
    parse_time_limit,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 5400.0),
        ("1:30", 90.0),
        ("1:00:00", 3600.0),
        ("2-0", 172800.0),
        ("1-2:03", 93780.0),
        ("1-2:03:04", 93784.0),
        ("UNLIMITED", None),
        ("0", None),
    ],
)
def test_times_are_read_as_slurm_reads_them(text: str, expected: float | None) -> None:
    assert parse_time_limit(text) == expected


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1-", "-5", "1.5", "1e3", "٣"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a time"):
        parse_time_limit(text)


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("now", ""),
        ("now+60", "now+60s"),
        ("now+2hours", "now+2h"),
        ("now+1week", "now+7d"),
        ("16:00", "16:00"),
        ("2030-01-31T18:00", "2030-01-31T18:00"),
    ],
)
def test_a_begin_is_read_as_slurm_reads_it(text: str, begin: str) -> None:
    assert parse_begin(text) == begin


def test_an_offset_that_slurm_has_not_is_refused() -> None:
    with pytest.raises(UserError, match="is not understood"):
        parse_begin("now+soon")


def test_short_names_and_long_ones_are_the_same() -> None:
    assert long_name("-N4") == ("nodes", "4")
    assert long_name("-N") == ("nodes", None)
    assert long_name("--nodes=4") == ("nodes", "4")
    assert long_name("--exclusive=user") == ("exclusive", "user")


@pytest.mark.parametrize(
    "word",
    [
        "--uid=0",
        "--wrap=id",
        "--hold",
        "-H",
        "-Z",
        "-",
        "x",
        "--",
        "--overcommit=1",
        "--test-only",
    ],
)
def test_options_without_a_place_are_refused(word: str) -> None:
    with pytest.raises(UserError):
        long_name(word)


@pytest.mark.parametrize(
    ("name", "value"),
    [("bbf", "/etc/shadow"), ("priority", "4294967000"), ("nice", "-5"), ("nice", "x"), ("uid", "0"), ("mem", "")],
)
def test_an_option_that_would_use_cosched_s_own_rights_is_refused(name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"--{name}"):
        check_user_option(name, value)


@pytest.mark.parametrize(("name", "value"), [("nice", "0"), ("nice", "100"), ("mem", "1G"), ("contiguous", "")])
def test_an_option_of_the_jobs_own_is_passed_on(name: str, value: str) -> None:
    check_user_option(name, value)
