from __future__ import annotations

import pytest

from cosched.language import Source, parse_psl
from cosched.language.checks.objects import check_object


def faults(body: str) -> list[str]:
    (item,) = parse_psl(Source("x.psl", body if "partmp" in body else f"application a {{ {body} }}"))
    return [fault.message for fault in check_object(item)]


def init(body: str, more: str = "") -> list[str]:
    declared = 'var numeric: x; var string: s = "t"; var vector: v = [1];'
    return faults(f"{declared} {more} proc exec init {{ {body} }}")


def test_a_sound_object_has_no_faults() -> None:
    procedures = """
        proc cflow w { compute <is clc, 2*LFOR>; }
        proc exec f(a) { var numeric: b; b = a; return b; }
    """
    assert init('x = v[1] + max(1, 2, x) + w() + f(1); s = "u"; if (s == "u") v = [x, 2];', procedures) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = 1;", "variable y is not declared"),
        ("x = xx;", "variable xx is not declared: did you mean x?"),
        ("x = w;", "w is a procedure: write w()"),
        ("x = 1e999;", "the number is too large"),
        ('x = "t";', "a number is needed here, not a text"),
        ('x = 1 + "t";', "+ works on numbers only"),
        ("x = -s;", "a number is needed here, not a text"),
        ("x = s == 1;", "a text compares only with a text"),
        ("s = 1;", "a text is needed here"),
        ("v = s;", "a text does not fit here"),
        ("x = [1];", "a number is needed here, not a list"),
        ("x = x[1];", "x is not a vector: it has no elements"),
        ("x = sqr(2);", "function sqr is not known: did you mean sqrt?"),
        ("x = sqrt(1, 2);", "sqrt takes 1 arguments, not 2"),
        ("x = max();", "max takes 1 to 64 arguments, not 0"),
        ("x = f();", "f takes 1 arguments, not 0"),
        ("call f;", "f takes 1 arguments, not 0"),
        ("call w;", "w is a `proc cflow`: a `proc exec` cannot call it; use its time, w(), in a step or a link"),
        ("call zork;", "zork is neither a procedure here nor included"),
        ("call below(1);", "below takes no arguments: link its variables"),
        ("call belov;", "belov is neither a procedure here nor included: did you mean below?"),
        ("Nproc = 3;", "Nproc is set by the evaluator: link it to change it in an included object"),
        ("step gpu { }", "device gpu is not known: did you mean cpu?"),
        ("step cpu { confdev 1, 2; }", "confdev of cpu takes time: not 2 values"),
        ("step mpisend { confdev 1, 2; }", "confdev of mpisend takes source, destination, bytes: not 2 values"),
        ("step mpirecv on 1 { confdev 1, 2, 3; }", "mpirecv takes no `on`: its processor is in the confdev"),
        ("while (s) { }", "a number is needed here, not a text"),
        ("return s;", "a number is needed here, not a text"),
    ],
)
def test_faults_of_statements(body: str, message: str) -> None:
    more = "include below; proc cflow w { } proc exec f(a) { return a; }"
    assert init(body, more) == [message]


@pytest.mark.parametrize(
    ("sections", "messages"),
    [
        ("var numeric: a, a;", ["variable a is already given in line 1"]),
        ("var numeric: a = 1 in (0, 1), b in (-2, 3 s);", []),
        ("var numeric: a = 1 in (b, 1), b;", ["a limit is a number, with or without a unit"]),
        ("var numeric: a in (2, 1);", ["the upper limit of a lies below the lower one"]),
        ("var numeric: a = 3 in (1, 2);", ["the default of a lies outside its limits"]),
        ("var vector: v in (1, 2);", ["only the numeric variables of an application have limits: users set those"]),
        (
            "proc exec f { var numeric: a in (1, 2); }",
            ["only the numeric variables of an application have limits: users set those"],
        ),
        ("include b; include b;", ["include b is already given in line 1"]),
        ("proc exec f { } proc cflow f { }", ["procedure f is already given in line 1"]),
        ("option { hrduse = 3; }", ['option hrduse is a text: write hrduse = "…"']),
        ("option { error = 1.5; }", ["an error is a part of the run time, from 0 to less than 1: 0.1 for 10 %"]),
        ("option { error_below = 1; }", ["an error is a part of the run time, from 0 to less than 1: 0.1 for 10 %"]),
        ("option { error_above = 1.5; }", []),
        ("option { error_above = -1; }", ["an error is a part of the run time, at least 0: 0.1 for 10 %"]),
        ('option { coupling = "independent"; }', []),
        ('option { coupling = "coupled"; }', []),
        ('option { coupling = "loose"; }', ['a coupling is "coupled" or "independent", not "loose"']),
        ("option { coupling = 1; }", ['option coupling is a text: write coupling = "…"']),
        ('option { couplin = "coupled"; }', ["option couplin is not known: did you mean coupling?"]),
        ("option { eror = 0.1; }", ["option eror is not known: did you mean error?"]),
        ("option { error = 0.1 * z; }", ["variable z is not declared"]),
        ("option { nstages = 3; }", ["option nstages is not known: did you mean nstage?"]),
        (
            'var numeric: npe; option { decompose = "npi, npe"; }',
            ["decompose: npi is no numeric variable here: did you mean npe?"],
        ),
        ("include pipe; link { pip: x = 1; }", ["pip is linked but not included: did you mean pipe?"]),
        ("include pipe; link { pipe: x = 1, x = 2; }", ["linked variable x is already given in line 1"]),
        ("proc exec max(a) { }", ["max is a built-in function: choose another name"]),
        ("proc exec f(string a) { }", ["parameter a is string: only numbers are passed"]),
        ("proc cflow w { compute <is clc, CMLX>; }", ["unknown opcode CMLX: did you mean"]),
        (
            "proc cflow w { case (<is clc>) { 0.6: call u; 0.5: call u; } } proc cflow u { }",
            ["the probabilities of the arms add up to 1.1: at most 1"],
        ),
        (
            "proc cflow w { call u; } proc cflow u { call w; }",
            ["cflow w calls itself (w → u → w): its time would never end"],
        ),
        ("proc cflow w { measured (s) { 1: 2 } }", ["variable s is not declared"]),
        (
            "proc cflow w { loop (<is clc>, n) call w2; }",
            ["variable n is not declared", "w2 is neither a procedure here nor included"],
        ),
    ],
)
def test_faults_of_sections(sections: str, messages: list[str]) -> None:
    found = sorted(faults(f"{sections} proc exec init {{ }}"))
    assert len(found) == len(messages)
    assert all(one.startswith(other) for one, other in zip(found, messages, strict=True))


def test_evaluation_needs_a_start() -> None:
    assert faults("") == ["application a has no `proc exec init`: evaluation starts there"]
    assert faults("partmp p { }") == ["partmp p has no `proc exec init`: evaluation starts there"]
    assert faults("proc cflow init { }") == ["init is a `proc exec`"]
    assert faults("proc exec init(a) { }") == ["init takes no parameters: link the variables of the object"]
