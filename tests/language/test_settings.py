from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language import Source, parse_hmcl
from cosched.language.arithmetic import setting_values

if TYPE_CHECKING:
    from cosched.language.syntax import Node


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
