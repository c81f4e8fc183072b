from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.language.arithmetic import UndefinedError, constant, setting_values, value
from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_hmcl

if TYPE_CHECKING:
    from cosched.language.syntax import Expression, Node


def parsed(text: str) -> Expression:
    return parse_hmcl(Source("x.hmcl", f"config c {{ hardware {{ x = {text}; }} }}"))[0].groups[0].settings[0].value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.5", 2.5),
        ("-3", -3),
        ("+3", 3),
        ("!0", 1),
        ("2 ms", 2000),
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-1 % 4", 3),
        ("2 ^ 3 ^ 2", 512),
        ("1 < 2 && 2 <= 1", 0),
        ("1 > 2 || 2 >= 2", 1),
        ("1 == 1", 1),
        ("1 != 1", 0),
        ("max(1, 4, 2)", 4),
        ("floor(2.7) + ceil(2.1) + mod(7, 4) + log2(8)", 11),
        ("x", None),
        ("1 / 0", None),
        ("sqrt(-1)", None),
        ("sqr(2)", None),
        ("sqrt()", None),
        ('"a"', None),
        ("[1]", None),
        ("10 ^ 400", None),
    ],
)
def test_constants(text: str, expected: float | None) -> None:
    assert constant(parsed(text)) == expected


def test_known_names_have_their_values() -> None:
    assert value(parsed("2 * x + y"), {"x": 3, "y": 1}) == 7


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1 + 1 / (2 - 2)", 33, "division by zero"),
        ("10 ^ 400", 30, "10 ^ 400 has no finite value"),
        ("2 + log(0)", 31, "log(0) has no finite value"),
    ],
)
def test_what_has_no_value_says_where(text: str, column: int, message: str) -> None:
    with pytest.raises(UndefinedError) as caught:
        value(parsed(text), {})
    assert caught.value.node is not None
    assert (caught.value.node.at.column, caught.value.message) == (column, message)


def test_settings_use_those_before_them() -> None:
    (config,) = parse_hmcl(Source("x.hmcl", 'config c { hardware { T = 1 / 4, D = "d"; } clc { LFOR = 2 * T; } }'))
    assert setting_values(config) == {"hardware": {"T": 0.25, "D": "d"}, "clc": {"LFOR": 0.5}}


def test_what_has_no_usable_value_is_reported_once_and_left_out() -> None:
    (config,) = parse_hmcl(
        Source(
            "x.hmcl",
            """config c {
        hardware { T = 1 / 0, U = T, V = -1; }
        clc { LFOR = 2 * T, AFDG = V, CMLL = 1e308 * 10; }
        mpi { send_bandwidth = 0; }
        memory { L1_size = 0, bandwidth = 0; }
    }""",
        )
    )
    found: list[tuple[int, str]] = []

    def report(node: Node, message: str) -> None:
        found.append((node.at.line, message))

    assert setting_values(config, report)["hardware"] == {"V": -1}
    assert found == [
        (2, "division by zero"),
        (3, "AFDG is -1.0: a cost is finite and not negative"),
        (3, "CMLL is inf: a cost is finite and not negative"),
        (4, "send_bandwidth is 0: leave it out where the size costs nothing"),
        (5, "L1_size is 0: sizes and bandwidths of memory are more than that"),
        (5, "bandwidth is 0: sizes and bandwidths of memory are more than that"),
    ]
