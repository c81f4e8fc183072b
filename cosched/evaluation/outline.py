"""Which numbers decide what steps an object has, and which only how long they take."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cosched.evaluation.dependence import assigned, named, names_of, pure, reached, reads
from cosched.language.names import PROCESSORS
from cosched.language.syntax import Call, Invoke, Step, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cosched.language.syntax import Confdev, Expression, Node, Object, Procedure

__all__ = ["UNKNOWN", "Outline", "outlined"]


class Outline(NamedTuple):
    """What holds for an object that calls no other, whatever its variables.

    Attributes:
        free: times and sizes that depend on variables alone that nothing assigns, by the identity of their `confdev`:
            they can be found for all steps of a number of hosts at once, and after the steps themselves.
        shaping: the variables that the steps depend on, but for those times and sizes.
        priced: whether the steps depend on what sequential work costs.
        confdevs: all of the object.
    """

    free: Mapping[int, Expression]
    shaping: tuple[str, ...]
    priced: bool
    confdevs: tuple[Confdev, ...]


UNKNOWN = Outline({}, (), True, ())
"""Of an object that may call others."""


def outlined(item: Object) -> Outline:
    """Return the outline of an object."""
    procedures = {procedure.name: procedure for procedure in item.procedures}
    written = {name for procedure in item.procedures for name in assigned([procedure]) - names_of(procedure)}
    fixed = {PROCESSORS, *item.declared()} - written
    free = {
        id(confdev): confdev.values[-1]
        for procedure in item.procedures
        for confdev in _confdevs(procedure)
        if _is_free(confdev.values[-1], procedure, procedures, fixed)
    }
    waiting, seen, read = ["init"], set[str](), Counter[str]()
    while waiting:
        name = waiting.pop()
        if name in procedures and name not in seen:
            seen.add(name)
            called, names = _mentioned(procedures[name])
            for confdev in _confdevs(procedures[name]):
                if id(confdev) in free:
                    less = _mentioned(free[id(confdev)])
                    called, names = called - less[0], names - less[1]
            waiting.extend(called)
            read.update(names.keys())
    return Outline(
        free=free,
        shaping=tuple(sorted(read.keys() & {PROCESSORS, *item.declared()})),
        priced=any(procedures[name].kind == "cflow" for name in seen),
        confdevs=tuple(confdev for procedure in item.procedures for confdev in _confdevs(procedure)),
    )


def _confdevs(procedure: Procedure) -> Iterator[Confdev]:
    for node, _ in walk(*procedure.body):
        if isinstance(node, Step):
            yield from node.confdevs


def _is_free(amount: Expression, procedure: Procedure, procedures: Mapping[str, Procedure], fixed: set[str]) -> bool:
    names = {name for node, _ in walk(amount) for name in named(node)}
    return (
        not names & names_of(procedure)
        and reads(amount, procedures) <= fixed
        and all(map(pure, reached(amount, procedures)))
    )


def _mentioned(root: Node) -> tuple[Counter[str], Counter[str]]:
    """Return the procedures and the variables that a tree names, and how often."""
    nodes = [node for node, _ in walk(root)]
    called = Counter(node.name for node in nodes if isinstance(node, Invoke | Call))
    return called, Counter(name for node in nodes for name in named(node))
