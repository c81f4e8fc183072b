from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.language import ModelError, Source, default_library, parse_hmcl, parse_psl
from cosched.language.formatter import format_source, read_statements
from cosched.language.tokens import tokens
from tests.docs.examples import PAGES, examples
from tests.language.tunable_models import application, tunable_bodies

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

    from cosched.language.formatter import Statement
    from cosched.language.tokens import Token

FILES = sorted(path for root in default_library() for path in root.rglob("*.*"))
_PARTS = re.compile(r"\"[^\"\n]*\"|\(\*[\s\S]*?\*\)|\s+|[^\s\"(]+|\(")


def formatted(text: str, file: str = "x.psl") -> str:
    return format_source(Source(file, text))


def meaning(text: str, file: str) -> str:
    """Return the syntax tree as text, without positions."""
    tree = (parse_hmcl if file.endswith(".hmcl") else parse_psl)(Source(file, text))
    return re.sub(r"Position\(line=\d+, column=\d+\)", "", repr(tree))


MESSY = """

application   a{
include b ;include c;
(* a comment
     about what follows *)
  var numeric:x=1 in(0,5ms),y= - 2;   (* at the end *)
  var numeric: first = 1 in (0, 10), (* of these
        two *) second = 2,
        (* alone *)
   third = 3;


  link{b:x=x*( y+1 ),
  z = -x;}
proc exec init{
var numeric: i;
for(x=1;x<=3;x=x+1)
for(y=1;y<3;y=y+1)
step cpu on x{confdev f( x )%2;}
if(!x&&y>2){return -1;}else call b;
if (x) return 1; else if (y) return 2; (* so *)

(* or *)
else { y = 2; }
step mpisend { confdev -1, (2), 3;
confdev 1,2,3; (* last *)
(* no more *)
}
}
proc cflow w{
loop(<is clc,LFOR,2 * CMLL,(x+1) * AFDL>,x){compute <is measured,12  us>;compute <is
block,u , 2*x>;}
case (<is clc, IFBR>) { 0.5: call u; call v; 0.1: {} x: loop (<is clc>, 2) call u; }
measured (Nproc) { 1: 2 s,
2: 3 s }
}
}
subtask s { } (* end *)
(* of the file *)
"""

CANONICAL = """\
application a {
    include b;
    include c;

    (* a comment
       about what follows *)
    var numeric: x = 1 in (0, 5 ms), y = -2; (* at the end *)
    var numeric:
        first = 1 in (0, 10), (* of these
                                 two *)
        second = 2,
        (* alone *)
        third = 3;

    link { b: x = x * (y + 1), z = -x; }

    proc exec init {
        var numeric: i;

        for (x = 1; x <= 3; x = x + 1)
            for (y = 1; y < 3; y = y + 1) step cpu on x { confdev f(x) % 2; }
        if (!x && y > 2) {
            return -1;
        } else call b;
        if (x) return 1;
        else if (y) return 2; (* so *)
        (* or *)
        else {
            y = 2;
        }
        step mpisend {
            confdev -1, (2), 3;
            confdev 1, 2, 3; (* last *)
            (* no more *)
        }
    }

    proc cflow w {
        loop (<is clc, LFOR, 2*CMLL, (x + 1)*AFDL>, x) {
            compute <is measured, 12 us>;
            compute <is block, u, 2 * x>;
        }
        case (<is clc, IFBR>) {
            0.5:
                call u;
                call v;
            0.1: { }
            x:
                loop (<is clc>, 2) call u;
        }
        measured (Nproc) { 1: 2 s, 2: 3 s }
    }
}

subtask s { } (* end *)

(* of the file *)
"""

WIDE_HARDWARE = """
(* of the file *)
(* of h *)
config h { hardware { D = "a text", S = "a second text that does not fit beside the first, however the line is broken before it, is it"; }
hosts { a = 2; } hosts { b = 1; }
clc { LFOR = 1 + 2, (* each *)
CMLL = 2; AFDG = 10000000 * 10000000, MFDG = 10000000 * 10000000, SFDG = 10000000 * 10000000, SFDL = 10000000 * 2; } }
"""  # noqa: E501

WIDE_CANONICAL = """\
(* of the file *)

(* of h *)
config h {
    hardware {
        D = "a text",
        S = "a second text that does not fit beside the first, however the line is broken before it, is it";
    }

    hosts { a = 2; }
    hosts { b = 1; }

    clc {
        LFOR = 1 + 2, (* each *)
        CMLL = 2;
        AFDG = 10000000 * 10000000, MFDG = 10000000 * 10000000, SFDG = 10000000 * 10000000, SFDL = 10000000 * 2;
    }
}
"""


@pytest.mark.parametrize(
    ("text", "file", "expected"), [(MESSY, "x.psl", CANONICAL), (WIDE_HARDWARE, "h.hmcl", WIDE_CANONICAL)]
)
def test_canonical_layout(text: str, file: str, expected: str) -> None:
    assert formatted(text, file) == expected
    assert formatted(expected, file) == expected


def test_a_table_that_is_too_long_has_rows_of_the_same_length() -> None:
    entries = [f"{count}: {1000 - count} s" for count in range(1, 17)]
    text = f"application a {{ proc cflow w {{ measured (Nproc) {{ {', '.join(entries)} }} }} }}"
    rows = [", ".join(entries[:8]) + ",", ", ".join(entries[8:])]
    assert [line.strip() for line in formatted(text).splitlines()[3:5]] == rows


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_library_is_in_canonical_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text, path.name) == text
    assert max(map(len, text.splitlines())) <= 120


def test_the_pages_show_canonical_layout() -> None:
    models = [found for page in PAGES for found in examples(page) if found.words and found.words[0] in ("psl", "hmcl")]
    assert models
    for found in models:
        assert formatted(found.text, f"x.{found.words[0]}") == found.text, found.place


@settings(deadline=None)
@given(st.sampled_from([*FILES, CANONICAL, WIDE_CANONICAL]), st.randoms(use_true_random=True), st.floats(0, 1))
def test_any_line_breaks_and_spaces_give_one_layout(model: Path | str, random: Random, often: float) -> None:
    text = model if isinstance(model, str) else model.read_text(encoding="utf-8")
    file = "x.hmcl" if text.count("config ") and "proc " not in text else "x.psl"
    parts = _PARTS.findall(text)
    for place, part in enumerate(parts):
        beside_comment = any(
            near.startswith("(*") for near in parts[place + 1 : place + 2]
        )  # how a comment stands is kept
        unit = place and parts[place - 1][-1:].isdigit() and parts[place + 1 : place + 2] != ["*"]
        if part.isspace() and not beside_comment and not unit and random.random() < often:
            parts[place] = random.choice([" ", "   ", "\n", "\t", "\n\n\n", "\r\n"])
    spaced = "".join(parts).replace("\r", "")
    assert formatted(spaced, file) == text
    assert meaning(spaced, file) == meaning(text, file)


_NAMES = st.sampled_from(
    ["x", "size", "a_rather_long_name_of_a_variable", "Nproc", "12.5 us", "1e6", '"text, (* no comment"']
)
_OPERATORS = st.sampled_from(["+", "*", "&&", "||", "<=", "^", "%"])
_EXPRESSIONS = st.recursive(
    _NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, _OPERATORS, inner).map("({0[0]}{0[1]}{0[2]})".format),
        st.tuples(st.sampled_from("-!"), inner).map("".join),
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: f"f({','.join(parts)})"),
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: f"[{','.join(parts)}]"),
    ),
    max_leaves=25,
)
_COMMENTS = st.sampled_from(["", "", "", "(* c *)", "\n(* c *)\n", "\n  (* two\n   lines *) ", "(* a *)(* b *)"])
_SHAPES = st.sampled_from(
    [
        "x @={0}@;@",
        "@if({0})@{{ @ x@= {1}; @}}@ else @ if(x) @ y = {1};",
        "while({0}) @ for (x = {1};x;x={0}) @ {{ @ }} @",
        "step cpu @ on {0} @{{@ confdev {1}@,@ {0};@ confdev x; @}}",
        "var numeric: @ a = {0} @,@ b = {1} in (0,@1);",
        "@call f({0},@{1}); @ return {0};",
    ]
)


@settings(deadline=None)
@given(st.lists(st.tuples(_SHAPES, _EXPRESSIONS, _EXPRESSIONS), max_size=4), st.data())
def test_any_statements_keep_their_meaning_and_comments_in_a_final_layout(
    shapes: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    body = " ".join(shape.format(one, other) for shape, one, other in shapes)
    text = f"application a {{ @ proc exec init @ {{ {body} @ }} @ }} @"
    text = re.sub("@", lambda _: data.draw(_COMMENTS), text)
    once = formatted(text)
    assert formatted(once) == once
    assert meaning(once, "x.psl") == meaning(text, "x.psl")
    comments = r"\"[^\"\n]*\"|\(\*[\s\S]*?\*\)"
    assert [part.split() for part in re.findall(comments, once)] == [
        part.split() for part in re.findall(comments, text)
    ]


TUNABLE = """application a{var control:x=1,y;proc tunable main{task  t[10s][x,y][({16..256 by 2 x,1 .. 3},{4,8s},
x*(1.0+2)),({},{model s},1)] ; (* b *)
task_loop(3*n){ task_select{ when(x==16&&y<3) task v [] [][({},{2,1 s},1)];finally{}
when (x>=2){ task v[][][({},{2,1s},1)]; } (* before *) finally{ y=3; x = -y; }
when (1) task_loop (2) task z [] [] [({}, {1, 1 s}, 1)]; task zz [] [] [({}, {1, 1 s}, 1)]; finally { (* c *) y = 2; }
when (2) { } } } } }
"""

TUNABLE_CANONICAL = """\
application a {
    var control: x = 1, y;

    proc tunable main {
        task t [10 s] [x, y] [({16 .. 256 by 2x, 1 .. 3}, {4, 8 s}, x * (1.0 + 2)), ({}, {model s}, 1)]; (* b *)
        task_loop (3 * n) {
            task_select {
                when (x == 16 && y < 3) task v [] [] [({}, {2, 1 s}, 1)];
                finally { }
                when (x >= 2) {
                    task v [] [] [({}, {2, 1 s}, 1)];
                } (* before *) finally {
                    y = 3;
                    x = -y;
                }
                when (1)
                    task_loop (2) task z [] [] [({}, {1, 1 s}, 1)];
                    task zz [] [] [({}, {1, 1 s}, 1)];
                finally { (* c *)
                    y = 2;
                }
                when (2) { }
            }
        }
    }
}
"""


def test_canonical_layout_of_tunable_procedures() -> None:
    assert formatted(TUNABLE) == TUNABLE_CANONICAL
    assert formatted(TUNABLE_CANONICAL) == TUNABLE_CANONICAL


@settings(deadline=None)
@given(tunable_bodies, st.data())
def test_any_tunable_procedure_keeps_its_meaning_and_comments_in_a_final_layout(body: str, data: st.DataObject) -> None:
    text = re.sub(r"(?<=[;{}]) ", lambda _: data.draw(_COMMENTS) or " ", application(body))
    once = formatted(text)
    assert meaning(once, "x.psl") == meaning(text, "x.psl")
    assert sorted(re.findall(r"\(\*.*?\*\)", once)) == sorted(re.findall(r"\(\*.*?\*\)", text))
    assert formatted(once) == once


def test_a_text_with_faults_is_refused() -> None:
    with pytest.raises(ModelError, match="did you mean include"):
        formatted("application a { incude b; }")


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


def test_curves_parts_and_blocks_of_hardware() -> None:
    text = """config c { memory{curve=[ 1 KiB :8 GB/s,2:1e9 ] ;} blocks{a . u=2*3  ns;}
    mpi{points=[0:1 , 8:2],send_share=20%;} }"""
    assert (
        format_source(Source("c.hmcl", text))
        == """\
config c {
    memory { curve = [1 KiB: 8 GB/s, 2: 1e9]; }
    blocks { a.u = 2 * 3 ns; }
    mpi { points = [0: 1, 8: 2], send_share = 20 %; }
}
"""
    )
