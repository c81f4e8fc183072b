"""A measured machine is written as a resource model, its samples beside it.

Start at `MeasuredMachine`.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cosched.errors import UserError
from cosched.language import Source, format_source
from cosched.measurement.memory import MemoryLevels, memory_levels
from cosched.measurement.messages import MessageCosts, message_costs
from cosched.measurement.operations import operation_costs
from cosched.measurement.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TOOL", "MachineFacts", "MeasuredMachine", "read_samples"]

TOOL = "cosched hardware measure"
_SCHEMA = 1
_DIGITS = 6  # as the programs print them
_MOST_BYTES = 16 << 20
_A_LINE = 4  # settings
_NOISE = "noise deviation"
_GROUPS = ("operation", "memory", "shm", "network")
_LAST_GROUPS = ("mpi", "pvm")


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Facts about a measurement.

    Attributes:
        processors: how many the machine has.
        measured: the day, as people write it.
        compiler: with its flags.
        within: how messages within the host were sent.
        between: how those between hosts were.
        others: mean number of processors that others used meanwhile; 0 where jobs measured.
        hosts: those that jobs measured, in words; empty for the machine that the command ran on.
        built: where the programs were compiled, in words, if jobs measured.
    """

    processors: int
    measured: str
    compiler: str
    within: str
    between: str
    others: float
    hosts: str = ""
    built: str = ""


class MeasuredMachine:
    """Costs of a machine.

    Attributes:
        name: what its class of hosts is called.
    """

    def __init__(self, name: str, facts: MachineFacts, samples: Samples) -> None:
        self.name = name
        self.facts = facts
        self.samples = samples

    @cached_property
    def operations(self) -> dict[str, float]:
        """Return microseconds of each opcode."""
        return operation_costs({name.split()[1]: self.samples.value(name) for name in self.group("operation")})

    @property
    def noise(self) -> float | None:
        """Return the standard deviation of equal phases as a part of them; None where it was not measured."""
        return min(self.samples.value(_NOISE), 1.0) if _NOISE in set(self.samples) else None

    @cached_property
    def memory(self) -> MemoryLevels:
        """Return its caches and main memory."""
        return memory_levels({int(name.split()[1]): self.samples.value(name) for name in self.group("memory")})

    @cached_property
    def within(self) -> MessageCosts:
        """Return the costs of messages within the host."""
        return message_costs(self.samples, "shm")

    @cached_property
    def between(self) -> MessageCosts:
        """Return those of messages between hosts."""
        return message_costs(self.samples, "network")

    def spread(self, group: str) -> float:
        """Return the median width of a group's 95 % intervals."""
        return self.samples.spread(self.group(group))

    def group(self, name: str) -> list[str]:
        """Return the names of the tests of one group."""
        return [each for each in self.samples if each.startswith(f"{name} ")]

    def samples_text(self) -> str:
        """Return the samples as JSON."""
        values = {name: [_rounded(value) for value in self.samples.of(name)] for name in self.samples}
        document = {"schema": _SCHEMA, "facts": asdict(self.facts), "samples": values}
        return json.dumps(document, separators=(",", ":")) + "\n"

    def hmcl(self) -> str:
        """Return the resource model.

        Raises:
            KeyError: the samples of this test, or of all of this group, are missing.
            ValueError: a test has a name that none has.
        """
        for group in _GROUPS:
            if not self.group(group):
                raise KeyError(group)
        text = "".join(f"{line}\n" for line in self._lines())
        return format_source(Source(f"{self.name}.hmcl", text))

    def _lines(self) -> Iterator[str]:
        facts = self.facts
        digest = hashlib.sha256(self.samples_text().encode()).hexdigest()
        yield f"(* {self.name}, measured on {facts.measured} by `{TOOL}`: lower quartiles of samples."
        yield f"   Messages within the host: {facts.within}. Between hosts: {facts.between}. *)"
        yield ""
        yield f"config {self.name} {{"
        yield "    hardware {"
        yield f'        Desc = "{self.name}, measured",'
        yield f'        Tool = "{TOOL}",'
        yield f'        Measured = "{facts.measured}",'
        yield f'        Compiler = "{facts.compiler}",'
        if facts.hosts:
            yield f'        Hosts = "{facts.hosts}",'
            yield f'        Built = "{facts.built}",'
        yield f'        Samples = "sha256:{digest}",'
        yield f"        processors = {facts.processors};"
        yield "    }"
        for group, costs in (("shm", self.within), *((name, self.between) for name in _LAST_GROUPS)):
            yield ""
            yield f"    {group} {{"
            yield from _message_lines(costs)
            yield "    }"
        yield ""
        yield "    memory {"
        for level, (size, rate) in enumerate(self.memory.caches, 1):
            yield f"        L{level}_size = {size // 1024} KiB, L{level}_bandwidth = {rate / 1e3:.4g} GB/s;"
        yield f"        bandwidth = {self.memory.main / 1e3:.4g} GB/s;"
        points = ", ".join(f"{size // 1024} KiB: {rate / 1e3:.4g} GB/s" for size, rate in self.memory.curve)
        yield f"        curve = [{points}];"
        yield "    }"
        yield ""
        if self.noise is not None:
            yield f"    noise {{ phase = {self.noise * 100:.3g} %; }}"
            yield ""
        yield "    clc {"
        settings = [f"{name} = {cost * 1e3:.4g} ns" for name, cost in sorted(self.operations.items())]
        for first in range(0, len(settings), _A_LINE):
            yield f"        {', '.join(settings[first : first + _A_LINE])};"
        yield "    }"
        yield "}"


def read_samples(text: str, file: str) -> tuple[MachineFacts, Samples]:
    """Return measurements from their JSON.

    Raises:
        UserError: it is something else.
    """
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError("it is too long")
        document: dict[str, Any] = json.loads(text)
        if document["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, and this cosched knows {_SCHEMA}")
        values = {str(name): [float(value) for value in several] for name, several in document["samples"].items()}
        facts = MachineFacts(**document["facts"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{file} holds no samples of `{TOOL}` ({error}): measure once more") from error
    for name, several in values.items():
        if not several or not all(0 < value < math.inf for value in several):
            raise UserError(f"{file}: the samples of {name[:80]!r} are not all above 0: measure once more")
    return facts, Samples(values)


def _message_lines(costs: MessageCosts) -> Iterator[str]:
    for part, (short, long) in costs.parts.items():
        numbers = zip("ABCDE", (short.upto, short.base, short.a_byte, long.base, long.a_byte), strict=True)
        yield f"        {', '.join(f'DD_{part}_{letter} = {number:.12g}' for letter, number in numbers)};"
    points = ", ".join(f"{size} B: {microseconds:.9g} us" for size, microseconds in costs.points)
    yield f"        points = [{points}];"
    yield f"        send_share = {_percent(costs.send)} %, receive_share = {_percent(costs.receive)} %;"


def _percent(part: float) -> str:
    return f"{math.floor(part * 1000) / 10:g}"  # down, so that parts of a whole are not more than that


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
