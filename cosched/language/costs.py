"""What a model uses that its hardware has no cost for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.diagnostics import Diagnostic, Findings, TooManyFaults, suggestion
from cosched.language.names import DEVICES, HOSTS, MEMORY, MESSAGES
from cosched.language.opcodes import OPCODES
from cosched.language.syntax import MemoryUsage, OpcodeCount, Step, walk

if TYPE_CHECKING:
    from cosched.language.linker import Linked
    from cosched.language.syntax import Config, Object

__all__ = ["Costs", "costs", "uncosted"]


class Costs(NamedTuple):
    """What a hardware configuration knows.

    Attributes:
        name: of the configuration, and its file.
        operations: opcodes with a cost.
        messages: message groups, such as `mpi`.
        memory: whether it has costs of memory.
    """

    name: str
    operations: frozenset[str]
    messages: frozenset[str]
    memory: bool


def costs(config: Config, file: str) -> Costs:
    """Return what a configuration has a cost for."""
    groups = {group.name: group for group in config.groups}
    if HOSTS in groups:  # whose configurations have their own: the evaluation looks at each
        return Costs(f"{config.name} ({file})", frozenset(OPCODES), frozenset(MESSAGES), memory=True)
    operations = {setting.name for setting in groups["clc"].settings} if "clc" in groups else set()
    messages = frozenset(groups.keys() & set(MESSAGES))
    return Costs(f"{config.name} ({file})", frozenset(operations), messages, MEMORY in groups)


def uncosted(linked: Linked, hardware: Costs) -> list[Diagnostic]:
    """Return a fault at each opcode, memory usage and message step without a cost, in an object and all it includes."""
    faults: list[Diagnostic] = []
    seen: set[Linked] = set()
    waiting = [linked]
    while waiting:
        item = waiting.pop()
        if item not in seen:
            seen.add(item)
            waiting.extend(item.includes.values())
            faults.extend(_uncosted(item.object, hardware))
    return faults


def _uncosted(item: Object, hardware: Costs) -> list[Diagnostic]:
    findings = Findings(item.source)
    with suppress(TooManyFaults):
        for node, _ in walk(*item.procedures):
            if isinstance(node, OpcodeCount) and node.opcode in OPCODES and node.opcode not in hardware.operations:
                near = suggestion(node.opcode, hardware.operations)
                findings.report(node, f"{node.opcode} has no cost on {hardware.name}{near}")
            if isinstance(node, MemoryUsage) and not hardware.memory:
                findings.report(node, f"{MEMORY} has no cost on {hardware.name}: it lacks the group")
            if isinstance(node, Step) and node.device in DEVICES:
                group = DEVICES[node.device].group
                if group and group not in hardware.messages:
                    findings.report(node, f"{group} messages have no cost on {hardware.name}: it lacks the group")
    return findings.faults
