from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.simulation.experiment import Experiment, ExperimentOption, averaged_rows, line_chart

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow

AN_EXPERIMENT = Experiment(
    name="dice",
    reproduces="nothing",
    keys=(),
    run=lambda seed, options: [{"sum": seed * options["sides"]}],
    options={
        "sides": ExperimentOption(6, "of a die", 1, 20),
        "bias": ExperimentOption(0.0, "of the die", 0, 1),
        "throws": ExperimentOption(1, "of the die", 1, 5e6),
    },
)


def test_what_is_not_set_keeps_its_default() -> None:
    assert AN_EXPERIMENT.settings({"bias": "0.5"}) == {"sides": 6, "bias": 0.5, "throws": 1}
    assert type(AN_EXPERIMENT.settings({"sides": "8"})["sides"]) is int


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", "1", "dice has no option 'size': there are sides, bias, throws"),
        ("sides", "2.5", "sides=2.5: give a whole number from 1 to 20"),
        ("sides", "0", "sides=0: give a whole number from 1 to 20"),
        ("throws", "5e+06", "throws=5e+06: give a whole number from 1 to 5000000"),
        ("bias", "nan", "bias=nan: give a number from 0 to 1"),
        ("bias", "much", "bias=much: give a number from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(name: str, value: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        AN_EXPERIMENT.settings({name: value})
    assert str(caught.value) == message


def test_one_seed_is_left_as_it_is() -> None:
    table: list[ResultRow] = [{"policy": "edf", "makespan": 3.0}]
    assert averaged_rows([table], ["policy"]) == table


def test_the_mean_and_its_interval() -> None:
    """Of 1, 2, 3: mean 2, s = 1, t(2) = 4.303, so ± 4.303/√3."""
    tables: list[list[ResultRow]] = [[{"policy": "edf", "makespan": value}] for value in (1.0, 2.0, 3.0)]
    (row,) = averaged_rows(tables, ["policy"])
    assert row["policy"] == "edf"
    assert row["makespan"] == 2.0
    assert row["makespan_ci95"] == pytest.approx(4.303 / 3**0.5)


def test_what_is_missing_is_left_out_of_the_mean() -> None:
    tables: list[list[ResultRow]] = [[{"share": None}], [{"share": 0.5}]]
    assert averaged_rows(tables, []) == [{"share": 0.5, "share_ci95": None}]
    assert averaged_rows([[{"share": None}], [{"share": None}]], []) == [{"share": None, "share_ci95": None}]


def test_rows_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="policy"):
        averaged_rows([[{"policy": "edf"}], [{"policy": "easy"}]], ["policy"])


def test_a_line_for_each_value_and_a_band_where_there_are_intervals() -> None:
    rows: list[ResultRow] = [
        {"size": size, "policy": policy, "makespan": float(size * 2), "makespan_ci95": 0.5}
        for size in (1, 2, 3)
        for policy in ("edf", "easy")
    ]
    text = line_chart(rows, "size", "makespan", "policy", "a title", ("size", "makespan (s)"))
    words = " ".join("".join(ET.fromstring(text).itertext()).split())
    assert "edf" in words
    assert "easy, 3: 6 (5.5 to 6.5)" in words


def test_a_missing_value_leaves_a_gap() -> None:
    rows: list[ResultRow] = [{"size": 1, "by": "a", "y": None}, {"size": 2, "by": "a", "y": 4.0}]
    text = line_chart(rows, "size", "y", "by", "t", ("x", "y"))
    assert "a, 2: 4" in text
    assert "a, 1:" not in text


def test_what_is_published_is_dashed() -> None:
    rows: list[ResultRow] = [{"size": size, "by": by, "y": 1.0} for by in ("ON", "ON, paper") for size in (1, 2)]
    for given, dashed in (("", 0), ("paper", 1)):
        assert line_chart(rows, "size", "y", "by", "t", ("x", "y"), given).count(" dashed") == dashed
