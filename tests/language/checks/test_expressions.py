from __future__ import annotations

import pytest

from cosched.language import check_files, default_library
from cosched.language.checks.expressions import NameScope, misfit
from cosched.language.checks.objects import check_object, object_dimensions
from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_psl
from cosched.language.syntax import Assign, Expression
from cosched.language.vocabulary import DIMENSIONLESS, RATE, SIZE, TIME

QUOTED = '"a"'
VARIABLES = {"x": "numeric", "s": "string", "v": "vector"}


def parsed(text: str) -> Expression:
    (assign,) = parse_psl(Source("x.psl", f"partmp t {{ proc exec init {{ r = {text}; }} }}"))[0].procedures[0].body
    assert isinstance(assign, Assign)
    return assign.value


def typed(text: str) -> tuple[str, list[str]]:
    faults: list[str] = []
    scope = NameScope(VARIABLES, {}, lambda _node, message: faults.append(message))
    return scope.type(parsed(text)), faults


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x + 1", "numeric"),
        ("s", "string"),
        (QUOTED, "string"),
        ("[x, 1]", "vector"),
        ("v", "vector"),
        ("v[x]", "numeric"),
        (f"s == {QUOTED}", "numeric"),
        ("-max(x, 2)", "numeric"),
    ],
)
def test_types(text: str, kind: str) -> None:
    assert typed(text) == (kind, [])


def test_every_fault_of_an_expression_is_reported() -> None:
    _, faults = typed("s + y * sqr(2)")
    assert len(faults) == 3


def faults(body: str) -> list[str]:
    declared = "var numeric: t = 5 us, b = 8 KiB, r = 1 GB/s, n = 3, m;"
    (item,) = parse_psl(
        Source("x.psl", f"application a {{ {declared} proc exec init {{ {body} }} proc cflow w {{ }} }}")
    )
    return [fault.message for fault in check_object(item)]


@pytest.mark.parametrize(
    "body",
    [
        "m = t + 5; m = b * n + 8; m = t + w() + n * t; m = b / r + t; m = t * r + b; m = max(t, 3 us, n);",
        # May be meant as a time for each byte, or as anything.
        "t = b * 50 ns; b = n * m; m = sqrt(t) + b;",
        "step cpu { confdev b / r; confdev n; } step mpisend { confdev n, Nproc, 2 * b; confdev 1, b / 1 KiB, 3; }",
        "if (t > 3 && b == 8 KiB) m = t / t + 1; for (m = 1; m < n; m = m + 1) { } t = -t; b = abs(b);",
        "var numeric: t = 3; t = b;",
    ],
)
def test_what_fits(body: str) -> None:
    assert faults(body) == []


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        ("m = t + b;", ["+ mixes a time and a size in bytes"]),
        ("m = 1 + (b - 3) % 2 ms;", ["% mixes a size in bytes and a time"]),
        ("if (r >= t) { }", [">= mixes a rate and a time"]),
        ("m = max(1, t, b);", ["max mixes a time and a size in bytes"]),
        ("m = w() + 8 B;", ["+ mixes a time and a size in bytes"]),
        ("t = b;", ["a size in bytes does not fit: a time is needed here"]),
        ("b = b / r;", ["a time does not fit: a size in bytes is needed here"]),
        ("step cpu { confdev 8 B; }", ["a size in bytes does not fit: a time is needed here"]),
        (
            "step mpisend { confdev 1, t, w(); }",
            [
                "a time does not fit: a plain number is needed here",
                "a time does not fit: a size in bytes is needed here",
            ],
        ),
        ("step mpireduce { confdev 1, 8 B, 8 B; }", ["a size in bytes does not fit: a time is needed here"]),
        ("step cpu on t { }", ["a time does not fit: a plain number is needed here"]),
        ("var numeric: k = 1 B; k = t;", ["a time does not fit: a size in bytes is needed here"]),
    ],
)
def test_what_does_not_fit(body: str, messages: list[str]) -> None:
    assert faults(body) == messages


def test_units_in_cflows() -> None:
    (item,) = parse_psl(
        Source(
            "x.psl",
            """application a { proc exec init { } proc cflow w {
        compute <is measured, 8 B>;
        loop (<is clc, (2 us)*LFOR>, 3 us) { }
        case (<is clc>) { 1 us: { } }
        measured (Nproc) { 1: 1 KiB }
        compute <is memory, 8 * 1 KiB, 1 us>;
    } }""",
        )
    )
    assert [(fault.line, fault.message.partition(":")[0]) for fault in check_object(item)] == [
        (2, "a size in bytes does not fit"),
        (3, "a time does not fit"),
        (3, "a time does not fit"),
        (4, "a time does not fit"),
        (5, "a size in bytes does not fit"),
        (6, "a time does not fit"),
    ]


def test_a_variable_without_a_unit_is_what_steps_take_it_for() -> None:
    (item,) = parse_psl(
        Source(
            "x.psl",
            """partmp a { var numeric: work, size, both, changed;
        proc exec init {
            changed = 3;
            step cpu { confdev work; confdev both; confdev changed; }
            step mpisend { confdev 1, 2, size; confdev 1, 2, both; }
        }
    }""",
        )
    )
    assert object_dimensions(item).known == {"work": TIME, "size": SIZE}


def test_misfits() -> None:
    assert misfit(None, TIME) == misfit(DIMENSIONLESS, TIME) == misfit(TIME, TIME) == misfit((1, 1), SIZE) == ""
    assert misfit(RATE, SIZE) == "a rate does not fit: a size in bytes is needed"


def test_the_library_mixes_nothing() -> None:
    files = sorted(path for root in default_library() for path in root.rglob("*.*"))
    assert [str(fault) for fault in check_files(files, default_library())] == []
