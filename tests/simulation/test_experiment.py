from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.simulation.experiment import Experiment, ExperimentOption

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
