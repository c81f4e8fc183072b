"""Which variables statements read and assign, those of the procedures that they call among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.names import FUNCTIONS
from cosched.language.syntax import Assign, Call, Element, For, Invoke, Name, Step, Variables, While, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.language.syntax import Node, Procedure

__all__ = ["assigned", "named", "names_of", "pure", "reached", "reads"]


def assigned(statements: Iterable[Node]) -> frozenset[str]:
    """Return the variables that statements assign."""
    names: set[str] = set()
    for node, _ in walk(*statements):
        if isinstance(node, Assign):
            names.add(node.name)
        elif isinstance(node, Variables):
            names.update(item.name for item in node.declarations if item.value is not None)
    return frozenset(names)


def pure(procedure: Procedure) -> bool:
    """Return whether a procedure does nothing but compute: from its arguments and what no procedure changes here."""
    if procedure.kind == "cflow":
        return True
    nodes = [node for node, _ in walk(*procedure.body)]
    own = names_of(procedure)
    return all(
        not isinstance(node, Step | Call | While | For)
        and (not isinstance(node, Assign) or node.name in own)
        and (not isinstance(node, Invoke) or node.name in FUNCTIONS)
        for node in nodes
    )


def reads(root: Node, procedures: Mapping[str, Procedure]) -> set[str]:
    """Return the variables that a node may read, those of the procedures that it invokes among them."""
    names = {name for node, _ in walk(root) for name in named(node)}
    for procedure in reached(root, procedures):
        names |= {name for node, _ in walk(procedure) for name in named(node)} - names_of(procedure)
    return names


def reached(root: Node, procedures: Mapping[str, Procedure]) -> list[Procedure]:
    """Return the procedures that a node may call, and those that they may."""
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
