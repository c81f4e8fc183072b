from __future__ import annotations

import pytest

from cosched.evaluation.interpreter.invariance import Invariance, find_invariance
from cosched.language import Source, parse_psl


def outline(body: str, more: str = "") -> Invariance:
    text = f"partmp t {{ var numeric: a, b = 2, c; proc exec init {{ {body} }} {more} }}"
    (item,) = parse_psl(Source("x.psl", text))
    return find_invariance(item)


def free(body: str, more: str = "") -> list[bool]:
    """Return of each use of a device whether its time or size is free."""
    found = outline(body, more)
    return [id(confdev) in found.deferred for confdev in found.confdevs]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("step cpu { confdev a * ceil(b / Nproc); }", True),
        ("step mpisend { confdev 1, 2, 8; }", True),
        ("step cpu { confdev work(a); }", True),
        ("step cpu { confdev half(a); }", True),
        ("c = 1; step cpu { confdev a; }", True),
        ("c = 1; step cpu { confdev c; }", False),
        ("step cpu { confdev c; } c = 1;", False),
        ("step cpu { confdev reader(); } c = 1;", False),
        ("var numeric: a = 1; step cpu { confdev a; }", False),
        ("var numeric: i; for (i = 1; i <= 3; i = i + 1) step cpu { confdev i; }", False),
        ("step cpu { confdev teller(); }", False),
    ],
)
def test_an_amount_is_free_where_nothing_assigns_what_it_depends_on(body: str, expected: bool) -> None:
    more = """proc cflow work(x) { loop (<is clc, LFOR>, x) compute <is clc, b*AFDL>; }
        proc exec half(x) { if (x > 2) return x / 2; return x; }
        proc cflow reader { compute <is clc, c*AFDL>; }
        proc exec teller { var numeric: k; for (k = 1; k <= 2; k = k + 1) step cpu { confdev a; } return k; }"""
    assert free(body, more)[0] is expected


def test_the_size_of_a_message_may_be_free_but_its_ends_shape_it() -> None:
    found = outline("step mpisend { confdev a, Nproc, b; } step cpu on c { confdev 1; }")
    assert len(found.deferred) == 2
    assert found.shaping == ("Nproc", "a", "c")


def test_what_only_free_amounts_depend_on_does_not_shape() -> None:
    more = "proc cflow work { loop (<is clc, LFOR>, a) compute <is clc, AFDL>; }"
    assert outline("step cpu on b { confdev work(); }", more)[1:3] == (("b",), False)
    # Here the work is also a condition.
    assert outline("step cpu on b { confdev work(); } if (work() > 3) step cpu { confdev 1; }", more)[1:3] == (
        ("a", "b"),
        True,
    )


def test_a_procedure_that_nothing_calls_does_not_shape() -> None:
    assert outline("step cpu { confdev 1; }", "proc exec other { step cpu on c { confdev 1; } }").shaping == ()
