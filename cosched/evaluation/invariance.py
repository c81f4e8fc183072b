"""What is the same in every turn of a loop is evaluated once."""

from __future__ import annotations

from cosched.language.names import FUNCTIONS
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
    While,
    walk,
)

__all__ = ["repeatable", "weight"]


def weight(node: Node) -> int:
    """Return what one turn of a loop or one call of a procedure takes off the budget."""
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
    return isinstance(node, Invoke) and node.name not in FUNCTIONS
