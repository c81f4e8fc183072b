from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, reject, settings

from cosched.evaluation import Application
from cosched.language import ModelError, Source, parse_psl
from cosched.language.linker import Linked
from cosched.language.tunable_paths import PathLoop
from cosched.scheduling.tunable.modelled import modelled_chains
from cosched.scheduling.tunable.or_graph import or_graph
from tests.language.tunable_models import application, tunable_bodies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.language.tunable_paths import PathElement, PathStage, TunablePath
    from cosched.scheduling.tunable.or_graph import GraphStage


def paths(body: str, variables: str) -> list[TunablePath]:
    (item,) = parse_psl(Source("x.psl", application(body, variables)))
    return [way.path for way in modelled_chains(Application("a", "x.psl", Linked(item)), None, {}, 8).chains]


def one_turn(elements: Sequence[PathElement], turns: int = 1) -> Iterator[tuple[PathStage, int]]:
    for element in elements:
        if isinstance(element, PathLoop):
            yield from one_turn(element.elements, turns * element.turns)
        else:
            yield element, turns


def walks(graph: Sequence[GraphStage]) -> Iterator[tuple[tuple[PathStage, int], ...]]:
    """Yield every walk from a first stage to a last one."""
    by_number = {node.number: node for node in graph}
    waiting = [[node] for node in graph if node.first]
    while waiting:
        walk = waiting.pop()
        waiting += [[*walk, by_number[number]] for number in walk[-1].then]
        if walk[-1].last:
            yield tuple((node.stage, node.turns) for node in walk)


def test_stages_behind_which_all_is_alike_are_one_node() -> None:
    body = """task t [] [g] [({1 .. 3}, {g, 1 s}, 1)];
    task_select { when (g == 1) { } when (1) { } finally { g = 0; } }
    task_select { when (g == 0) task_loop (2) task u [] [] [({}, {1, 1 s}, 1)]; when (1) { } }"""
    graph = or_graph(paths(body, "var control: g;"))
    assert [(node.stage.name, node.turns, node.first, node.last, node.then) for node in graph] == [
        ("t", 1, True, True, (2,)),
        ("u", 2, False, True, ()),
        ("t", 1, True, True, (2,)),
        ("t", 1, True, True, (2,)),
    ]


@settings(deadline=None)
@given(tunable_bodies)
def test_the_walks_of_the_graph_are_the_ways(body: str) -> None:
    try:
        ways = paths(body, "var control: g = 1, d = 1, c = 1;")
    except ModelError:
        reject()
    assert set(walks(or_graph(ways))) == {tuple(one_turn(way.elements)) for way in ways}
