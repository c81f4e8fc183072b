from __future__ import annotations

import pytest

from cosched.evaluation.interpreter.invariance import (
    Invariance,
    assigned,
    find_invariance,
    names_of,
    pure,
    reached,
    reads,
    repeatable,
    weight,
)
from cosched.language import Source, parse_psl
from cosched.language.syntax import For


def loop(body: str) -> For:
    text = f"partmp t {{ var vector: v; proc exec init {{ for (i = 1; i <= n; i = i + 1) {{ {body} }} }} }}"
    (statement,) = parse_psl(Source("x.psl", text))[0].procedures[0].body
    assert isinstance(statement, For)
    return statement


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ("step cpu { confdev x; }", True),
        ("if (x > 1) step cpu { confdev max(x, 2); }", True),
        ("y = 1;", False),
        ("step cpu { confdev i; }", False),
        ("step cpu { confdev v[i]; }", False),
        ("x = x + 1; step cpu { confdev x; }", False),
        ("step cpu { confdev f(); }", False),
        ("step cpu { confdev x; } call f;", False),
        ("step cpu { confdev x; } return;", False),
        ("while (y) step cpu { confdev x; }", False),
    ],
)
def test_turns_that_emit_the_same(body: str, same: bool) -> None:
    assert repeatable(loop(body)) is same


def test_a_longer_body_weighs_more() -> None:
    assert weight(loop("x = 1;")) < weight(loop("x = 1 + 2 + 3 + 4 + 5 + 6; y = 2 * x;"))


TEXT = """application a {
    var numeric: g, h, v, deep;

    proc exec init {
        var numeric: i = g, j;

        for (i = 1; i < h; i = i + 1) step cpu { confdev f(i) + v[2]; }
        call emit;
        j = 2;
    }

    proc exec f(p) {
        var numeric: own = 1;

        if (p > own) return g;
        return w() + inner(p);
    }

    proc exec inner(p) {
        return max(p, deep);
    }

    proc exec emit { step cpu { confdev h; } }

    proc exec sets(p) {
        g = p;
    }

    proc cflow w { loop (<is clc, LFOR>, v) call w2; }

    proc cflow w2 { compute <is measured, 2 us>; }

    proc exec alone(p) {
        var numeric: own;

        own = sqrt(p) + g;
        return own;
    }
}"""
(OBJECT,) = parse_psl(Source("a.psl", TEXT))
PROCEDURES = {procedure.name: procedure for procedure in OBJECT.procedures}


def test_what_statements_assign_is_what_they_name_on_the_left_or_declare_with_a_value() -> None:
    assert assigned(PROCEDURES["init"].body) == {"i", "j"}
    assert assigned(PROCEDURES["sets"].body) == {"g"}
    assert assigned([]) == frozenset()


@pytest.mark.parametrize(
    ("name", "expected"), [("f", {"w", "w2", "inner"}), ("init", {"f", "w", "w2", "inner", "emit"}), ("w2", set())]
)
def test_procedures_are_reached_through_others(name: str, expected: set[str]) -> None:
    assert {procedure.name for procedure in reached(PROCEDURES[name], PROCEDURES)} == expected


def test_what_is_read_by_called_procedures_counts_but_not_their_own_names() -> None:
    assert reads(PROCEDURES["init"].body[1], PROCEDURES) == {"g", "h", "i", "v", "deep"}
    assert reads(PROCEDURES["inner"], {}) == {"p", "deep"}


def test_parameters_and_variables_are_a_procedures_own() -> None:
    assert names_of(PROCEDURES["f"]) == {"p", "own"}
    assert names_of(PROCEDURES["init"]) == {"i", "j"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("w", True), ("alone", True), ("inner", True), ("f", False), ("emit", False), ("sets", False), ("init", False)],
)
def test_a_procedure_is_pure_if_it_only_computes(name: str, expected: bool) -> None:
    assert pure(PROCEDURES[name]) is expected


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
