from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from cosched.language.checks.expressions import Dimensions, NameScope
from cosched.language.checks.procedures import ARGUMENTS, ProcedureChecker, arguments, check_declarations
from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_psl
from cosched.language.syntax import Node, Object, Step
from cosched.language.vocabulary import COLLECTIVES, DEVICES, DIMENSIONLESS, SIZE, TIME

if TYPE_CHECKING:
    from cosched.language.syntax import Cflow, Exec


def parsed(body: str, kind: str = "exec") -> Object:
    (item,) = parse_psl(Source("x.psl", f"subtask s {{ proc {kind} p {{ {body} }} proc exec f(a) {{ }} }}"))
    return item


def faults(body: str, kind: str = "exec", *, lost: frozenset[str] = frozenset(), fixed: str = "") -> list[str]:
    item, found = parsed(body, kind), list[str]()

    def report(_: Node, message: str) -> None:
        found.append(message)

    procedures = {procedure.name: procedure for procedure in item.procedures}
    scope = NameScope({"x": "numeric", "Nproc": "numeric", "s": "string"}, procedures, report, lost)
    checker = ProcedureChecker(
        procedures["p"], scope, Dimensions({}, (), report), frozenset({"below", "hardware"}), frozenset({fixed}), report
    )
    checker.block(cast("tuple[Exec | Cflow, ...]", item.procedures[0].body))
    return found


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("x = 1; call below; call f(2); return x;", "exec"),
        ("while (x < 2) { if (x) x = 1; else x = 2; } for (x = 1; x < 3; x = x + 1) { }", "exec"),
        ("step mpibarrier { } step cpu on 1 { confdev 2; } step mpibcast { confdev 1, 8 B; }", "exec"),
        (
            "compute <is clc, 2*AFDG>; loop (<is clc>, x) { } measured (x) { 1: 2 s } case (<is clc>) { 1: { } }",
            "cflow",
        ),
        ("compute <is memory, x * 8 B, 8>; loop (<is memory, 8, 1 KiB>, 2) { }", "cflow"),
    ],
)
def test_sound_bodies(body: str, kind: str) -> None:
    assert faults(body, kind) == []


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("call hardware;", "exec", "hardware is neither a procedure here nor included"),
        ("call below;", "cflow", "below is neither a procedure here nor included"),
        ("call f(1);", "cflow", "f is a `proc exec`: a `proc cflow` cannot call it"),
        ("for (y = 1; z < 2; x = s) { }", "exec", "variable y is not declared"),
        ("step mpibcast on 1 { confdev 1, 8; }", "exec", "mpibcast takes no `on`: all processors take part"),
        ("step mpibarrier { confdev 1; }", "exec", "confdev of mpibarrier takes nothing: not 1 values"),
        ("compute <is measured, 0 - 3>;", "cflow", "a measured time of -3 us: it is finite and not negative"),
        ("compute <is memory, 0 - 8, x>;", "cflow", "-8 bytes of memory: the number is finite and not negative"),
        ("loop (<is memory, x, 0 - 1>, 2) { }", "cflow", "-1 bytes of memory: the number is finite and not negative"),
        ("case (<is memory, y, x>) { }", "cflow", "variable y is not declared"),
        ("measured (x) { 1: 1e308 * 10 }", "cflow", "a measured time of inf us: it is finite and not negative"),
        (
            "case (<is clc>) { 1/2 + 1/4: { } 0.3: { } }",
            "cflow",
            "the probabilities of the arms add up to 1.05: at most 1",
        ),
        ("case (<is clc>) { -1: { } 1: { } }", "cflow", "a probability of -1 is less than 0"),
        ("compute <is clc, AFDGG>;", "cflow", "unknown opcode AFDGG: did you mean AFDG"),
    ],
)
def test_faults(body: str, kind: str, message: str) -> None:
    assert faults(body, kind)[0].startswith(message)


def test_what_the_evaluator_sets_is_not_assigned() -> None:
    assert faults("Nproc = 2;", fixed="Nproc")[0].startswith("Nproc is set by the evaluator")
    assert faults("Nproc = 2;") == []


def test_words_of_unreadable_statements_may_be_names() -> None:
    assert len(faults("call zork; x = y + g(1);")) == 3
    assert faults("call zork; x = y + g(1);", lost=frozenset({"zork", "y", "g"})) == []


def test_declarations_have_the_types_that_they_say() -> None:
    (item,) = parse_psl(Source("x.psl", 'subtask s { var numeric: a = 1, b = "t"; var string: c = 2, d; }'))
    found: list[str] = []
    scope = NameScope({}, {}, lambda _node, message: found.append(message))
    check_declarations(item.variables, scope, Dimensions({}, (), scope.report))
    assert found == ["a number is needed here, not a text", "a text is needed here"]


def test_arguments_of_steps_have_dimensions() -> None:
    assert set(ARGUMENTS) == {*DEVICES, *COLLECTIVES}
    (step,) = parsed("step mpireduce { confdev 1, 2, 3; confdev 4; }").procedures[0].body
    assert isinstance(step, Step)
    assert [dimension for _, dimension in arguments(step)] == [DIMENSIONLESS, SIZE, TIME, DIMENSIONLESS]
