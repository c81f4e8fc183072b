"""An application or a hardware with one of its costs made greater, to see what the run time owes to it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from cosched.evaluation.places import objects
from cosched.language.linker import Linked
from cosched.language.names import SHARED
from cosched.language.syntax import (
    Binary,
    Case,
    Compute,
    Loop,
    Measured,
    MeasuredUsage,
    Measurement,
    MemoryUsage,
    Node,
    Number,
    OpcodeCount,
    OpcodeUsage,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.evaluation.application import Application
    from cosched.evaluation.hardware import Hardware, Linear, MessageCost
    from cosched.language.source import Source
    from cosched.language.syntax import Expression, Object, Position

__all__ = ["Work", "costlier_hardware", "costlier_work", "work"]


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of sequential work: the cost of one cflow statement, without what is nested in it.

    Attributes:
        source: of the statement.
        at: its position.
        kind: "compute", "loop" (its head), "case" (its head) or "measured".
        node: the cost in the tree.
    """

    source: Source
    at: Position
    kind: str
    node: OpcodeUsage | MeasuredUsage | MemoryUsage | Measured


def work(application: Application) -> Iterator[Work]:
    """Yield every piece of sequential work of an application and what it includes."""
    kinds = {Compute: "compute", Loop: "loop", Case: "case"}
    for linked in objects(application.root):
        for procedure in linked.object.procedures:
            for node, _ in walk(*procedure.body):
                if isinstance(node, Measured):
                    yield Work(linked.object.source, node.at, "measured", node)
                elif isinstance(node, Compute | Loop | Case) and (
                    not isinstance(node.usage, OpcodeUsage) or node.usage.entries
                ):
                    yield Work(linked.object.source, node.at, kinds[type(node)], node.usage)


def costlier_work(application: Application, piece: Work, factor: float) -> Application:
    """Return the application with one piece of work taking `factor` times as long."""
    made: dict[Linked, Linked] = {}
    for linked in objects(application.root):
        item = linked.object
        # An object without that work stays the same: what is known of it is not found anew.
        made[linked] = Linked(cast("Object", _replaced(item, piece.node, factor)))
    for linked, copy in made.items():
        copy.includes.update((name, made[other]) for name, other in linked.includes.items())
    return replace(application, root=made[application.root])


def _replaced(node: Node, wanted: Node, factor: float) -> Node:
    """Return a tree with the cost `wanted` scaled; parts without it stay the same nodes."""
    if node is wanted:
        return _scaled(node, factor)
    changes: dict[str, object] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            new: object = _replaced(value, wanted, factor)
            if new is not value:
                changes[field.name] = new
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            items = tuple(_replaced(item, wanted, factor) for item in value)
            if any(one is not other for one, other in zip(items, value, strict=True)):
                changes[field.name] = items
    return replace(node, **changes) if changes else node  # type: ignore[arg-type]  # the fields that it has


def _scaled(node: Node, factor: float) -> Node:
    def times(expression: Expression | None, at: Position) -> Expression:
        number = Number(at, factor)
        return number if expression is None else Binary(at, "*", expression, number)

    match node:
        case OpcodeUsage():
            entries = tuple(OpcodeCount(item.at, times(item.count, item.at), item.opcode) for item in node.entries)
            return replace(node, entries=entries)
        case MeasuredUsage():
            return replace(node, time=times(node.time, node.at))
        case MemoryUsage():
            return replace(node, volume=times(node.volume, node.at))
        case Measured():
            entries_ = tuple(Measurement(item.at, item.key, times(item.time, item.at)) for item in node.entries)
            return replace(node, entries=entries_)
    raise AssertionError(node)


def costlier_hardware(
    hardware: Hardware, opcodes: set[str], groups: list[str], factor: float, *, memory: bool
) -> Iterator[tuple[str, Hardware]]:
    """Yield (what, hardware) for each cost of a hardware made `factor` times as great, on all its hosts.

    Args:
        hardware: to vary.
        opcodes: those that matter.
        groups: the message groups that matter.
        factor: e.g. 1.1.
        memory: whether the costs of memory matter. The sizes of caches are left as they are.
    """
    known = {opcode for item in hardware.classes for opcode in item.operations}
    for opcode in sorted(opcodes & known):
        yield f"clc {opcode}", _on_each(hardware, partial(_opcode, opcode=opcode, factor=factor))
    kinds = [item.memory for item in hardware.classes if memory and item.memory is not None]
    for level in sorted({name for kind in kinds for name in kind.levels}):
        yield f"memory {level}, per byte", _on_each(hardware, partial(_memory, level=level, factor=factor))
    sent = {group for item in hardware.classes for group in item.messages}
    for group in sorted(sent & {*groups, SHARED}):
        for part in ("send", "transfer", "receive"):
            for what in ("message", "byte"):
                change = partial(_message, group=group, part=part, what=what, factor=factor)
                yield f"{group} {part}, per {what}", _on_each(hardware, change)


def _on_each(hardware: Hardware, change: Callable[[Hardware], Hardware]) -> Hardware:
    if not hardware.hosts:
        return change(hardware)
    changed = {item: change(item) for item in hardware.classes}
    return replace(hardware, hosts=tuple(changed[item] for item in hardware.hosts))


def _opcode(hardware: Hardware, opcode: str, factor: float) -> Hardware:
    if opcode not in hardware.operations:
        return hardware
    return replace(hardware, operations={**hardware.operations, opcode: hardware.operations[opcode] * factor})


def _memory(hardware: Hardware, level: str, factor: float) -> Hardware:
    memory = hardware.memory
    return hardware if memory is None else replace(hardware, memory=memory.costlier(level, factor))


def _message(hardware: Hardware, group: str, part: str, what: str, factor: float) -> Hardware:
    costs = hardware.messages.get(group)
    if costs is None:
        return hardware
    line: Linear = getattr(costs, part)
    if what == "message":
        line = replace(line, b=line.b * factor, d=line.d * factor)
    else:
        line = replace(line, c=line.c * factor, e=line.e * factor)
    changed: MessageCost = replace(costs, **{part: line})
    return replace(hardware, messages={**hardware.messages, group: changed})
