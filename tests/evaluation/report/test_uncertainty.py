from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation import error
from cosched.evaluation.report import uncertainty
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

TEXT = "var numeric: k = 2; option {{ {}; }} proc exec init {{ step cpu {{ confdev 1; }} }}"


def test_an_application_states_its_error_for_each_number_of_hosts(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    found = error(model(TEXT.format("error = k * 0.01 * Nproc")), plain, [1, 4], {"k": 5})
    assert found is not None
    assert found.below.tolist() == found.above.tolist() == pytest.approx([0.05, 0.2])
    assert error(model("proc exec init { }"), plain, [1]) is None


@pytest.mark.parametrize(
    ("options", "below", "above"),
    [
        ("error = 0.1", 0.1, 0.1),
        ("error = 0.1, error_above = 2", 0.1, 2),
        ("error_above = k", 0, 2),
        ("error_below = 0.5", 0.5, 0),
    ],
)
def test_either_side_may_be_stated_by_itself(
    model: Callable[[str], Application], plain: Hardware, options: str, below: float, above: float
) -> None:
    found = error(model(TEXT.format(options)), plain, [3])
    assert found is not None
    assert (found.below, found.above) == pytest.approx((below, above))
    low, high = found.around(np.array([10.0]))
    assert (low, high) == pytest.approx((10 * (1 - below), 10 * (1 + above)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("error = k * 0.01 * Nproc", r"psl:1:\d+: an error of 1.2 on 60 hosts: give 0 to less than 1"),
        ("error_below = k * 0.01 * Nproc", r"psl:1:\d+: an error of 1.2 on 60 hosts: give 0 to less than 1"),
        ("error_above = 1 - Nproc", r"psl:1:\d+: an error of -59 on 60 hosts: give at least 0"),
        ("error = 1 / (k - 2)", "division by zero"),
    ],
)
def test_an_error_out_of_its_range_is_named_with_its_place(
    model: Callable[[str], Application], plain: Hardware, options: str, expected: str
) -> None:
    with pytest.raises(ModelError, match=expected):
        error(model(TEXT.format(options)), plain, [1, 60])


def test_numbers_of_hosts_that_are_not_covered_have_no_error(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""var numeric: a, b; option { decompose = "a, b", error = 0.1; }
        proc exec init { step cpu { confdev 1; } }""")
    found = error(application, plain, [1, 2], {"a": 2})
    assert found is not None
    assert found.below == pytest.approx([0, 0.1])


def test_noise_of_the_hardware_adds_to_a_stated_error(model: Callable[[str], Application], plain: Hardware) -> None:
    noisy = replace(plain, noise={"phase": 0.5, "launch": 0.03, "run": 0.04})
    found = error(model(TEXT.format("error_below = 0.1")), noisy, [1, 2])
    assert found is not None
    assert found.above.tolist() == pytest.approx([0.05 * 1.645] * 2)
    assert found.below.tolist() == pytest.approx([(0.1**2 + (0.05 * 1.645) ** 2) ** 0.5] * 2)
    assert error(model("proc exec init { }"), noisy, [1]) is None


def test_what_an_error_takes_is_bounded_for_all_numbers_of_hosts_together(
    model: Callable[[str], Application], plain: Hardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = model("""option { error = f(); } proc exec init { }
        proc exec f { var numeric: i; for (i = 0; i < 1000; i = i + 1) i = i + 0; return 0.1; }""")
    monkeypatch.setattr(uncertainty, "DEFAULT_STEPS", 10_000)
    assert error(application, plain, [1]) is not None
    with pytest.raises(ModelError, match="stopped here after 20000 steps"):
        error(application, plain, range(1, 33))


def test_an_error_that_is_nested_too_deeply_is_refused(model: Callable[[str], Application], plain: Hardware) -> None:
    deep = "(0 + " * 40 + "f(x + 1)" + " * 1)" * 40
    application = model(f"""option {{ error = f(1); }} proc exec init {{ }}
        proc exec f(x) {{ if (x > 38) return 0.1; return {deep}; }}""")
    with pytest.raises(UserError, match="its error is nested too deeply to be evaluated"):
        error(application, plain, [1])
