from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.modelling.points import TimedRun
from cosched.modelling.tables import MOST_ROWS, read_table


def test_a_table_gives_runs() -> None:
    text = "\ufeffnx, message KiB ,hosts,class,wall ms,memory MiB\n512,4,2,node_a,3.5,9\n\n1e3,8,1,node_a,1,10\n"
    first, second = read_table(text, "runs.csv", per_host=2)
    assert first == TimedRun({"nx": 512.0, "message": 4096.0}, 4, 0.0035, 2, "node_a", 9 * 2.0**20)
    assert (second.parameters["nx"], second.processors, second.seconds) == (1000.0, 2, 0.001)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_spreadsheets_separators_do(mark: str) -> None:
    assert read_table(f"n{mark}seconds\n1{mark}2.5\n", "runs.csv") == [TimedRun({"n": 1.0}, 1, 2.5)]


def test_processors_are_those_of_all_hosts() -> None:
    assert read_table("n,Nproc,seconds\n1,3,2\n", "runs.csv", per_host=2) == [TimedRun({"n": 1.0}, 3, 2.0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"runs.csv:1: it has no column of run times: name one `seconds`"),
        ("n,hosts\n1,1\n", r"runs.csv:1: it has no column of run times"),
        ("n,seconds,wall ms\n1,1,1\n", "several columns of times: seconds, wall"),
        ("n,n,seconds\n1,1,1\n", "runs.csv:1: n is named twice"),
        ("n,wall parsec\n1,1\n", "runs.csv:1: unit parsec of wall is not known"),
        ("n,seconds KiB\n1,1\n", "unit KiB does not fit seconds: use a unit of time"),
        ("n,rate MB/s,seconds\n1,1,1\n", "unit MB/s does not fit rate"),
        ("n,memory ms,seconds\n1,1,1\n", "unit ms does not fit memory: use a unit of size"),
        ("n,hosts s,seconds\n1,1,1\n", "hosts has no unit"),
        ("n,hosts,processors,seconds\n1,1,1,1\n", "keep one of hosts and processors"),
        ("a b c,seconds\n1,1\n", "'a b c' is no heading"),
        ("loop,seconds\n1,1\n", "parameter loop means something else in PSL: call it loop_"),
        ("n*),seconds\n1,1\n", r"parameter 'n\*\)' is no name of PSL"),
        ("n,class,seconds\n1,a *) b,1\n", r"class 'a \*\) b' cannot stand in a model"),
        ("n,class,seconds\n1,a\x1b[2J,1\n", "class .* cannot stand in a model"),
        ("n,seconds\n", "has no runs below its head"),
        ("n,seconds\n1\n", "runs.csv:2: it has 1 values and the head has 2 names"),
        ("n,seconds\n1,0\n", "runs.csv:2: a run time of 0 s cannot be"),
        ("n,seconds\n1,1\n1,-3\n", "runs.csv:3: a run time of -3 s cannot be"),
        ("n,seconds\n1,nan\n", "runs.csv:2: seconds is nan: write a finite number"),
        ("n,seconds\n1,1e308\n", "runs.csv:2: seconds is 1e308: write a finite number"),
        ("n,seconds\n1,1e12\n", "runs.csv:2: a run time of 1e.12 s cannot be"),
        ("n,seconds\n1e19,1\n", "n is 1e19: write a finite number"),
        ("n,seconds\ninf,1\n", "n is inf: write a finite number"),
        ("n,seconds\nfast,1\n", "n is 'fast': write a number"),
        ("n,hosts,seconds\n1,1.5,1\n", "hosts is 1.5: write a whole number from 1"),
        ("n,hosts,seconds\n1,0,1\n", "hosts is 0: write a whole number from 1"),
        ('n,seconds\n"1,1\n', "runs.csv:2: this is no CSV"),
        ("n,seconds\n" + "1,1\n" * (MOST_ROWS + 1), "more than 100,000 runs"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_table(text, "runs.csv")


@given(st.text(max_size=60) | st.lists(st.lists(st.text(max_size=5), max_size=4), max_size=4))
def test_any_text_gives_runs_or_one_line(text: str | list[list[str]]) -> None:
    if isinstance(text, list):
        written = io.StringIO()
        csv.writer(written).writerows([["n", "seconds"], *text])
        text = written.getvalue()
    said = ""
    try:
        assert read_table(text, "runs.csv")
    except UserError as error:
        said = str(error)
    assert "\n" not in said
