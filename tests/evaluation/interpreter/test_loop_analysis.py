from __future__ import annotations

import pytest

from cosched.evaluation.interpreter.loop_analysis import counted_loop
from cosched.language import Source, parse_psl
from cosched.language.syntax import For, Number

STEP = "step cpu on i { confdev x; }"


def loop_of(text: str, procedures: str = "") -> tuple[For, dict[str, object]]:
    (item,) = parse_psl(
        Source("x.psl", f"partmp t {{ var numeric: x, y, n; proc exec init {{ {text} }} {procedures} }}")
    )
    statement = item.procedures[0].body[0]
    assert isinstance(statement, For)
    return statement, {procedure.name: procedure for procedure in item.procedures}


def expands(text: str, procedures: str = "") -> bool:
    loop, known = loop_of(text, procedures)
    return counted_loop(loop, known) is not None  # type: ignore[arg-type]  # a mapping to Procedure


@pytest.mark.parametrize(
    "loop",
    [
        f"for (i = 1; i <= n; i = i + 1) {STEP}",
        f"for (i = 1; i + y < n; i = i + 2 * y) {STEP}",
        f"for (i = 1; i <= n; i = i + 1) {{ x = i; {STEP} }}",
        f"for (i = 1; i <= n; i = i + 1) {{ if (i > 2) x = 1; else x = 2; {STEP} }}",
        f"for (i = 1; i <= n; i = i + 1) for (x = 1; x < i; x = x + 1) {STEP}",
        "for (i = 1; i <= n; i = i + 1) step cpu on f(i) { confdev w(); }",
    ],
)
def test_turns_that_do_not_depend_on_one_another_expand(loop: str) -> None:
    assert expands(loop, "proc exec f(x) { if (x > n) return 1; return x; } proc cflow w { }")


@pytest.mark.parametrize(
    "loop",
    [
        "for (i = 1; i <= n; i = i + 1) x = x + i;",  # emits nothing
        f"for (i = 1; i <= n; i = i + 1) {{ x = x + 1; {STEP} }}",
        f"for (i = 1; i <= n; i = i + 1) {{ if (i > 2) x = 1; {STEP} }}",
        f"for (i = 1; i <= n; i = i + 1) {{ {STEP} x = 1; }}",
        f"for (i = 1; i <= n; i = i + 1) {{ n = 3; {STEP} }}",
        f"for (i = 1; i <= n; i = i + 1) {{ i = i + 1; {STEP} }}",
        f"for (i = 1; i <= n; i = 2 * i) {STEP}",
        f"for (i = n; i >= 1; i = i - 1) {STEP}",
        f"for (i = 1; i <= n; i = i + 1) {{ {STEP} call t; }}",
        f"for (i = 1; i <= n; i = i + 1) {{ {STEP} return; }}",
        "for (i = 1; i <= n; i = i + 1) step cpu on g() { confdev 1; }",
        f"for (i = 1; i <= n; i = i + 1) {{ x = h(); y = i; {STEP} }}",
        "for (i = 1; i <= n; i = i + 1) step cpu on i { confdev w(); }",
    ],
)
def test_turns_that_depend_on_one_another_do_not(loop: str) -> None:
    cflows = "proc cflow w { call v; } proc cflow v { compute <is measured, g()>; }"
    assert not expands(loop, f"proc exec g {{ x = x + 1; return x; }} proc exec h {{ return y; }} {cflows}")


def test_the_parts_of_a_loop() -> None:
    loop, _ = loop_of(f"for (i = 1; i + 4 <= 9; i = i + 2) {{ x = 1; {STEP} }}")
    parts = counted_loop(loop, {})
    assert parts is not None
    values = [part.value for part in (parts.start, parts.shift, parts.end, parts.stride) if isinstance(part, Number)]
    assert (parts.name, values, parts.closed) == ("i", [1, 4, 9, 2], True)
    assert parts.written == {"i", "x"}
