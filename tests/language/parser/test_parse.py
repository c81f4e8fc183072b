from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cosched.language import ModelError, Source, decode, default_library, parse_hmcl, parse_psl, read
from cosched.language.arithmetic import constant, value
from cosched.language.syntax import (
    Assign,
    Binary,
    BlockUsage,
    Call,
    Case,
    Compute,
    For,
    If,
    Loop,
    Measured,
    MeasuredUsage,
    MemoryUsage,
    Name,
    Number,
    Object,
    Return,
    Step,
    Unary,
    ValueRange,
    Variables,
    While,
    walk,
)
from cosched.language.vocabulary import TUNABLE_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.language import Diagnostic

# In the style in which the papers print theirs.
PAPER = """
(* a comment (with parentheses) and * stars *)
application sample {
    include hardware;
    include work;
    var numeric:
        npe_i = 4,
        npe_j = 4,
        total;
    var string: label = "a \\ b";
    link {
        hardware:
            Nproc = npe_i * npe_j;
        work:
            n = total, Tx = step_time();
    }
    option {
        hrduse = "SgiOrigin2000";
    }
    proc exec init {
        var numeric: i;
        total = ceil( 100 / npe_i );
        for( i = 1; i <= total; i = i + 1 ) {
            call work;
        }
        while( i > 0 && !( i == 3 ) ) i = i - 1;
        if( i < 0 || i >= 5 ) { call work; } else if( i != 0 ) i = -2 ^ 2; else { }
    }
    proc cflow step_time {
        compute <is clc, 3*CMLL, TILL, (2 + 1)*AILL>;
        loop( <is clc, LFOR>, total ) {
            case( <is clc, IFBR> ) {
                0.3: compute <is clc, AFDL>;
                     call other;
                0.5: { compute <is clc, MFDL>; }
            }
        }
    }
    proc cflow other() { }
}
subtask work { include pipe; var numeric: n, Tx; link { pipe: Tx = Tx; } }
partmp pipe {
    var numeric: Tx; var vector: v = [1, 2.5, .5e1];
    option { nstage = 1, seval = 0; }
    proc exec init {
        step cpu { confdev Tx; }
        step cpu on 1 { confdev Tx; confdev v[2]; }
        step mpisend { confdev 1, 2, 8; }
        step pvmrecv { confdev 1, 2, 8; }
    }
    proc exec f(numeric a, b) { return a + b; }
}
"""


def parse(text: str) -> tuple[Object, ...]:
    return parse_psl(Source("x.psl", text))


def faults(text: str) -> list[str]:
    with pytest.raises(ModelError) as caught:
        parse(text)
    return [f"{fault.line}:{fault.column}: {fault.message}" for fault in caught.value.diagnostics]


def init(body: str) -> tuple[object, ...]:
    return parse(f"application a {{ proc exec init {{ {body} }} }}")[0].procedures[0].body


def test_a_model_in_the_papers_style() -> None:
    application, subtask, template = parse(PAPER)
    assert [item.kind for item in (application, subtask, template)] == ["application", "subtask", "partmp"]
    assert [include.name for include in application.includes] == ["hardware", "work"]
    assert application.declared() == {"npe_i": "numeric", "npe_j": "numeric", "total": "numeric", "label": "string"}
    assert [(link.target, [assign.name for assign in link.assigns]) for link in application.links] == [
        ("hardware", ["Nproc"]),
        ("work", ["n", "Tx"]),
    ]
    body = application.procedures[0].body
    assert [type(statement) for statement in body] == [Variables, Assign, For, While, If]
    compute, loop = application.procedures[1].body
    assert isinstance(compute, Compute)
    assert isinstance(loop, Loop)
    case = loop.body[0]
    assert isinstance(case, Case)
    assert [len(arm.body) for arm in case.arms] == [2, 1]
    assert [(option.name, option.value) for option in template.options if isinstance(option.value, Number)]
    steps = template.procedures[0].body
    assert [(step.device, len(step.confdevs)) for step in steps if isinstance(step, Step)] == [
        ("cpu", 1),
        ("cpu", 2),
        ("mpisend", 1),
        ("pvmrecv", 1),
    ]
    assert [(p.type, p.name) for p in template.procedures[1].parameters] == [("numeric", "a"), ("numeric", "b")]
    assert isinstance(template.procedures[1].body[0], Return)


def test_positions_are_those_of_the_text() -> None:
    application = parse("\n  application a {\n    var numeric: x = 1 +\n 2;\n}")[0]
    declared = application.variables[0].declarations[0]
    assert (application.at, declared.at) == ((2, 3), (3, 18))
    assert declared.value == Binary((3, 24), "+", Number((3, 22), 1), Number((4, 2), 2))  # type: ignore[arg-type]  # a tuple equals a Position


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("-2 ^ 2", "(-(2 ^ 2))"),
        ("2 ^ 3 ^ 2", "(2 ^ (3 ^ 2))"),
        ("a < 1 && b || c", "(((a < 1) && b) || c)"),
        ("a == b < c", "(a == (b < c))"),
        ("!a + 1", "((!a) + 1)"),
        ("8 / 4 % 3", "((8 / 4) % 3)"),
    ],
)
def test_operators_bind_as_documented(text: str, grouped: str) -> None:
    (assign,) = init(f"x = {text};")
    assert isinstance(assign, Assign)
    assert _shown(assign.value) == grouped


def _shown(node: object) -> str:
    match node:
        case Binary():
            return f"({_shown(node.left)} {node.operator} {_shown(node.right)})"
        case Unary():
            return f"({node.operator}{_shown(node.operand)})"
        case Number():
            return f"{node.value:g}"
        case Name():
            return node.id
    raise AssertionError(node)


def test_units_belong_to_literals_only() -> None:
    (assign,) = init("x = 3 GB / s + 2 kB/s;")
    assert isinstance(assign, Assign)
    assert _shown(assign.value) == "((3e+09 / s) + 0.002)"


def test_measured_costs() -> None:
    (first, second) = (
        parse("""application a { proc cflow w {
        measured (Nproc) { 1: 50 s, 2: 40 s }
        compute <is measured, 2 * 12.5 us>;
    } }""")[0]
        .procedures[0]
        .body
    )
    assert isinstance(first, Measured)
    assert [(_shown(entry.key), _shown(entry.time)) for entry in first.entries] == [("1", "5e+07"), ("2", "4e+07")]
    assert isinstance(second, Compute)
    assert isinstance(second.usage, MeasuredUsage)


def test_block_is_a_usage_and_a_name() -> None:
    (item,) = parse("""application block { var numeric: block = 8; proc cflow w {
        loop (<is block, block, 2 * block>, block) call block;
    } }""")
    (loop,) = item.procedures[0].body
    assert isinstance(loop, Loop)
    assert isinstance(loop.usage, BlockUsage)
    assert (loop.usage.name, _shown(loop.usage.count)) == ("block", "(2 * block)")
    assert "expected ','" in faults("application a { proc cflow w { compute <is block, b>; } }")[0]


def test_curves_parts_and_costs_of_blocks() -> None:
    text = """config c { mpi { points = [0 B: 1 us, 8: 2], send_share = 20 %; }
        blocks { a.b = 4 / 2; } clc { LFOR = 7 % 4; } }"""
    (config,) = parse_hmcl(Source("c.hmcl", text))
    mpi, blocks, clc = config.groups
    assert [(_shown(point.size), _shown(point.cost)) for point in mpi.curves[0].points] == [("0", "1"), ("8", "2")]
    assert [setting.name for group in (mpi, blocks) for setting in group.settings] == ["send_share", "a.b"]
    assert [value(group.settings[0].value, {}) for group in (mpi, blocks, clc)] == [0.2, 2, 3]


def test_memory_is_a_usage_and_a_name() -> None:
    """Models that named something so before there were costs of memory still say the same."""
    (item,) = parse("""application memory { var numeric: memory = 8; proc cflow w {
        loop (<is memory, 16 * memory, memory>, memory) call memory;
    } }""")
    assert item.declared() == {"memory": "numeric"}
    (loop,) = item.procedures[0].body
    assert isinstance(loop, Loop)
    assert isinstance(loop.usage, MemoryUsage)
    assert (_shown(loop.usage.volume), _shown(loop.usage.working_set)) == ("(16 * memory)", "memory")
    assert (_shown(loop.count), loop.body[0]) == ("memory", Call(loop.body[0].at, "memory", None))
    assert "expected ','" in faults("application a { proc cflow w { compute <is memory, 8>; } }")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("applicaton a { }", ["1:1: unexpected 'applicaton': did you mean application?"]),
        ("application a { incude b; }", ["1:17: unexpected 'incude': did you mean include?"]),
        ("application a { include b }", ["1:27: unexpected '}': expected ';'"]),
        ("application a { (* open", ["1:17: the comment is not closed: it ends with *)"]),
        (
            'application a { var string: s = "open; }',
            ['1:33: the text is not closed: a string ends with " on its line'],
        ),
        ("application a { var numeric: x = 5 sec; }", ["1:36: 'sec' is no unit, and an operator is missing"]),
        ("application a { var numeric: x = 5 KB; }", ["1:36: 'KB' is no unit: did you mean kB or KiB or kbit?"]),
        ("application a {\n", ["1:16: the file ends too early"]),
        ("application a { @ }", ["1:17: unexpected character '@'"]),
    ],
)
def test_syntax_errors_say_what_is_wrong(text: str, expected: list[str]) -> None:
    if not expected:
        assert parse(text) == ()
    else:
        found = faults(text)
        assert len(found) == len(expected)
        assert all(one.startswith(other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("applicationa { }", "unexpected 'applicationa': did you mean application?"),
        ("application a { includeb; }", "unexpected 'includeb': did you mean include?"),
        ("application a { proc execinit { } }", "unexpected 'execinit': did you mean exec?"),
        ("application a { proc cflow w { compute <isclc, AFDG>; } }", "unexpected 'isclc': expected is"),
    ],
)
def test_a_word_is_not_the_beginning_of_another(text: str, expected: str) -> None:
    """The layout would tear them apart, or take one for a name."""
    with pytest.raises(ModelError, match=re.escape(expected)):
        parse_psl(Source("x.psl", text))


def test_names_may_begin_with_words_of_the_language() -> None:
    body = "forx = 1; if (1) x = 1; elsewhere = 2; stepcpu = variable; call calling; inn = is;"
    (found,) = parse_psl(
        Source(
            "x.psl", f"application option {{ var numeric: in1 = 2 in (1, 2), optional; proc exec init {{ {body} }} }}"
        )
    )
    assert [statement.name for statement in found.procedures[0].body if isinstance(statement, Assign)] == [
        "forx",
        "elsewhere",
        "stepcpu",
        "inn",
    ]


def test_all_syntax_errors_of_a_file_are_reported() -> None:
    found = faults("""application a {
    incude b;
    var numeric: x = = 3;
    proc exec init {
        for (i = 1; i < 3 i = i + 1) { step cpu { confdev 1; } }
        x = (3;
        step cpu { confdef 1; }
    }
    proc cflow w { compute <is cla>; }
}
subtask s { var numbr: x; }
nonsense
""")
    assert [int(line.split(":")[0]) for line in found] == [2, 3, 5, 6, 7, 9, 11, 12]


def test_nesting_is_bounded_and_parsing_is_not_recursive() -> None:
    deep = 1_500  # deeper than Python recurses
    assert init("x = " + "(" * deep + "1" + ")" * deep + ";")
    for body in ("-" * deep + "1", "1" + "+1" * deep, "2" + "^2" * deep):
        assert "nested deeper than 100 levels" in faults(f"application a {{ proc exec init {{ x = {body}; }} }}")[0]
    ifs = faults(f"application a {{ proc exec init {{ {'if (1) ' * deep} x = 1; }} }}")
    assert "nested deeper" in ifs[0]


@pytest.mark.timeout(120)  # it takes milliseconds, or, where a number can be read in many ways, hours
@pytest.mark.parametrize("number", ["9" * 200_000, "1." + "9" * 200_000, "9" * 200_000 + "e5"])
def test_a_number_of_very_many_digits_keeps_nobody_waiting(number: str) -> None:
    assert "unexpected" in faults(number)[0]
    assert "is no unit" in faults(f"application a {{ proc exec init {{ x = {number} x; }} }}")[0]


def test_hmcl() -> None:
    (config,) = parse_hmcl(
        Source("x.hmcl", 'config c { hardware { T = 1/195, D = "x"; E = 2; } clc { LFOR = 3 * T; } }')
    )
    assert [(group.name, [setting.name for setting in group.settings]) for group in config.groups] == [
        ("hardware", ["T", "D", "E"]),
        ("clc", ["LFOR"]),
    ]


def test_walk_visits_every_node_with_its_depth() -> None:
    (assign,) = init("x = 1 + -y;")
    assert isinstance(assign, Assign)
    assert [(type(node).__name__, depth) for node, depth in walk(assign)] == [
        ("Assign", 1),
        ("Binary", 2),
        ("Number", 3),
        ("Unary", 3),
        ("Name", 4),
    ]


TASK = "`task NAME [DEADLINE] [x, y] [WAY, WAY, …];`"
WAY = "`({values}, {hosts, time}, quality)`"
TUNABLE_FAULTS = [
    ("task t [1 s] [x] [];", f"a task needs at least one way: {WAY}"),
    ("task t [1 s] [x];", f"a list in [] is missing: {TASK}"),
    ("task t;", f"a list in [] is missing: {TASK}"),
    (
        "task t [x] [({1}, {1, 1}, 1)];",
        "[] is missing before the ways, for no deadline or no control parameters: ",
    ),
    ("task t [] [x] [({1}, {1, 1})];", f"the quality is missing: {WAY}"),
    ("task t [] [x] [({1}, {1}, 1)];", f"the hosts or the time are missing: {WAY}"),
    ("task t [] [x] [({1}, 1)];", f"the hosts and the time are missing: {WAY}"),
    ("task t [1 s] [x] [({1}, {model 3}, 1)];", "unexpected '3': expected a name"),
    ("task t [1 s] [x] [({1 .. }, {1, 1}, 1)];", "unexpected '}': expected an expression"),
    ("task_select { }", "a task_select needs at least one `when (CONDITION) …`"),
    ("task_select { task t [] [] []; when (1) { } }", "a task_select needs at least one `when (CONDITION) …`"),
    ("task_lop (1) { }", "unexpected 'task_lop': did you mean task_loop"),
    ("task_loop (3) task t [] [] [({}, {1, 1}, 1)]", "unexpected '}': expected ';'"),
]


@pytest.mark.parametrize(("body", "expected"), TUNABLE_FAULTS)
def test_syntax_errors_of_tunable_procedures(body: str, expected: str) -> None:
    found = faults(f"application a {{\nproc tunable m {{\n{body}\n}} }}")
    assert [fault.partition(": ")[2].startswith(expected) for fault in found] == [True]


def test_a_select_without_arms_hides_no_fault_behind_it() -> None:
    found = faults("application a {\nproc tunable m {\ntask_select { task_loop (2) { } }\ntask t [] [];\n} }")
    assert [fault.partition(": ")[0] for fault in found] == ["3:15", "4:13"]


def test_numbers_of_a_range_need_no_space_before_its_dots() -> None:
    texts = ("1 .. 3 by 2x", "1..3 by 2 x", "1.0..3. by 2x")
    found = []
    for text in texts:
        (item,) = parse(f"application a {{ proc tunable m {{ task t [] [x] [({{{text}}}, {{1, 1}}, 1)]; }} }}")
        found += [node for node, _ in walk(item) if isinstance(node, ValueRange)]
    assert [(constant(one.first), constant(one.last), one.geometric) for one in found] == 3 * [(1.0, 3.0, True)]
    assert [constant(one.step) for one in found if one.step] == 3 * [2.0]


def test_words_of_tunable_procedures_are_names_elsewhere() -> None:
    text = " ".join(f"{word} = {word} + 1;" for word in TUNABLE_WORDS)
    (item,) = parse(f"application a {{ var numeric: {', '.join(TUNABLE_WORDS)}; proc exec init {{ {text} }} }}")
    assert list(item.declared()) == list(TUNABLE_WORDS)


@given(st.lists(st.sampled_from([*TUNABLE_WORDS, *"{}[]();,=x1", "..", "2x", "10 s"]), max_size=60).map(" ".join))
def test_any_tunable_text_ends_in_a_tree_or_in_diagnostics(text: str) -> None:
    for fault in diagnostics(parse_psl, f"application a {{ proc tunable m {{ {text}"):
        assert "\n" not in str(fault)


_MORE = ["measured", "config", "mpi", "50 s", "(*", "*)", '"', "\n", "1e999", "µ", "\ud800"]
WORDS = [*re.findall(r"\w+|[^\w\s]", PAPER), *_MORE]


def diagnostics(parser: Callable[[Source], object], text: str) -> tuple[Diagnostic, ...]:
    """Return what the parser or, before it, the reader finds wrong; nothing where the text is sound."""
    try:
        parser(decode(text, "any"))
    except ModelError as error:
        return error.diagnostics
    return ()


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)))
@example("}}}}")
@example("application a { proc exec init { } } }")
@example("config a { mpi { A = 1; } } }")
def test_any_text_ends_in_a_tree_or_in_diagnostics(text: str) -> None:
    for parser in (parse_psl, parse_hmcl):
        for fault in diagnostics(parser, text):
            assert "\n" not in str(fault)
            assert fault.line >= 1
            assert fault.column >= 1
            assert fault.render().startswith(str(fault))


MODELS = sorted(path for root in default_library() for path in root.rglob("*.psl"))


@given(st.data())
def test_a_damaged_model_ends_in_a_tree_or_in_diagnostics_inside_the_text(data: st.DataObject) -> None:
    text = read(data.draw(st.sampled_from(MODELS))).text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    damaged = text[:start] + data.draw(st.sampled_from(["", ";", "}", "{", "x", "(", "1 2", '"'])) + text[end:]
    found = diagnostics(parse_psl, damaged)
    assert len(found) <= 20
    assert all(1 <= fault.line <= damaged.count("\n") + 1 for fault in found)
