"""Check whole files: `check_files` returns every fault, with costs that the hardware lacks.

It is `cosched model check`: start here to see in which order parser, object checks and linker report.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.checks.hardware import check_config
from cosched.language.checks.objects import Findings, TooManyFaults
from cosched.language.diagnostics import Diagnostic, ModelError, read, suggestion
from cosched.language.library import default_library, find, names
from cosched.language.linker import Linker
from cosched.language.overlays import overlay_blocks
from cosched.language.parser.parse import salvage_hmcl
from cosched.language.syntax import BlockUsage, MemoryUsage, OpcodeCount, Step, Text, walk
from cosched.language.vocabulary import (
    BLOCK_ERROR,
    BLOCKS_GROUP,
    DEVICES,
    HOSTS_GROUP,
    MEMORY_GROUP,
    MESSAGE_GROUPS,
    OPCODES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.language.linker import Linked
    from cosched.language.syntax import Config, Object

__all__ = ["KnownCosts", "check_files", "known_costs", "uncosted"]


class KnownCosts(NamedTuple):
    """The operations, memory and message costs that a hardware configuration knows.

    Attributes:
        name: name of the configuration, and its file.
        operations: opcodes with a cost.
        messages: message groups, such as `mpi`.
        memory: whether it has costs of memory.
        blocks: APPLICATION.BLOCK of each block with a cost; None where the evaluation looks.
    """

    name: str
    operations: frozenset[str]
    messages: frozenset[str]
    memory: bool
    blocks: frozenset[str] | None = None


def known_costs(config: Config, file: str, overlaid: Iterable[str] = ()) -> KnownCosts:
    """Return what a configuration has a cost for, with the blocks that its overlays give."""
    groups = {group.name: group for group in config.groups}
    if HOSTS_GROUP in groups:  # whose configurations have their own: the evaluation looks at each
        return KnownCosts(f"{config.name} ({file})", frozenset(OPCODES), frozenset(MESSAGE_GROUPS), memory=True)
    operations = {setting.name for setting in groups["clc"].settings} if "clc" in groups else set()
    messages = frozenset(groups.keys() & set(MESSAGE_GROUPS))
    blocks = {setting.name for setting in groups[BLOCKS_GROUP].settings} if BLOCKS_GROUP in groups else set()
    name = f"{config.name} ({file})"
    return KnownCosts(name, frozenset(operations), messages, MEMORY_GROUP in groups, frozenset({*blocks, *overlaid}))


def uncosted(linked: Linked, hardware: KnownCosts) -> list[Diagnostic]:
    """Return a fault for each opcode, memory usage and message step without a cost.

    Included objects count, too.
    """
    application = linked.object.name if linked.object.kind == "application" else ""
    faults: list[Diagnostic] = []
    seen: set[Linked] = set()
    waiting = [linked]
    while waiting:
        item = waiting.pop()
        if item not in seen:
            seen.add(item)
            waiting.extend(item.includes.values())
            faults.extend(_uncosted_object(item.object, application, hardware))
    return faults


def _uncosted_object(item: Object, application: str, hardware: KnownCosts) -> list[Diagnostic]:
    findings = Findings(item.source)
    with suppress(TooManyFaults):
        for node, _ in walk(*item.procedures):
            if isinstance(node, OpcodeCount) and node.opcode in OPCODES and node.opcode not in hardware.operations:
                near = suggestion(node.opcode, hardware.operations)
                findings.report(node, f"{node.opcode} has no cost on {hardware.name}{near}")
            if isinstance(node, MemoryUsage) and not hardware.memory:
                findings.report(node, f"{MEMORY_GROUP} has no cost on {hardware.name}: it lacks the group")
            if isinstance(node, BlockUsage) and application and hardware.blocks is not None:
                name = f"{application}.{node.name}"
                if node.name == BLOCK_ERROR:
                    findings.report(node, f"{BLOCK_ERROR} is no block: it says how far off costs may be")
                elif name not in hardware.blocks:
                    near = suggestion(name, hardware.blocks)
                    findings.report(node, f"block {name} has no cost on {hardware.name}{near}")
            if isinstance(node, Step) and node.device in DEVICES:
                group = DEVICES[node.device].group
                if group and group not in hardware.messages:
                    findings.report(node, f"{group} messages have no cost on {hardware.name}: it lacks the group")
    return findings.faults


def check_files(
    paths: Iterable[Path | str], library: Sequence[Path] | None = None, hardware: Path | None = None
) -> list[Diagnostic]:
    """Return every fault of PSL and HMCL files and their includes, sorted by place.

    Args:
        paths: files that end in .psl or .hmcl.
        library: folders searched for included objects and for hardware, after the including file's own; the one that
            travels with cosched where None.
        hardware: the .hmcl file whose costs all models need; where None, each application those of its option `hrduse`.
    """
    searched = default_library() if library is None else library
    linker = Linker(searched)
    faults: list[Diagnostic] = []
    linked: list[Linked] = []
    for path in map(Path, paths):
        if path.suffix == ".psl":
            linked.extend(linker.file(path))
        elif path.suffix == ".hmcl":
            faults.extend(_check_hardware_file(path, searched))
        else:
            faults.append(Diagnostic(str(path), 1, 1, "is neither .psl nor .hmcl"))
    chosen = _CostChecker(searched, hardware)
    for item in linked:
        faults.extend(chosen.check(item))
    return sorted({*faults, *linker.faults, *chosen.faults})


def _check_hardware_file(path: Path, library: Sequence[Path]) -> list[Diagnostic]:
    try:
        source = read(path)
    except ModelError as error:
        return list(error.diagnostics)
    configs, faults = salvage_hmcl(source)
    if not configs and not faults:
        return [source.fault((1, 1), "the file holds no config")]
    found = list(faults)
    for config in configs:
        found += check_config(config)
        found += _unknown_hosts(config, path, library)
    return found


def _unknown_hosts(config: Config, path: Path, library: Sequence[Path]) -> list[Diagnostic]:
    """Return a fault for each listed host that cannot be found."""
    listed = [setting for group in config.groups if group.name == HOSTS_GROUP for setting in group.settings]
    known = names(".hmcl", library, path.parent) if listed else []
    return [
        config.source.fault(
            setting.at,
            f"no hardware {setting.name} beside this file or in the library{suggestion(setting.name, known)}",
        )
        for setting in listed
        if find(setting.name, ".hmcl", library, path.parent) is None
    ]


class _CostChecker:
    """Return the costs known to the hardware of each application."""

    def __init__(self, library: Sequence[Path], given: Path | None) -> None:
        self._library = library
        self._given = given
        self._known: dict[tuple[Path, Path], KnownCosts | None] = {}
        self.faults: list[Diagnostic] = []

    def check(self, linked: Linked) -> list[Diagnostic]:
        """Return the places where an object or its subtasks use an operation without a cost."""
        path = self._given or self._named(linked.object)
        if path is None:
            return []
        key = path, Path(linked.object.source.file).parent
        if key not in self._known:
            self._known[key] = self._read(*key)
        found = self._known[key]
        return [] if found is None else uncosted(linked, found)

    def _named(self, item: Object) -> Path | None:
        option = item.option("hrduse")
        if option is None or not isinstance(option.value, Text):
            return None
        name = option.value.value
        beside = Path(item.source.file).parent
        path = find(name, ".hmcl", self._library, beside)
        if path is None:
            near = (
                suggestion(name, names(".hmcl", self._library, beside))
                or ": write it, or choose another with --hardware"
            )
            self.faults.append(
                item.source.fault(option.value.at, f"hardware {name} is not beside this file or in the library{near}")
            )
        return path

    def _read(self, path: Path, beside: Path) -> KnownCosts | None:
        """Return the costs of a hardware file; None if it has faults."""
        try:
            configs, faults = salvage_hmcl(read(path))
            overlaid = overlay_blocks(path, self._library, beside)
        except ModelError as error:
            self.faults.extend(error.diagnostics)
            return None
        self.faults.extend(faults)
        return known_costs(configs[0], str(path), overlaid) if len(configs) == 1 and not faults else None
