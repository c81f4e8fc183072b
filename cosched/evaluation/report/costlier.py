"""Vary one cost of a hardware at a time: start at `costlier_hardware`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.language.vocabulary import SHARED_MEMORY_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cosched.evaluation.costs import MessageCost, SizeCost
    from cosched.evaluation.hardware import Hardware

__all__ = ["costlier_hardware"]


def costlier_hardware(
    hardware: Hardware, opcodes: set[str], groups: list[str], factor: float, *, memory: bool, blocks: Sequence[str] = ()
) -> Iterator[tuple[str, Hardware]]:
    """Yield (name, hardware) with each cost in turn made `factor` times as great.

    Args:
        hardware: to vary.
        opcodes: the operations that matter.
        groups: the message groups that matter.
        factor: e.g. 1.1.
        memory: whether the costs of memory matter. The sizes of caches are left as they are.
        blocks: APPLICATION.BLOCK of the blocks that matter.
    """
    known = {opcode for item in hardware.classes for opcode in item.operations}
    for opcode in sorted(opcodes & known):
        yield f"clc {opcode}", _on_each(hardware, partial(_opcode, opcode=opcode, factor=factor))
    kinds = [item.memory for item in hardware.classes if memory and item.memory is not None]
    for level in sorted({name for kind in kinds for name in kind.parts}):
        yield f"memory {level}, per byte", _on_each(hardware, partial(_memory, level=level, factor=factor))
    for name in sorted(blocks):
        yield f"block {name}", _on_each(hardware, partial(_block, name=name, factor=factor))
    sent = {group for item in hardware.classes for group in item.messages}
    for group in sorted(sent & {*groups, SHARED_MEMORY_GROUP}):
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


def _block(hardware: Hardware, name: str, factor: float) -> Hardware:
    if name not in hardware.blocks:
        return hardware
    return replace(hardware, blocks={**hardware.blocks, name: hardware.blocks[name] * factor})


def _memory(hardware: Hardware, level: str, factor: float) -> Hardware:
    memory = hardware.memory
    return hardware if memory is None else replace(hardware, memory=memory.costlier(level, factor))


def _message(hardware: Hardware, group: str, part: str, what: str, factor: float) -> Hardware:
    costs = hardware.messages.get(group)
    if costs is None:
        return hardware
    one: SizeCost = getattr(costs, part)
    changed: MessageCost = replace(costs, **{part: one.costlier(what, factor)})
    return replace(hardware, messages={**hardware.messages, group: changed})
