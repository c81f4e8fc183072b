from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import CountError
from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.programs import compiled_application, initial, initial_frame, on_hosts
from cosched.language import ModelError, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

    Model = Callable[[str], Application]


def test_variables_before_init(model: Model, plain: Hardware) -> None:
    application = model("var numeric: a = Nproc + b, b = 2, c; proc exec init { c = 1; }")
    with pytest.raises(ModelError, match="variable b has no value"):
        initial_frame(application, compiled_application(application, plain), 4, {}, Budget())
    assert initial(application, compiled_application(application, plain), 4, {}) is None
    assert initial(application, compiled_application(application, plain), 4, {"b": 5.0}) == {"Nproc": 4, "a": 9, "b": 5}


def test_the_grid_fits_the_number_and_what_the_user_fixed(model: Model, plain: Hardware) -> None:
    application = model('var numeric: i, j; option { decompose = "i, j"; } proc exec init { }')
    item = compiled_application(application, plain)
    assert initial(application, item, 12, {}) == {"Nproc": 12, "i": 4, "j": 3}
    assert initial(application, item, 12, {"j": 6.0}) == {"Nproc": 12, "i": 2, "j": 6}
    assert initial(application, item, 12, {"j": 5.0}) is None
    with pytest.raises(CountError, match="12 hosts cannot be split with i, j fixed to 5 in product"):
        initial_frame(application, item, 12, {"j": 5.0}, Budget())


def test_a_number_that_the_model_is_not_for_has_no_beginning(model: Model, plain: Hardware) -> None:
    application = model("include hardware; var numeric: n = 4; link { hardware: Nproc = n; } proc exec init { }")
    item = compiled_application(application, plain)
    assert initial(application, item, 4, {}) == {"Nproc": 4, "n": 4}
    assert initial(application, item, 5, {}) is None


def test_an_error_says_on_how_many_hosts() -> None:
    error = CountError([Source("x.psl", "").fault((1, 2), "wrong")])
    assert isinstance(on_hosts(error, 3), CountError)
    assert str(on_hosts(error, 3)).endswith("wrong (on 3 hosts)")
    assert str(on_hosts(error, 1)).endswith("wrong (on 1 host)")
