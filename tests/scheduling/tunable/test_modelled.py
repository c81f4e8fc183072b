from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.evaluation import Application, load, load_hardware, profile
from cosched.language import ModelError, Source, parse_psl
from cosched.language.linker import Linked
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.modelled import modelled_chains
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableTask, admit
from tests.language.tunable_models import JUNCTIONS, application

if TYPE_CHECKING:
    from pathlib import Path

WORK = """
subtask work {
    include independent;
    var numeric: n;
    link { independent: Tx_work = cells(); }
    proc cflow cells { compute <is measured, n * 1 s / Nproc + Nproc * 1 s>; }
}
"""


def tunable(body: str, variables: str = "var control: g, d, c;") -> Application:
    (item,) = parse_psl(Source("x.psl", application(body, variables)))
    return Application("a", "x.psl", Linked(item))


def modelled(tmp_path: Path, body: str, variables: str = "var control: g = 1; var numeric: n = 16;") -> Application:
    path = tmp_path / "a.psl"
    path.write_text(application(body, variables, "include work; link { work: n = n / g; }") + WORK)
    return load(path)


def test_turns_are_unrolled_and_their_deadlines_begin_with_them() -> None:
    body = f"task s [] [] [({{}}, {{1, 1 s}}, 0.5)]; task_loop (2) {{ {JUNCTIONS} }}"
    chain = modelled_chains(tunable(body), None, {}, 8).chains[0].chain
    assert [stage.since for stage in chain.stages] == [None, 1, 1, 1, 4, 4, 4]
    assert chain.quality == 0.5


def test_defaults_follow_the_parameters_that_are_given() -> None:
    """A loop had the turns that its default says of all other defaults."""
    loop = tunable("task_loop (turns) task a [] [] [({}, {1, 1 s}, 1)];", "var numeric: n = 1, turns = 2 * n;")
    (way,) = modelled_chains(loop, None, {"n": 3}, 8).chains
    assert len(way.chain.stages) == 6


def test_turns_of_a_loop_in_a_loop_have_their_own_beginnings() -> None:
    task = "task {} [] [] [({{}}, {{1, 1 s}}, 1)];".format
    body = f"task_loop (2) {{ task_loop (2) {{ {task('a')} }} {task('b')} }}"
    (way,) = modelled_chains(tunable(body, ""), None, {}, 8).chains
    assert [(stage.name, stage.since) for stage in way.chain.stages] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("a", 3),
        ("a", 4),
        ("b", 3),
    ]


def test_a_loop_counts_once_for_quality() -> None:
    """0.5 to the power of 10,000 is 0: all ways would have been as bad."""
    (way,) = modelled_chains(tunable("task_loop (10000) task t [] [] [({}, {1, 1 s}, 0.5)];", ""), None, {}, 1).chains
    assert way.chain.quality == 0.5


def test_a_deadline_that_a_turn_just_meets_is_met_in_every_turn() -> None:
    """Sums of 0.1 and 0.2 differ from 0.3 in their last digits, in one turn this way and in another that."""
    body = "task_loop (1000) { task a [] [] [({}, {1, 0.1 s}, 1)]; task b [0.3 s] [] [({}, {1, 0.2 s}, 1)]; }"
    (way,) = modelled_chains(tunable(body, ""), None, {}, 1).chains
    assert admit(Holes([0.0]), TunableTask("t", 0.7, (way.chain,))) is not None
    late = Chain((Stage(1, 0.1, since=0), Stage(1, 0.2, 0.299, since=0)))
    assert admit(Holes([0.0]), TunableTask("t", 0.0, (late,))) is None


def test_a_model_request_offers_every_host_count_that_is_faster_than_fewer(tmp_path: Path) -> None:
    found = modelled(tmp_path, "task t [] [g] [({1}, {model work}, 1), ({4}, {model work}, 0.5)];")
    hardware = load_hardware("x86_64_gigabit")
    ways = modelled_chains(found, hardware, {}, 8).chains
    assert [way.chain.stages[0].hosts for way in ways] == [1, 2, 3, 4, 1, 2]
    seconds = [*(16 / hosts + hosts for hosts in (1, 2, 3, 4)), *(4 / hosts + hosts for hosts in (1, 2))]
    assert [way.chain.stages[0].seconds for way in ways] == pytest.approx(seconds)
    assert [way.chain.quality for way in ways] == 4 * [1.0] + 2 * [0.5]
    (only,) = modelled_chains(found, hardware, {"n": 4, "g": 4}, 8).chains
    assert only.chain.stages[0].seconds == pytest.approx(2)


def test_host_counts_in_a_loop_are_chosen_once(tmp_path: Path) -> None:
    found = modelled(tmp_path, "task_loop (3) task t [] [] [({}, {model work}, 1)];")
    ways = modelled_chains(found, load_hardware("x86_64_gigabit"), {}, 8).chains
    assert [{stage.hosts for stage in way.chain.stages} for way in ways] == [{1}, {2}, {3}, {4}]


def test_an_application_with_both_procedures_is_predicted_by_init(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    more = "include work; link { work: n = 8; } proc exec init { call work; call work; }"
    path.write_text(application("task t [] [] [({}, {model work}, 1)];", "", more) + WORK)
    hardware = load_hardware("x86_64_gigabit")
    assert profile(load(path), hardware, [1])[0] == pytest.approx(18)
    assert modelled_chains(load(path), hardware, {}, 1).chains[0].chain.stages[0].seconds == pytest.approx(9)


def test_what_cannot_be_asked_is_refused_with_what_to_do(tmp_path: Path) -> None:
    junctions = tunable(JUNCTIONS)
    with pytest.raises(UserError, match=r"no way through a has g = 17: its ways have g = 16 or 64$"):
        modelled_chains(junctions, None, {"g": 17}, 8)
    with pytest.raises(UserError, match="a has no parameter x: it has c, d, g"):
        modelled_chains(junctions, None, {"x": 1}, 8)
    with pytest.raises(UserError, match="jacobi is not tunable: it has no `proc tunable`"):
        modelled_chains(load("jacobi"), None, {}, 8)
    looped = tunable("task_loop (n) task t [] [g] [({1}, {1, 1 s}, 1)];", "var control: g; var numeric: n;")
    with pytest.raises(UserError, match="parameter n of a has no default: give it, n=NUMBER"):
        modelled_chains(looped, None, {}, 8)
    found = modelled(tmp_path, 2 * "task t [] [g] [({1 .. 4}, {model work}, 1)];")
    with pytest.raises(UserError, match=r"a.psl:1:\d+: task t needs the prediction of work: name the hardware"):
        modelled_chains(found, None, {}, 8)
    with pytest.raises(ModelError, match=r"2\.5 turns"):
        modelled_chains(looped, None, {"n": 2.5}, 8)
    endless = modelled(tmp_path, "task t [] [g] [({0}, {model work}, 1)];")
    with pytest.raises(UserError, match=r"task t cannot run as work says: .*division by zero"):
        modelled_chains(endless, load_hardware("x86_64_gigabit"), {}, 8)


def test_ways_with_predicted_host_counts_are_bounded(tmp_path: Path) -> None:
    found = modelled(tmp_path, 5 * "task t [] [] [({}, {model work}, 1)];")
    with pytest.raises(UserError, match="there are 1024 ways through a, more than 1000: offer fewer alternatives"):
        modelled_chains(found, load_hardware("x86_64_gigabit"), {}, 8)
