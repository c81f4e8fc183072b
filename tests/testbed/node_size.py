"""The size of a testbed's hosts: pretended, whatever the machine has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["WHOLE", "NodeSize", "add_size_options", "chosen_size"]


@dataclass(frozen=True, slots=True)
class NodeSize:
    """A host that several jobs share; managers believe the figures and nothing enforces them.

    Attributes:
        cores: that jobs may have of it.
        memory: MiB.
        gpus: devices; a job gets their numbers in CUDA_VISIBLE_DEVICES.
    """

    cores: int = 64
    memory: int = 256 * 1024
    gpus: int = 4


WHOLE = NodeSize(1, 1024, 0)
"""A host of one core, which one job has."""


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `chosen_size` reads."""
    parser.add_argument("--cores", type=int, default=1, help="cores of each host, pretended; 64 for a node of today")
    parser.add_argument("--memory", type=int, help="GiB of each host (default 4 for each core)")
    parser.add_argument("--gpus", type=int, default=0, help="devices of each host (default none)")


def chosen_size(options: argparse.Namespace) -> NodeSize:
    """Return the size that the command line asks for."""
    if options.cores == 1 and options.memory is None and not options.gpus:
        return WHOLE
    return NodeSize(options.cores, (options.memory or 4 * options.cores) * 1024, options.gpus)
