"""Which loops can have all their turns side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cosched.evaluation.interpreter.invariance import (
    NO_INVARIANCE,
    Invariance,
    assigned,
    find_invariance,
    names_of,
    pure,
    reached,
    reads,
    repeatable,
)
from cosched.language.syntax import Assign, Binary, Call, For, If, Invoke, Name, Return, Step, Variables, While, walk
from cosched.language.vocabulary import FUNCTION_ARITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.language.linker import Linked
    from cosched.language.syntax import Exec, Expression, Node, Object, Procedure

__all__ = ["CountedLoop", "LoopAnalysis", "counted_loop"]


class CountedLoop(NamedTuple):
    """A loop `for (i = start; i + shift <= end; i = i + stride)` whose turns do not depend on one another.

    Attributes:
        name: of the variable that counts.
        start: its first value.
        shift: None where the condition has none.
        end: where it stops.
        closed: whether `end` itself is reached: `<=` and not `<`.
        stride: what it grows by.
        written: what its turns assign, the counting variable among it.
    """

    name: str
    start: Expression
    shift: Expression | None
    end: Expression
    closed: bool
    stride: Expression
    written: frozenset[str]


class LoopAnalysis:
    """What holds for the statements of an application whatever the numbers: found once, kept by their identity."""

    def __init__(self) -> None:
        self._loops: dict[int, CountedLoop | None] = {}
        self._repeats: dict[int, bool] = {}
        self._same: dict[int, CountedLoop | None] = {}
        self._assigned: dict[int, frozenset[str]] = {}
        self._meddles: dict[int, bool] = {}
        self._returns: dict[int, bool] = {}
        self._own: dict[int, frozenset[str]] = {}
        self._called: dict[int, frozenset[str]] = {}
        self._outlines: dict[int, Invariance] = {}

    def loop(self, loop: For, procedures: Mapping[str, Procedure]) -> CountedLoop | None:
        """Return the parts of a loop whose turns can go side by side."""
        if id(loop) not in self._loops:
            self._loops[id(loop)] = counted_loop(loop, procedures)
        return self._loops[id(loop)]

    def repeats(self, loop: For) -> bool:
        """Return whether every turn of a loop emits the same steps."""
        if id(loop) not in self._repeats:
            self._repeats[id(loop)] = repeatable(loop)
        return self._repeats[id(loop)]

    def same_turns(self, loop: For, procedures: Mapping[str, Procedure]) -> CountedLoop | None:
        """Return the parts of a loop that does nothing but call other objects, else None.

        What another object does cannot change the variables here, so every turn finds them as the first one did, but
        for the variable that counts.
        """
        if id(loop) not in self._same:
            self._same[id(loop)] = _calls_only(loop, procedures)
        return self._same[id(loop)]

    def assigned(self, statement: Exec) -> frozenset[str]:
        """Return the variables that a statement assigns, in its branches or turns too."""
        if id(statement) not in self._assigned:
            self._assigned[id(statement)] = assigned([statement])
        return self._assigned[id(statement)]

    def meddles(self, statement: Exec, procedures: Mapping[str, Procedure]) -> bool:
        """Return whether a statement may call a procedure that assigns a variable of the object."""
        if id(statement) not in self._meddles:
            self._meddles[id(statement)] = any(
                not assigned([procedure]) <= names_of(procedure) for procedure in reached(statement, procedures)
            )
        return self._meddles[id(statement)]

    def returns(self, statement: Exec) -> bool:
        """Return whether a statement holds a `return`."""
        if id(statement) not in self._returns:
            self._returns[id(statement)] = any(isinstance(node, Return) for node, _ in walk(statement))
        return self._returns[id(statement)]

    def called(self, item: Object) -> frozenset[str]:
        """Return what an object calls by name, procedures and other objects."""
        if id(item) not in self._called:
            nodes = (node for procedure in item.procedures for node, _ in walk(*procedure.body))
            self._called[id(item)] = frozenset(node.name for node in nodes if isinstance(node, Call))
        return self._called[id(item)]

    def outline(self, linked: Linked) -> Invariance:
        """Return the outline of an object; without free amounts where it may call others."""
        if linked.includes:
            return NO_INVARIANCE
        if id(linked) not in self._outlines:
            self._outlines[id(linked)] = find_invariance(linked.object)
        return self._outlines[id(linked)]

    def own(self, procedure: Procedure) -> frozenset[str]:
        """Return the parameters and variables of a procedure."""
        if id(procedure) not in self._own:
            self._own[id(procedure)] = frozenset(names_of(procedure))
        return self._own[id(procedure)]


def counted_loop(loop: For, procedures: Mapping[str, Procedure]) -> CountedLoop | None:
    """Return the loop's parts where its turns can go side by side, else None.

    They can where the turns emit steps, call no object and no procedure that does more than compute a value, never
    return, and read no variable that another turn assigned.
    """
    parts = _parts(loop)
    nodes = [node for node, _ in walk(*loop.body)]
    if parts is None or not any(isinstance(node, Step) for node in nodes):
        return None
    if any(isinstance(node, Call | Return | While) for node in nodes) or loop.start.name in assigned(loop.body):
        return None
    invoked = [node.name for node, _ in walk(loop) if isinstance(node, Invoke) and node.name not in FUNCTION_ARITIES]
    if not all(pure(procedures[name]) for name in invoked):
        return None
    fixed = [expression for expression in (parts.start, parts.shift, parts.end, parts.stride) if expression]
    if any(reads(expression, procedures) & parts.written for expression in fixed):
        return None
    if not _private(loop.body, parts.written - {parts.name}, set(), procedures):
        return None
    return parts


def _calls_only(loop: For, procedures: Mapping[str, Procedure]) -> CountedLoop | None:
    parts = _parts(loop)
    if parts is None or not all(isinstance(item, Call) and item.name not in procedures for item in loop.body):
        return None
    fixed = [part for part in (parts.start, parts.shift, parts.end, parts.stride) if part is not None]
    nodes = [node for part in fixed for node, _ in walk(part)]
    if any((isinstance(node, Invoke) and node.name not in FUNCTION_ARITIES) or _is(node, parts.name) for node in nodes):
        return None
    return parts


def _parts(loop: For) -> CountedLoop | None:
    condition, advance, name = loop.condition, loop.advance.value, loop.start.name
    if not (isinstance(condition, Binary) and condition.operator in ("<", "<=") and loop.advance.name == name):
        return None
    if not (isinstance(advance, Binary) and advance.operator == "+" and _is(advance.left, name)):
        return None
    left = condition.left
    shifted = isinstance(left, Binary) and left.operator == "+"
    first, shift = (left.left, left.right) if isinstance(left, Binary) and shifted else (left, None)
    if not _is(first, name):
        return None
    written = assigned(loop.body) | {name}
    return CountedLoop(
        name, loop.start.value, shift, condition.right, condition.operator == "<=", advance.right, written
    )


def _is(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.id == name


def _private(
    body: Iterable[Exec], written: frozenset[str], known: set[str], procedures: Mapping[str, Procedure]
) -> bool:
    """Return whether each turn assigns what it reads of `written` first; adds to `known` what is assigned for sure."""

    def sound(root: Node, also: str = "") -> bool:
        return not reads(root, procedures) & written - known - {also}

    for statement in body:
        match statement:
            case Assign():
                good = sound(statement.value)
                known.add(statement.name)
            case Variables():
                good = sound(statement)
                known |= {item.name for item in statement.declarations if item.value is not None}
            case If():
                ways = [(part, set(known)) for part in (statement.then, statement.otherwise)]
                good = sound(statement.condition)
                good = good and all(_private(part, written, way, procedures) for part, way in ways)
                known |= ways[0][1] & ways[1][1]
            case For():
                name = statement.start.name
                good = sound(statement.start) and sound(statement.condition, name) and sound(statement.advance, name)
                good = _private(statement.body, written, known | {name}, procedures) and good
                known.add(name)
            case _:
                good = sound(statement)
        if not good:
            return False
    return True
