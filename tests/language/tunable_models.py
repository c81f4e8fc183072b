"""Tunable applications for tests: drawn at random, and their ways found by trying every sequence of choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from cosched.language.arithmetic import value
from cosched.language.syntax import HostsRequest, Procedure, TaskLoop, TaskSelect, TaskStage, ValueRange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.language.syntax import Tunable

__all__ = ["JUNCTIONS", "application", "tunable_bodies", "ways_one_by_one"]

JUNCTIONS = """
task sampleImage [10 s] [g] [({16}, {4, 8 s}, 1.0), ({64}, {4, 2 s}, 1.0)];
task_select {
    when (g == 16) task markRegionA [60 s] [d] [({24}, {2, 1 s}, 1.0)]; finally { c = 0; }
    when (g == 64) task markRegionB [60 s] [d] [({40}, {2, 1 s}, 1.0)]; finally { c = 1; }
}
task_select {
    when (c == 0) task computeJunctions [100 s] [] [({}, {4, 76 s}, 1.0)]; finally { }
    when (c == 1) task computeJunctions [100 s] [] [({}, {6, 81 s}, 1.0)]; finally { }
}
"""


def application(body: str, variables: str = "var control: g = 1, d = 1, c = 1;", more: str = "") -> str:
    """Return an application with such a tunable procedure."""
    return f"application a {{ {variables} {more} proc tunable main {{ {body} }} }}"


_NAMES = st.sampled_from("gdc")
_NUMBERS = st.integers(1, 3).map(str)
_VALUES = st.one_of(_NUMBERS, st.sampled_from(["1 .. 2", "2 .. 3 by 1", "1 .. 4 by 2x", "g", "c + 1"]))
_CONDITIONS = st.one_of(
    st.builds("{} {} {}".format, _NAMES, st.sampled_from(["==", "<", ">=", "!="]), _NUMBERS), st.just("1")
)
_REQUESTS = st.builds("{{{}, {} s}}".format, _NUMBERS, _NUMBERS)


@st.composite
def _tasks(draw: st.DrawFn) -> str:
    names = draw(st.lists(_NAMES, max_size=2, unique=True))
    ways = []
    for _ in range(draw(st.integers(1, 2))):
        values, quality = ", ".join(draw(_VALUES) for _ in names), draw(st.sampled_from(["1", "0.5", "1 / g"]))
        ways.append(f"({{{values}}}, {draw(_REQUESTS)}, {quality})")
    return f"task {draw(st.sampled_from(['t', 'task', 'when']))} [] [{', '.join(names)}] [{', '.join(ways)}];"


def _with_more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, max_size=2).map(" ".join)
    finals = st.one_of(
        st.just(""),
        st.lists(st.builds("{} = {};".format, _NAMES, _NUMBERS), max_size=2).map(
            lambda some: f"finally {{ {' '.join(some)} }}"
        ),
    )
    arms = st.builds("when ({}) {{ {} }} {}".format, _CONDITIONS, bodies, finals)
    bare = st.builds("when ({}) {} {}".format, _CONDITIONS, inner, finals)
    last = st.builds("when (1) {{ {} }} {}".format, bodies, finals)
    selects = st.builds(
        lambda some, end: f"task_select {{ {' '.join(some)} {end} }}",
        st.lists(st.one_of(arms, bare), max_size=2),
        last,
    )
    return st.one_of(selects, st.builds("task_loop ({}) {{ {} }}".format, st.sampled_from(["1", "2", "3"]), bodies))


tunable_bodies = st.lists(st.recursive(_tasks(), _with_more, max_leaves=5), min_size=1, max_size=3).map(" ".join)
"""Bodies of tunable procedures over the control parameters g, d and c, in which some arm always holds."""


Chain = tuple[tuple[str, float, float], ...]


def ways_one_by_one(procedure: Procedure, initial: dict[str, float]) -> list[Chain]:
    """Return the chain of each sequence of choices: name, hosts and microseconds of every stage, turns unrolled.

    Loops are carried out turn after turn; only those ways are kept that choose alike in all turns.
    """
    found: list[Chain] = []
    waiting: list[list[int]] = [[]]
    while waiting:
        choices = waiting.pop()
        run = _Run(choices)
        ended = run.carry_out(procedure.body, dict(initial))  # type: ignore[arg-type]
        waiting += [[*choices, choice] for choice in reversed(range(run.wanted))]
        if ended:
            found.append(tuple(run.stages))
    return found


class _Run:
    """Carries a procedure out with given choices, up to the first that is not given."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = iter(choices)
        self.wanted = 0  # how many there are to choose of, where a choice is missing
        self.stages: list[tuple[str, float, float]] = []

    def _choose(self, count: int) -> int | None:
        choice = next(self._choices, None)
        if choice is None:
            self.wanted = count
        return choice

    def carry_out(self, statements: Sequence[Tunable], known: dict[str, float]) -> bool:
        return all(self._statement(statement, known) for statement in statements)

    def _statement(self, statement: Tunable, known: dict[str, float]) -> bool:
        if isinstance(statement, TaskStage):
            return self._stage(statement, known)
        if isinstance(statement, TaskSelect):
            holding = [arm for arm in statement.arms if value(arm.condition, known)]
            choice = self._choose(len(holding))
            if choice is None or not self.carry_out(holding[choice].body, known):
                return False
            for assign in holding[choice].finals:
                known[assign.name] = value(assign.value, known)
            return True
        assert isinstance(statement, TaskLoop)
        before = len(self.stages)
        if not self.carry_out(statement.body, known):
            return False
        turn = self.stages[before:]
        for _ in range(int(value(statement.count, known)) - 1):
            self.stages += turn
        return True

    def _stage(self, stage: TaskStage, known: dict[str, float]) -> bool:
        offered = [
            (values, configuration)
            for configuration in stage.configurations
            for values in _combinations([list(_offered(one, known)) for one in configuration.values])
        ]
        choice = self._choose(len(offered))
        if choice is None:
            return False
        values, configuration = offered[choice]
        known.update(zip((parameter.id for parameter in stage.parameters), values, strict=True))
        assert isinstance(configuration.request, HostsRequest)
        request = configuration.request
        self.stages.append((stage.name, value(request.hosts, known), value(request.time, known)))
        return True


def _offered(given: object, known: dict[str, float]) -> Iterator[float]:
    if not isinstance(given, ValueRange):
        yield value(given, known)  # type: ignore[arg-type]
        return
    number, step = value(given.first, known), 1.0 if given.step is None else value(given.step, known)
    while number <= value(given.last, known) + 1e-9:
        yield number
        number = number * step if given.geometric else number + step


def _combinations(lists: list[list[float]]) -> list[list[float]]:
    return [[first, *rest] for first in lists[0] for rest in _combinations(lists[1:])] if lists else [[]]
