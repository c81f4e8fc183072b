from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.language import ModelError, Source, format_source, parse_psl
from cosched.language.checks.objects import check_object
from cosched.language.tunable_paths import tunable_paths
from cosched.modelling.calypso import ImportedModel, import_calypso

PARAMETERS = "task_control_parameters { int g = 16, d; int c; };\n"
TASK = "task t[10.0][g][({16},{4,8.0},1.0)] work(); taskend;"
SELECT = """task_select
    when (g==16) task a[60.0][d][({24},{2,1.0},1.0)]
        // algorithm A for finding "regions
    taskend finally {c = 0;}
    when (g==64) task b[60.0][d][({40},{2,1.0},1.0)] /* algorithm B; taskend */ taskend finally {c = 1;}
task_selectend;"""
# Written as the listing of Fig. 4 is, with its slips.
LISTING = """
task_control_parameters { int granularity; int distance; int c; };
task_loop( 1000 )
for ( i=0; i<1000; i++ ) {
    task sample[10.0][granularity][({16},{4,8.0},1.0), ({64},{4,2.0},1.0)]
        // routine
    taskend;
    task_select
    when (granularity==16) task markA[60.0][distance][({24},{2,1.0},1.0)]
    taskend; finally {c = 0;}
    when (granularity==64) task markB[60.0][distance][({40},{2,1.0},1.0)]
    taskend; finally {c = 1;}
    task_selectend;
    task_select
    when (c==0) task junctions[100.0][]({},{4,76.0},1.0)]
    taskend; finally {}
    when (c==1) task junctions[100.0][]({},{6,81.0},1.0)]
    taskend; finally {}
    task_selectend;
}
task_looped;
"""


def imported(text: str) -> ImportedModel:
    return import_calypso(Source("x.cc", text), "a")


def body(text: str) -> str:
    """Return the tunable procedure of an import without line breaks."""
    return " ".join(imported(PARAMETERS + text).text.partition("proc tunable main {")[2].split()).removesuffix(" } }")


def test_the_papers_listing_has_its_two_ways_and_a_warning_for_each_slip() -> None:
    found = imported(LISTING)
    (item,) = parse_psl(Source("a.psl", found.text))
    assert check_object(item) == []
    ways = tunable_paths(item, {}, {})
    assert [[(stage.hosts, stage.seconds) for stage in way.elements[0].elements] for way in ways] == [  # type: ignore[union-attr]
        [(4, 8.0), (2, 1.0), (4, 76.0)],
        [(4, 2.0), (2, 1.0), (6, 81.0)],
    ]
    assert [(warning.line, warning.message.partition(":")[0]) for warning in found.warnings] == [
        (10, "';' between taskend and finally"),
        (12, "';' between taskend and finally"),
        (15, "'[' is missing before the configurations"),
        (16, "';' between taskend and finally"),
        (17, "'[' is missing before the configurations"),
        (18, "';' between taskend and finally"),
        (21, "task_looped"),
    ]


def test_constructs_as_the_section_writes_them_have_no_warnings() -> None:
    found = imported(f"{PARAMETERS} void run() {{ task_loop (3) {TASK} {SELECT} task_loopend; }}")
    assert found.warnings == ()
    assert "var control: g = 16, d, c;" in found.text
    assert "task_loop (3) {" in found.text


def test_code_is_passed_over() -> None:
    text = 'int task = 3; log("task x[1][]"); // task y[1][]\n' + TASK + " char when = '\\''; finally(task);"
    assert body(text) == "task t [10.0 s] [g] [({16}, {4, 8.0 s}, 1.0)];"


def test_constants_become_parameters_and_times_may_be_expressions() -> None:
    text = f"#define TURNS 0x10\nconst unsigned int PARTS = 4u;\n{PARAMETERS}"
    text += "task_loop (TURNS) task t[][g][({2 * PARTS},{PARTS,g * 2.5f},1.0)] taskend task_loopend"
    found = imported(text).text
    assert "var numeric: TURNS = 16, PARTS = 4;" in found
    assert "task_loop (TURNS) {" in found
    assert "task t [] [g] [({2 * PARTS}, {PARTS, (g * 2.5) * 1 s}, 1.0)];" in found


def test_of_finally_only_control_parameters_are_kept() -> None:
    text = PARAMETERS + SELECT.replace("{c = 0;}", "{log(1); c = 0;}")
    (warning,) = imported(text).warnings
    assert warning.message == "code in finally that sets no control parameter: left out"
    assert "finally { c = 0; }" in imported(text).text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task t[1][g][({1},{1,1},1)] f();", "2:6: task t has no taskend: add it behind its code"),
        (f"task t[1][g][({{1}},{{1,1}},1)] f(); {TASK}", "2:6: task t has no taskend"),
        ("task t[1][h][({1},{1,1},1)] taskend", "2:11: h is no control parameter: declare it in task_control_param"),
        ("task t[1][g][({1},{1,1})] taskend", "2:14: this is none: a configuration is ({values}, {processors, time}"),
        ("task t[1][g][({1},{1},1)] taskend", "2:19: 1 resources: a configuration is"),
        ("task t[1][g] taskend", "2:14: 'taskend' stands here: '[' is expected"),
        ("task t[1][g][({1},{1,1},1) taskend", "2:13: '[' is not closed: add ']'"),
        ("task t[n][g][({1},{1,1},1)] taskend", "2:8: n is neither a control parameter nor a known constant"),
        ("task t[1 2][g][({1},{1,1},1)] taskend", "2:8: '1 2' is no expression"),
        ("task t[c ? 1 : 2][g][({1},{1,1},1)] taskend", "2:10: '?' has no place in an expression of constants and"),
        ("task_loop (3) " + TASK, "the text ends before task_loopend: add it"),
        ("task_select task_selectend", "2:1: task_select has no `when`: add one"),
        (SELECT.replace("task_selectend", ""), "the text ends here: 'task_selectend' or 'when' is expected"),
        (SELECT.replace("c = 0", "c++"), "finally sets control parameters as in `c = 1;`"),
        ("taskend;", "2:1: taskend ends nothing here: take it out, or add what it ends"),
        ("task_loop () " + TASK + " task_loopend", "2:1: an expression is missing here"),
        ("task_control_parameters { int 3; };", "2:27: a control parameter is declared as `int NAME;`"),
        (41 * "task_loop (1) ", "more than 40 constructs within one another: make it flatter"),
    ],
)
def test_what_cannot_be_read_has_its_place(text: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        imported(PARAMETERS + text)
    (fault,) = caught.value.diagnostics
    assert message in f"{fault.line}:{fault.column}: {fault.message}"
    assert fault.file == "x.cc"


def test_a_source_without_constructs_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"x\.cc: holds no task, task_select or task_loop of Calypso: nothing to import"
    ):
        imported("int main() { return 0; }")
    with pytest.raises(UserError, match="control parameter sqrt means something else in PSL"):
        imported("task_control_parameters { int sqrt; };")


def fault_of(text: str) -> str:
    """Return the fault of a source, or an empty text where it becomes a model in canonical layout."""
    try:
        found = imported(text)
    except ModelError as error:
        return "; ".join(str(fault) for fault in error.diagnostics)
    except UserError as error:
        return str(error)
    assert format_source(Source("a.psl", found.text)) == found.text
    return ""


INSERTED = ["", ";", "}", "{", "[", ")", "when", "taskend", '"', "task t[1][]", "/*", "9 x"]


@settings(deadline=None)
@given(st.data())
def test_a_damaged_source_ends_in_a_model_or_in_one_line(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(LISTING)))
    end = data.draw(st.integers(start, min(len(LISTING), start + 40)))
    assert "\n" not in fault_of(LISTING[:start] + data.draw(st.sampled_from(INSERTED)) + LISTING[end:])


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_ends_in_a_model_or_in_one_line(text: str) -> None:
    assert "\n" not in fault_of(text)
