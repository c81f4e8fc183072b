from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation import Application, load, load_hardware
from cosched.evaluation.stage_times import stage_profile

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """
application a {
    include work;
    var control: g, unset;
    var numeric: n = 8, computed = 1;
    link { work: n = n / g * computed + other(); }
    proc exec init { computed = 100; call work; call work; }
    proc exec other { return 0; }
    proc tunable main { task t [] [g, unset] [({1, 1}, {model work}, 1)]; }
}
subtask work {
    include independent;
    var numeric: n;
    link { independent: Tx_work = n * run(); }
    proc cflow run { measured (Nproc) { 1: 4 s, 2: 2 s } }
}
"""


@pytest.fixture
def application(tmp_path: Path) -> Application:
    path = tmp_path / "a.psl"
    path.write_text(MODEL)
    return load(path)


def test_one_call_with_the_control_parameters_as_they_are_and_without_init(application: Application) -> None:
    hardware = load_hardware("x86_64_gigabit")
    found = stage_profile(application, hardware, "work", [1, 2, 3], {"g": 2, "n": 8})
    assert found.tolist() == [16.0, 8.0, np.inf]
    assert stage_profile(application, hardware, "work", [2], {"g": 4}).tolist() == [4.0]


def test_a_model_that_reads_what_is_not_set_says_so(application: Application) -> None:
    with pytest.raises(UserError, match=r"a\.psl:6:\d+: .*g has no value"):
        stage_profile(application, load_hardware("x86_64_gigabit"), "work", [1], {})


def test_what_the_model_does_not_cover_at_all_is_an_error(application: Application) -> None:
    with pytest.raises(UserError, match="nothing was measured for 3"):
        stage_profile(application, load_hardware("x86_64_gigabit"), "work", [3], {"g": 1})
