"""Find what statements read and assign, and what therefore stays the same.

`find_invariance` proves from the text alone which times and sizes no step depends on;
`repeatable` which loops emit the same steps in each turn.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.syntax import (
    Assign,
    Call,
    Declaration,
    Element,
    For,
    Invoke,
    Name,
    Node,
    Return,
    Step,
    Variables,
    While,
    walk,
)
from cosched.language.vocabulary import FUNCTION_ARITIES, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cosched.language.syntax import Confdev, Expression, Object, Procedure

__all__ = [
    "NO_INVARIANCE",
    "Invariance",
    "Written",
    "assigned",
    "find_invariance",
    "named",
    "names_of",
    "pure",
    "reached",
    "reads",
    "repeatable",
    "weight",
    "written",
]


def assigned(statements: Iterable[Node]) -> frozenset[str]:
    """Return the variables that statements assign."""
    names: set[str] = set()
    for node, _ in walk(*statements):
        if isinstance(node, Assign):
            names.add(node.name)
        elif isinstance(node, Variables):
            names.update(item.name for item in node.declarations if item.value is not None)
    return frozenset(names)


class Written(NamedTuple):
    """Variables that statements may assign: a procedure's own, and those of its object."""

    own: frozenset[str]
    shared: frozenset[str]


def written(statements: Iterable[Node], own: frozenset[str], procedures: Mapping[str, Procedure]) -> Written:
    """Return the variables that statements assign, themselves or through procedures they call."""
    roots = list(statements)
    direct = assigned(roots)
    called = {procedure.name: procedure for root in roots for procedure in reached(root, procedures)}
    indirect = (assigned([procedure]) - names_of(procedure) for procedure in called.values())
    return Written(direct & own, (direct - own).union(*indirect))


def pure(procedure: Procedure) -> bool:
    """Return whether a procedure only computes, from its arguments and constants of the object.

    No procedure of the object may change these constants.
    """
    if procedure.kind == "cflow":
        return True
    nodes = [node for node, _ in walk(*procedure.body)]
    own = names_of(procedure)
    return all(
        not isinstance(node, Step | Call | While | For)
        and (not isinstance(node, Assign) or node.name in own)
        and (not isinstance(node, Invoke) or node.name in FUNCTION_ARITIES)
        for node in nodes
    )


def reads(root: Node, procedures: Mapping[str, Procedure]) -> set[str]:
    """Return the variables that a node may read, itself or through procedures it calls."""
    names = {name for node, _ in walk(root) for name in named(node)}
    for procedure in reached(root, procedures):
        names |= {name for node, _ in walk(procedure) for name in named(node)} - names_of(procedure)
    return names


def reached(root: Node, procedures: Mapping[str, Procedure]) -> list[Procedure]:
    """Return the procedures that a node may call, directly or through others."""
    found: list[Procedure] = []
    waiting, seen = [root], set[str]()
    while waiting:
        for node, _ in walk(waiting.pop()):
            if isinstance(node, Invoke | Call) and node.name in procedures and node.name not in seen:
                seen.add(node.name)
                found.append(procedures[node.name])
                waiting.append(procedures[node.name])
    return found


def named(node: Node) -> tuple[str, ...]:
    """Return the variable that a node reads by itself."""
    if isinstance(node, Name):
        return (node.id,)
    return (node.name,) if isinstance(node, Element) else ()


def names_of(procedure: Procedure) -> set[str]:
    """Return the parameters and variables of a procedure."""
    own = {parameter.name for parameter in procedure.parameters}
    return own | {
        item.name for node, _ in walk(*procedure.body) if isinstance(node, Variables) for item in node.declarations
    }


def weight(node: Node) -> int:
    """Return the budget of one turn of a loop or one call of a procedure."""
    return 1 + sum(1 for _ in walk(node)) // 4


def repeatable(loop: For) -> bool:
    """Return whether every turn of a loop emits the same steps.

    That is so where its body emits steps, calls nothing, and reads no variable that the loop changes.
    """
    nodes = [node for statement in loop.body for node, _ in walk(statement)]
    if not any(isinstance(node, Step) for node in nodes):
        return False
    if any(isinstance(node, Call | Return | While) or _calls(node) for node in nodes):
        return False
    written = {node.name for node in nodes if isinstance(node, Assign | Declaration)}
    written |= {loop.start.name, loop.advance.name}
    read = {node.id for node in nodes if isinstance(node, Name)}
    read |= {node.name for node in nodes if isinstance(node, Element)}
    return not written & read


def _calls(node: Node) -> bool:
    return isinstance(node, Invoke) and node.name not in FUNCTION_ARITIES


class Invariance(NamedTuple):
    """Facts about one object without its calls, for all values of its variables.

    Attributes:
        deferred: times and sizes that depend on variables alone that nothing assigns, by identity of their `confdev`:
            they can be found for all steps of a number of hosts at once, and after the steps themselves.
        shaping: the variables that the steps depend on, but for those times and sizes.
        priced: whether the steps depend on what sequential work costs.
        confdevs: all of the object.
    """

    deferred: Mapping[int, Expression]
    shaping: tuple[str, ...]
    priced: bool
    confdevs: tuple[Confdev, ...]


NO_INVARIANCE = Invariance({}, (), True, ())
"""Of an object that may call others."""


def find_invariance(item: Object) -> Invariance:
    """Return the facts about an object that hold for all values of its variables."""
    procedures = {procedure.name: procedure for procedure in item.procedures}
    written = {name for procedure in item.procedures for name in assigned([procedure]) - names_of(procedure)}
    fixed = {PROCESSORS, *item.declared()} - written
    deferred = {
        id(confdev): confdev.values[-1]
        for procedure in item.procedures
        for confdev in _confdevs(procedure)
        if _is_deferred(confdev.values[-1], procedure, procedures, fixed)
    }
    waiting, seen, read = ["init"], set[str](), Counter[str]()
    while waiting:
        name = waiting.pop()
        if name in procedures and name not in seen:
            seen.add(name)
            called, names = _mentioned(procedures[name])
            for confdev in _confdevs(procedures[name]):
                if id(confdev) in deferred:
                    less = _mentioned(deferred[id(confdev)])
                    called, names = called - less[0], names - less[1]
            waiting.extend(called)
            read.update(names.keys())
    return Invariance(
        deferred=deferred,
        shaping=tuple(sorted(read.keys() & {PROCESSORS, *item.declared()})),
        priced=any(procedures[name].kind == "cflow" for name in seen),
        confdevs=tuple(confdev for procedure in item.procedures for confdev in _confdevs(procedure)),
    )


def _confdevs(procedure: Procedure) -> Iterator[Confdev]:
    for node, _ in walk(*procedure.body):
        if isinstance(node, Step):
            yield from node.confdevs


def _is_deferred(
    amount: Expression, procedure: Procedure, procedures: Mapping[str, Procedure], fixed: set[str]
) -> bool:
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
