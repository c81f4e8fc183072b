"""The resource model: what HMCL says an operation and a message cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.evaluation.faults import fail
from cosched.evaluation.memory import described_memory
from cosched.language.diagnostics import ModelError, suggestion
from cosched.language.hardware_checker import COSTS, LONG, PARTS, check_config, describes
from cosched.language.library import default_library, find, locate, names
from cosched.language.names import HOSTS, MEMORY, MESSAGES
from cosched.language.parser import parse_hmcl
from cosched.language.settings import values
from cosched.language.source import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.evaluation.memory import Memory
    from cosched.language.syntax import Config

_MOST_PROCESSORS = 10_000

__all__ = ["Hardware", "Linear", "MessageCost", "load_hardware"]


@dataclass(frozen=True, slots=True)
class Linear:
    """Cost of x bytes in microseconds: b + c·x up to a bytes, d + e·x above (HMCL's DD_*_A to DD_*_E)."""

    a: float
    b: float
    c: float
    d: float
    e: float

    def __call__(self, size: float) -> float:
        """Return the cost of `size` bytes, in microseconds."""
        return self.b + self.c * size if size <= self.a else self.d + self.e * size


@dataclass(frozen=True, slots=True)
class MessageCost:
    """The three parts of a message: the network's, the sender's and the receiver's."""

    transfer: Linear
    send: Linear
    receive: Linear


@dataclass(frozen=True, eq=False)
class Hardware:
    """A checked hardware configuration. Compared by identity.

    Attributes:
        name: of the configuration.
        operations: microseconds of each clc opcode.
        messages: costs by library (`mpi`, `pvm`), and within a host (`shm`) where it is not the network's.
        description: `Desc` of the hardware group, else empty.
        processors: how many a host has.
        hosts: the hosts in order where they are not all like this one; costs and processors are theirs then.
        memory: costs of moving bytes between processor and memory, if it says any.
    """

    name: str
    operations: Mapping[str, float]
    messages: Mapping[str, MessageCost]
    description: str = ""
    processors: int = 1
    hosts: tuple[Hardware, ...] = ()
    memory: Memory | None = None

    @property
    def classes(self) -> tuple[Hardware, ...]:
        """The kinds of hosts, in order."""
        return tuple(dict.fromkeys(self.hosts)) or (self,)


def load_hardware(name_or_path: str | Path, library: Sequence[Path] | None = None) -> Hardware:
    """Read a hardware configuration.

    Args:
        name_or_path: a name in the library (case, `_` and `-` do not count) or a path to an .hmcl file.
        library: folders to search; the one that travels with cosched where None.

    Raises:
        UserError: no such name.
        ModelError: the file has faults.
    """
    searched = default_library() if library is None else library
    return _read(locate(str(name_or_path), ".hmcl", "hardware", searched), searched)


def _read(path: Path, library: Sequence[Path], *, listed: bool = False) -> Hardware:
    source = read(path)
    configs = parse_hmcl(source)
    if len(configs) != 1:
        raise ModelError([source.fault((1, 1), f"the file holds {len(configs)} configs: one is needed")])
    faults = check_config(configs[0])
    if faults:
        raise ModelError(faults)
    config = configs[0]
    if all(group.name != HOSTS for group in config.groups):
        return _hardware(config)
    if listed:
        fail(source, config.at, f"{config.name} lists {HOSTS} itself: list configurations with costs")
    return Hardware(config.name, {}, {}, _description(values(config)), hosts=tuple(_hosts(config, path, library)))


def _hosts(config: Config, path: Path, library: Sequence[Path]) -> Iterator[Hardware]:
    """Yield the hosts that a configuration lists, each configuration read once."""
    counts = values(config)[HOSTS]
    for setting in next(group.settings for group in config.groups if group.name == HOSTS):
        found = find(setting.name, ".hmcl", library, path.parent)
        if found is None:
            near = suggestion(setting.name, names(".hmcl", library, path.parent))
            fail(config.source, setting.at, f"no hardware {setting.name} beside this file or in the library{near}")
        host = _read(found, library, listed=True)
        yield from [host] * int(counts[setting.name])


def _hardware(config: Config) -> Hardware:
    groups = values(config)
    operations = {name: value for name, value in groups.get("clc", {}).items() if isinstance(value, float)}
    messages = {group: _message(groups[group]) for group in MESSAGES if group in groups}
    processors = groups.get("hardware", {}).get("processors", 1.0)
    if not (isinstance(processors, float) and 1 <= processors <= _MOST_PROCESSORS and processors == int(processors)):
        fail(config.source, config.at, f"processors is {processors}: a host has 1 to {_MOST_PROCESSORS}")
    memory = described_memory(groups[MEMORY]) if MEMORY in groups else None
    return Hardware(config.name, operations, messages, _description(groups), int(processors), memory=memory)


def _description(groups: Mapping[str, Mapping[str, float | str]]) -> str:
    return str(groups.get("hardware", {}).get("Desc", ""))


def _message(settings: Mapping[str, float | str]) -> MessageCost:
    make = _described if describes(settings) else _coefficients
    transfer, send, receive = (
        make({name: value for name, value in settings.items() if isinstance(value, float)}, cost) for cost in COSTS
    )
    return MessageCost(transfer, send, receive)


def _coefficients(settings: Mapping[str, float], cost: str) -> Linear:
    return Linear(*(settings[f"DD_{cost}_{letter}"] for letter in "ABCDE"))


def _described(settings: Mapping[str, float], cost: str) -> Linear:
    """Return a cost given as latency and bandwidth; long messages cost the same where nothing else is said."""
    latency, bandwidth = PARTS[cost]
    short = settings[latency], _a_byte(settings.get(bandwidth))
    above = settings.get(f"long_{latency}", short[0])
    rate = settings.get(f"long_{bandwidth}", settings.get(bandwidth))
    return Linear(settings.get(LONG, math.inf), *short, above, _a_byte(rate))


def _a_byte(bandwidth: float | None) -> float:
    return 0.0 if bandwidth is None else 1 / bandwidth
