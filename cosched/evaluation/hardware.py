"""The resource model: microseconds of operations, memory and messages, read from HMCL.

Start at `load_hardware` and `Hardware`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.evaluation.budget import fail
from cosched.evaluation.costs import LinearCost, Memory, MessageCost, PiecewiseCost, described_memory
from cosched.language.arithmetic import setting_values
from cosched.language.checks.curves import curve_points
from cosched.language.checks.hardware import COST_SETTINGS, LONG_MESSAGE_SETTING, MESSAGE_COSTS, check_config, describes
from cosched.language.diagnostics import ModelError, read, suggestion
from cosched.language.library import default_library, find, locate, names
from cosched.language.overlays import overlay_blocks
from cosched.language.parser.parse import parse_hmcl
from cosched.language.vocabulary import (
    BLOCKS_GROUP,
    HOSTS_GROUP,
    MEMORY_GROUP,
    MESSAGE_GROUPS,
    MESSAGE_SHARES,
    NOISE_GROUP,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.language.syntax import Config

__all__ = ["Hardware", "load_hardware"]


@dataclass(frozen=True, eq=False)
class Hardware:
    """A checked hardware configuration. Compared by identity.

    Attributes:
        name: name of the configuration.
        operations: microseconds of each clc opcode.
        messages: costs by library (`mpi`, `pvm`), and within a host (`shm`) where it is not the network's.
        description: `Desc` of the hardware group, else empty.
        processors: how many a host has.
        hosts: the hosts in order where they are not all like this one; costs and processors are theirs then.
        memory: costs of moving bytes between processor and memory, if it says any.
        blocks: microseconds of a repetition of APPLICATION.BLOCK, of each that has been measured.
        noise: standard deviations of equal phases, launches and runs, as parts of their times, if it says any.
    """

    name: str
    operations: Mapping[str, float]
    messages: Mapping[str, MessageCost]
    description: str = ""
    processors: int = 1
    hosts: tuple[Hardware, ...] = ()
    memory: Memory | None = None
    blocks: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[Hardware, ...]:
        """The kinds of hosts, in order."""
        return tuple(dict.fromkeys(self.hosts)) or (self,)

    def with_processors(self, count: int) -> Hardware:
        """Return the same with another number of processors on each host: those that a program uses there."""
        return _with_processors(self, count)


@lru_cache(maxsize=64)  # the same one each time: what is remembered of a hardware is found by its identity
def _with_processors(hardware: Hardware, count: int) -> Hardware:
    hosts = tuple(host.with_processors(count) for host in hardware.hosts)
    same = hardware.processors == count and hosts == hardware.hosts
    return hardware if same else replace(hardware, processors=count, hosts=hosts)


def load_hardware(
    name_or_path: str | Path, library: Sequence[Path] | None = None, beside: Path | None = None
) -> Hardware:
    """Read a hardware configuration.

    Args:
        name_or_path: a name in the library (case, `_` and `-` do not count) or a path to an .hmcl file.
        library: folders to search; the one that travels with cosched where None.
        beside: a folder that is searched first, such as that of a model that names the hardware.

    Raises:
        UserError: no such name.
        ModelError: the file has faults.
    """
    searched = default_library() if library is None else library
    return _read_hardware(locate(str(name_or_path), ".hmcl", "hardware", searched, beside), searched, beside)


def _read_hardware(
    path: Path, library: Sequence[Path], beside: Path | None = None, *, listed: bool = False
) -> Hardware:
    source = read(path)
    configs = parse_hmcl(source)
    if len(configs) != 1:
        raise ModelError([source.fault((1, 1), f"the file holds {len(configs)} configs: one is needed")])
    faults = check_config(configs[0])
    if faults:
        raise ModelError(faults)
    config = configs[0]
    if all(group.name != HOSTS_GROUP for group in config.groups):
        return _hardware_of(config, overlay_blocks(path, library, beside))
    if listed:
        fail(source, config.at, f"{config.name} lists {HOSTS_GROUP} itself: list configurations with costs")
    return Hardware(
        config.name, {}, {}, _description(setting_values(config)), hosts=tuple(_hosts(config, path, library, beside))
    )


def _hosts(config: Config, path: Path, library: Sequence[Path], beside: Path | None) -> Iterator[Hardware]:
    """Yield the hosts that a configuration lists, each configuration read once."""
    counts = setting_values(config)[HOSTS_GROUP]
    for setting in next(group.settings for group in config.groups if group.name == HOSTS_GROUP):
        found = find(setting.name, ".hmcl", library, path.parent)
        if found is None:
            near = suggestion(setting.name, names(".hmcl", library, path.parent))
            fail(config.source, setting.at, f"no hardware {setting.name} beside this file or in the library{near}")
        host = _read_hardware(found, library, beside, listed=True)
        yield from [host] * int(counts[setting.name])


def _hardware_of(config: Config, overlaid: Mapping[str, float]) -> Hardware:
    groups, curves = setting_values(config), curve_points(config)
    operations = _numbers(groups, "clc")
    messages = {group: _message(groups[group], curves.get(group)) for group in MESSAGE_GROUPS if group in groups}
    processors = groups.get("hardware", {}).get("processors", 1.0)
    memory = described_memory(groups[MEMORY_GROUP], curves.get(MEMORY_GROUP, ())) if MEMORY_GROUP in groups else None
    return Hardware(
        config.name,
        operations,
        messages,
        _description(groups),
        int(processors),
        memory=memory,
        blocks={**_numbers(groups, BLOCKS_GROUP), **overlaid},
        noise=_numbers(groups, NOISE_GROUP),
    )


def _numbers(groups: Mapping[str, Mapping[str, float | str]], group: str) -> dict[str, float]:
    return {name: value for name, value in groups.get(group, {}).items() if isinstance(value, float)}


def _description(groups: Mapping[str, Mapping[str, float | str]]) -> str:
    return str(groups.get("hardware", {}).get("Desc", ""))


def _message(settings: Mapping[str, float | str], points: Sequence[tuple[float, float]] | None) -> MessageCost:
    if points is not None:
        whole = PiecewiseCost.through(points)
        sender, receiver = (float(settings.get(name, 0.0)) for name in MESSAGE_SHARES)
        return MessageCost(whole.part(1 - sender - receiver), whole.part(sender), whole.part(receiver))
    make = _described if describes(settings) else _coefficients
    transfer, send, receive = (
        make({name: value for name, value in settings.items() if isinstance(value, float)}, cost)
        for cost in MESSAGE_COSTS
    )
    return MessageCost(transfer, send, receive)


def _coefficients(settings: Mapping[str, float], cost: str) -> LinearCost:
    return LinearCost(*(settings[f"DD_{cost}_{letter}"] for letter in "ABCDE"))


def _described(settings: Mapping[str, float], cost: str) -> LinearCost:
    """Return a cost given as latency and bandwidth.

    Long messages cost the same unless they have settings of their own.
    """
    latency, bandwidth = COST_SETTINGS[cost]
    short = settings[latency], _a_byte(settings.get(bandwidth))
    above = settings.get(f"long_{latency}", short[0])
    rate = settings.get(f"long_{bandwidth}", settings.get(bandwidth))
    return LinearCost(settings.get(LONG_MESSAGE_SETTING, math.inf), *short, above, _a_byte(rate))


def _a_byte(bandwidth: float | None) -> float:
    return 0.0 if bandwidth is None else 1 / bandwidth
