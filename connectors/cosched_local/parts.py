"""Parts of slots that a job takes: which processors and GPUs of this machine, and how much memory.

    memory 4096               MiB that all processes of the attempt may have together
    host01 0,1 0              for each slot: numbers of processors, numbers of GPUs, `-` for none

The runner reads them from the file `parts` of the attempt's folder; a later daemon does, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.connector import HostShare, Launch

__all__ = ["SlotParts", "parts_text"]


class SlotParts:
    """Processors and GPUs of the slots, each in turn with as many of this machine's.

    A machine with fewer than all slots together have gives some to several.
    """

    def __init__(self, hosts: Sequence[str], size: HostShare) -> None:
        self._places = {host: place for place, host in enumerate(hosts)}
        self._size = size
        self._processors = sorted(os.sched_getaffinity(0))

    def free(self, host: str, launch: Launch, others: Iterable[str]) -> tuple[list[int], list[int]]:
        """Return processors and GPUs of a slot for a launch.

        Args:
            host: name of the slot.
            launch: it shares the slot.
            others: the parts of the other jobs there, as `parts_text` has them.
        """
        used = [_numbers(line) for text in others for line in text.splitlines()[1:] if line.split()[0] == host]
        processors, gpus = self._of(host)
        for taken, devices in used:
            for number in taken:
                if number in processors:
                    processors.remove(number)
            gpus = [number for number in gpus if number not in devices]
        return processors[: launch.cores], gpus[: launch.gpus]

    def _of(self, host: str) -> tuple[list[int], list[int]]:
        first, cores, gpus = self._places[host], self._size.cores, self._size.gpus
        there = self._processors
        processors = [there[number % len(there)] for number in range(first * cores, (first + 1) * cores)]
        return processors, list(range(first * gpus, (first + 1) * gpus))


def parts_text(launch: Launch, parts: Mapping[str, tuple[list[int], list[int]]]) -> str:
    """Return the file's text."""
    lines = [f"memory {launch.memory * len(launch.hosts)}"]
    lines += [f"{host} {_joined(processors)} {_joined(gpus)}" for host, (processors, gpus) in parts.items()]
    return "\n".join(lines) + "\n"


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers)) or "-"


def _numbers(line: str) -> tuple[list[int], list[int]]:
    _, processors, gpus = line.split()
    return _listed(processors), _listed(gpus)


def _listed(text: str) -> list[int]:
    return [] if text == "-" else [int(number) for number in text.split(",")]
