"""Find loops with independent turns, from the text alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cosched.evaluation.interpreter.invariance import (
    assigned,
    names_of,
    pure,
    reached,
    reads,
)
from cosched.language.syntax import Assign, Binary, Call, For, If, Invoke, Name, Return, Step, Variables, While, walk
from cosched.language.vocabulary import FUNCTION_ARITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.language.syntax import Exec, Expression, Link, Node, Procedure

__all__ = ["CountedLoop", "counted_loop", "same_turns"]


class CountedLoop(NamedTuple):
    """A loop with independent turns and a counting variable.

    Its form is `for (i = start; i + shift <= end; i = i + stride)`.

    Attributes:
        name: name of the variable that counts.
        start: its first value.
        shift: None where the condition has none.
        end: the bound of the counting variable plus `shift`.
        closed: whether `end` itself is reached: `<=` and not `<`.
        stride: the increment.
        written: the variables that its turns assign, the counting variable included.
    """

    name: str
    start: Expression
    shift: Expression | None
    end: Expression
    closed: bool
    stride: Expression
    written: frozenset[str]


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
    if not (all(pure(procedures[name]) for name in invoked) and _computes(loop, procedures)):
        return None
    fixed = [expression for expression in (parts.start, parts.shift, parts.end, parts.stride) if expression]
    if any(reads(expression, procedures) & parts.written for expression in fixed):
        return None
    if not _private(loop.body, parts.written - {parts.name}, set(), procedures):
        return None
    return parts


def same_turns(loop: For, procedures: Mapping[str, Procedure], links: Sequence[Link]) -> CountedLoop | None:
    """Return the parts of a loop that does nothing but call other objects, else None.

    What another object does cannot change the variables here, so every turn finds them as the first one did, but for
    the variable that counts: where the links to these objects do no more than compute values.
    """
    parts = _parts(loop)
    if parts is None or not all(isinstance(item, Call) and item.name not in procedures for item in loop.body):
        return None
    fixed = [part for part in (parts.start, parts.shift, parts.end, parts.stride) if part is not None]
    called = {item.name for item in loop.body if isinstance(item, Call)}
    if not all(_computes(link, procedures) for link in links if link.target in called):
        return None
    nodes = [node for part in fixed for node, _ in walk(part)]
    if any((isinstance(node, Invoke) and node.name not in FUNCTION_ARITIES) or _is(node, parts.name) for node in nodes):
        return None
    return parts


def _computes(root: Node, procedures: Mapping[str, Procedure]) -> bool:
    """Return whether the procedures that a node may call, also through others, do nothing but compute their values."""
    for procedure in reached(root, procedures):
        own = names_of(procedure)
        for node, _ in walk(*procedure.body):
            if isinstance(node, Step) or (isinstance(node, Call) and node.name not in procedures):
                return False
            if isinstance(node, Assign) and node.name not in own:
                return False
    return True


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
    """Return whether each turn assigns its variables of `written` before it reads them.

    It adds to `known` the variables that are certainly assigned.
    """

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
