from __future__ import annotations

import pytest

from cosched.evaluation.interpreter.invariance import assigned, names_of, pure, reached, reads
from cosched.language import Source, parse_psl

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
