from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.language.formatter import read_statements
from cosched.language.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.language.formatter import Statement
    from cosched.language.tokens import Token


def text(line: Sequence[Token]) -> str:
    return " ".join(token.text for token in line)


def shape(statement: Statement) -> Any:
    """Return a statement as text, or as its head, body and what is done else."""
    if statement.body is None:
        return text(statement.head)
    found = [text(statement.head), [shape(inner) for inner in statement.body]]
    return [*found, shape(statement.other)] if statement.other else found


def of(model: str, language: str = "psl") -> Any:
    statements, end = read_statements(tokens(model), language)
    assert end.kind == "end"
    return [shape(statement) for statement in statements]


def procedure(body: str, kind: str = "exec") -> Any:
    return of(f"application a {{ proc {kind} init {{ {body} }} }}")[0][1][0][1]


def test_sections_of_an_object() -> None:
    model = "subtask a { include b; link { b: x = 1; c: y = 2; } } partmp b { option { o = 1; } var numeric: v; }"
    assert of(model) == [
        ["subtask a {", ["include b ;", ["link {", ["b : x = 1 ;", "c : y = 2 ;"]]]],
        ["partmp b {", [["option {", ["o = 1 ;"]], "var numeric : v ;"]],
    ]


def test_an_else_belongs_to_the_nearest_if() -> None:
    assert procedure("if (a) if (b) x = 1; else if (c) x = 2; else { x = 3; }") == [
        ["if ( a )", [["if ( b )", ["x = 1 ;"], ["else if ( c )", ["x = 2 ;"], ["else {", ["x = 3 ;"]]]]]],
    ]


def test_conditions_end_at_their_own_bracket() -> None:
    assert procedure("for (i = f(1); (i) < 2; i = i + 1) while (g(x)) step cpu on h(i) { confdev 1; confdev 2; }") == [
        [
            "for ( i = f ( 1 ) ; ( i ) < 2 ; i = i + 1 )",
            [["while ( g ( x ) )", [["step cpu on h ( i ) {", ["confdev 1 ;", "confdev 2 ;"]]]]],
        ],
    ]


def test_arms_without_braces_take_all_statements_up_to_the_next_arm() -> None:
    body = "case (<is clc, IFBR>) { 0.5: call u; call v; p: { } f(x): loop (w, 2) call u; }"
    assert procedure(body, "cflow") == [
        [
            "case ( < is clc , IFBR > ) {",
            [["0.5 :", ["call u ;", "call v ;"]], ["p : {", []], ["f ( x ) :", [["loop ( w , 2 )", ["call u ;"]]]]],
        ],
    ]


def test_a_table_is_one_statement() -> None:
    assert procedure("measured (Nproc) { 1: 2 s, 2: 1 s }", "cflow") == [
        ["measured ( Nproc ) {", ["1 : 2 s , 2 : 1 s"]],
    ]


@pytest.mark.parametrize("name", ["loop", "case", "compute"])
def test_words_of_the_other_kind_of_procedure_are_names(name: str) -> None:
    assert procedure(f"{name} = 1;") == [f"{name} = 1 ;"]


def test_groups_of_hardware() -> None:
    assert of("config c { mpi { var = 1, x = 2; y = 3; } }", "hmcl") == [
        ["config c {", [["mpi {", ["var = 1 , x = 2 ;", "y = 3 ;"]]]],
    ]
