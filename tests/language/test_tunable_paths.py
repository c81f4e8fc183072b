from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, reject, settings

from cosched.language import ModelError, Source, parse_psl
from cosched.language.tunable_paths import PathLoop, tunable_paths, tunable_procedure
from cosched.tunable_bounds import MOST_CHAINS, MOST_STAGES
from tests.language.tunable_models import JUNCTIONS, application, tunable_bodies, ways_one_by_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.language.tunable_paths import PathElement, TunablePath


def paths(
    body: str,
    given: Mapping[str, float] = {},
    fixed: Mapping[str, float] = {},
    variables: str = "var control: g, d, c;",
) -> tuple[TunablePath, ...]:
    (item,) = parse_psl(Source("x.psl", application(body, variables)))
    return tunable_paths(item, given, fixed)


def faults(body: str, variables: str = "var control: g, d, c;", **given: float) -> list[str]:
    with pytest.raises(ModelError) as caught:
        paths(body, given, variables=variables)
    return [fault.message for fault in caught.value.diagnostics]


def rows(elements: Sequence[PathElement]) -> list[tuple[str, float, float]]:
    """Return name, hosts and microseconds of every stage, turns unrolled."""
    found: list[tuple[str, float, float]] = []
    for element in elements:
        if isinstance(element, PathLoop):
            found += element.turns * rows(element.elements)
        else:
            found.append((element.name, element.hosts, element.seconds * 1e6))
    return found


def test_what_a_stage_in_a_loop_needs_may_tell_of_the_value_that_it_sets() -> None:
    """It was said to be read before it was set, so that `({1 .. 4 by 2x}, {1, 4 s / g}, 1)` was of no use in loops."""
    found = paths("task_loop (3) task t [9 s * g] [g] [({1 .. 4 by 2x}, {g, 4 s / g}, 1 - g / 100)];")
    assert [rows(path.elements)[0][1:] for path in found] == [(1, 4e6), (2, 2e6), (4, 1e6)]


def test_the_junction_detection_of_the_paper() -> None:
    """Fig. 4: two chains; c, which the second step sets, decides the third."""
    fine, coarse = paths(JUNCTIONS)
    assert [(stage.hosts, stage.seconds, stage.deadline) for stage in fine.elements] == [  # type: ignore[union-attr]
        (4, 8.0, 10.0),
        (2, 1.0, 60.0),
        (4, 76.0, 100.0),
    ]
    assert [row[1:] for row in rows(coarse.elements)] == [(4, 2e6), (2, 1e6), (6, 81e6)]
    assert fine.values == (("c", 0.0), ("d", 24.0), ("g", 16.0))
    assert dict(coarse.values) == {"c": 1.0, "d": 40.0, "g": 64.0}
    assert [stage.sets for stage in fine.elements] == [(("g", 16.0),), (("d", 24.0),), ()]  # type: ignore[union-attr]


def test_a_loop_makes_one_choice_for_all_turns() -> None:
    (fine, coarse) = paths(f"task_loop (1000) {{ {JUNCTIONS} }}")
    (loop,) = fine.elements
    assert isinstance(loop, PathLoop)
    assert (loop.turns, len(loop.elements)) == (1000, 3)
    assert len(rows(coarse.elements)) == 3000


def test_a_fixed_control_parameter_leaves_the_ways_that_give_it_that_value() -> None:
    assert [path.values for path in paths(JUNCTIONS, fixed={"c": 1})] == [paths(JUNCTIONS)[1].values]
    assert paths(JUNCTIONS, fixed={"g": 17, "c": 0}) == ()


def test_ranges_go_up_by_steps_or_factors_and_qualities_are_expressions() -> None:
    body = "task t [] [g, d] [({16 .. 256 by 2x, 1 .. 2 by 0.5}, {ceil(g / 16), g * 1 s}, 1 - 8 / g)];"
    found = [path.elements[0] for path in paths(body)]
    assert len(found) == 5 * 3
    assert found[-1].sets == (("g", 256.0), ("d", 2.0))  # type: ignore[union-attr]
    assert (found[-1].hosts, found[-1].seconds, found[-1].quality) == (16, 256.0, 1 - 8 / 256)  # type: ignore[union-attr]


def test_parameters_decide_turns_and_times() -> None:
    variables = "var control: g; var numeric: n;"
    body = "task_loop (n) task t [] [g] [({1}, {n, n * 1 s}, 1)];"
    assert rows(paths(body, {"n": 2}, variables=variables)[0].elements) == 2 * [("t", 2, 2e6)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("task t [] [] [({}, {g, 1 s}, 1)];", "control parameter g is read before it is set"),
        ("task_select { when (c) { } }", "control parameter c is read before it is set"),
        ("task_loop (g) task t [] [g] [({1}, {1, 1 s}, 1)];", "control parameter g is read before it is set"),
        (
            "task t [] [g] [({1 .. 3}, {1, 1 s}, 1)]; task_select { when (g == 1) { } when (g > 2) { } }",
            "no arm of this task_select holds where g = 2: add a `when` for it, or do not set that",
        ),
        ("task t [] [g] [({0}, {g, 1 s}, 1)];", "0 hosts: give a whole number, 1 or more (where g = 0)"),
        ("task t [] [g] [({1}, {g * 1e8, 1 s}, 1)];", "100000000 hosts: give at most 1000000 (where g = 1)"),
        ("task t [] [g] [({1.5}, {g, 1 s}, 1)];", "1.5 hosts: give a whole number, 1 or more (where g = 1.5)"),
        ("task t [] [g] [({0}, {1, g * 1 s}, 1)];", "a stage of 0 s: its time is finite and above 0 (where g = 0)"),
        (
            "task t [] [g] [({2}, {1, 1 s}, 1 - g)];",
            "a quality of -1: give a number above 0 and at most 1, which is full quality (where g = 2)",
        ),
        ("task t [g * 1 s] [g] [({0}, {1, 1 s}, 1)];", "a deadline of 0 s: it is finite and above 0 (where g = 0)"),
        ("task t [] [g] [({0}, {1 / g, 1 s}, 1)];", "division by zero"),
        (
            "task t [] [g] [({0.5}, {1, 1 s}, 1)]; task_loop (g) { }",
            "0.5 turns: give a whole number from 1 to 1000000 (where g = 0.5)",
        ),
        ("task t [] [g] [({3 .. 1}, {1, 1 s}, 1)];", "the range runs from 3 down to 1: it goes up"),
        (
            "task t [] [g] [({1 .. 3 by 0}, {1, 1 s}, 1)];",
            "the range from 1 by 0 never ends: it goes up by a step above 0",
        ),
        (
            "task t [] [g] [({0 .. 3 by 2x}, {1, 1 s}, 1)];",
            "the range from 0 by 2x never ends: it goes up by a factor above 1, from above 0",
        ),
        ("task t [] [g] [({1 .. 2000}, {1, 1 s}, 1)];", "the range has more than 1000 values: take a larger step"),
        (
            "task t [9 s] [] [({}, {1, 1 s}, 1)]; task u [5 s] [] [({}, {1, 1 s}, 1)];",
            "the deadline of u, 5 s, is before that of t, 9 s, which runs first: a deadline covers all stages before "
            "it, too",
        ),
        ("task_select { when (1) { } }", "there is a way through main without any task"),
        (
            "task s [] [g] [({1}, {1, 1 s}, 1)]; task_loop (3) { task_select { when (g == 1) "
            "task t [] [] [({}, {1, 1 s}, 1)]; } task u [] [g] [({2}, {1, 1 s}, 1)]; }",
            "g is read in a turn before it is set in it, so that the next turn would choose otherwise: all turns "
            "choose alike, so set it first",
        ),
    ],
)
def test_what_only_shows_on_the_way(body: str, message: str) -> None:
    assert faults(body) == [message]


def test_a_fault_has_the_place_of_the_expression() -> None:
    with pytest.raises(ModelError) as caught:
        paths("\n  task t [] [g] [({0}, {g, 1 s}, 1)];")
    assert [(fault.line, fault.column) for fault in caught.value.diagnostics] == [(2, 25)]


def test_deadlines_of_turns_begin_anew() -> None:
    body = "task t [9 s] [] [({}, {1, 1 s}, 1)];"
    assert len(paths(f"task s [20 s] [] [({{}}, {{1, 1 s}}, 1)]; task_loop (3) {{ {body} }}")) == 1
    later = "task u [5 s] [] [({}, {1, 1 s}, 1)];"
    assert "the deadline of u" in faults(f"{body} task_loop (2) task l [1 s] [] [({{}}, {{1, 1 s}}, 1)]; {later}")[0]


def test_ways_are_bounded() -> None:
    two = "task t [] [g] [({1 .. 2}, {1, 1 s}, 1)];"
    assert len(paths(9 * two)) == 512
    (message,) = faults(10 * two)
    assert message == f"there are more than {MOST_CHAINS} ways through main up to here: offer fewer alternatives"
    (message,) = faults("task t [] [g, d] [({1 .. 40, 1 .. 40}, {1, 1 s}, 1)];")
    assert f"more than {MOST_CHAINS} ways" in message


def test_stages_are_bounded() -> None:
    (message,) = faults(f"task_loop (1000) task_loop (1000) {{ {JUNCTIONS} }}")
    assert message == (
        f"the ways through main have together more than {MOST_STAGES} stages: offer fewer alternatives or turns"
    )


def test_ways_that_depend_on_what_is_not_given_are_left_out() -> None:
    assert paths("task_loop (n) task t [] [g] [({1}, {1, 1 s}, 1)];", variables="var control: g; var numeric: n;") == ()


@settings(deadline=None)
@given(tunable_bodies)
def test_the_ways_are_those_of_every_sequence_of_choices(body: str) -> None:
    (item,) = parse_psl(Source("x.psl", application(body)))
    procedure = tunable_procedure(item)
    assert procedure is not None
    try:
        found = tunable_paths(item, {}, {})
    except ModelError as error:
        said = " ".join(fault.message for fault in error.diagnostics)
        assert "without any task" in said or "choose alike" in said or "more than" in said
        reject()
    expected = ways_one_by_one(procedure, {"g": 1.0, "d": 1.0, "c": 1.0})
    assert len(found) == len(expected)
    for path, way in zip(found, expected, strict=True):
        stages = rows(path.elements)
        assert [stage[:2] for stage in stages] == [stage[:2] for stage in way]
        assert [stage[2] for stage in stages] == pytest.approx([stage[2] for stage in way])


MANY = ", ".join(30 * ["({1 .. 900}, {1, 1 s}, 1)"])


@pytest.mark.parametrize(
    ("body", "least"),
    [
        ("task a [] [g] [({1 .. 900}, {1, 1 s}, 1)]; task b [] [d] [({1 .. 900}, {1, 1 s}, 1)];", 1),
        (f"task_select {{ {30 * 'when (1) task a [] [g] [({1 .. 900}, {1, 1 s}, 1)]; '} }}", 1),
        (f"task a [] [g] [{MANY.replace('{1, 1 s}', '{g - 900.5, 1 s}')}];", 200),
    ],
)
def test_ways_are_bounded_while_they_are_found(body: str, least: int) -> None:
    """A thousand ways with as many choices each were all followed before they were counted."""
    before = process_time()
    assert len(faults(body)) >= least
    assert process_time() - before < 2
