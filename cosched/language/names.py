"""The words that a model may use without declaring them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COLLECTIVES",
    "DEVICES",
    "FUNCTIONS",
    "GROUPS",
    "HARDWARE",
    "HOSTS",
    "KEYWORDS",
    "KINDS",
    "MEMORY",
    "MEMORY_LEVELS",
    "MEMORY_SETTINGS",
    "MESSAGES",
    "OPTIONS",
    "PROCESSORS",
    "SHARED",
    "TYPES",
    "Device",
]

KINDS = ("application", "subtask", "partmp")
"""What an object of PSL may be."""

TYPES = ("numeric", "string", "vector", "compute")
"""Types of variables; `compute` is another word for `numeric`."""

KEYWORDS = (
    *KINDS,
    *TYPES,
    "include",
    "var",
    "in",
    "link",
    "option",
    "proc",
    "exec",
    "cflow",
    "for",
    "while",
    "if",
    "else",
    "return",
    "call",
    "step",
    "on",
    "confdev",
    "loop",
    "case",
    "measured",
    "is",
    "clc",
    "memory",
)
"""Words of PSL that name nothing else."""

PROCESSORS = "Nproc"
"""The external variable that holds the number of processors."""

HARDWARE = "hardware"
"""The built-in object that an application may include and link `Nproc` into."""

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "exp": (1, 1),
    "floor": (1, 1),
    "log": (1, 1),
    "log10": (1, 1),
    "log2": (1, 1),
    "max": (1, 64),
    "min": (1, 64),
    "mod": (2, 2),
    "pow": (2, 2),
    "sqrt": (1, 1),
}
"""Functions of expressions: fewest and most arguments."""


class Device(NamedTuple):
    """What a step may use: the arguments of its `confdev`, and the HMCL group with its costs."""

    arguments: tuple[str, ...]
    group: str
    sends: bool = False


_MESSAGE = ("source", "destination", "bytes")
DEVICES: Mapping[str, Device] = {
    "cpu": Device(("time",), ""),
    "mpisend": Device(_MESSAGE, "mpi", sends=True),
    "mpirecv": Device(_MESSAGE, "mpi"),
    "pvmsend": Device(_MESSAGE, "pvm", sends=True),
    "pvmrecv": Device(_MESSAGE, "pvm"),
}
"""Devices of steps that the evaluator carries out."""

COLLECTIVES: Mapping[str, tuple[str, ...]] = {
    "mpibcast": ("root", "bytes"),
    "mpireduce": ("root", "bytes", "time"),
    "mpiallreduce": ("bytes", "time"),
    "mpibarrier": (),
    "mpialltoall": ("bytes",),
}
"""Devices of steps that stand for messages of all processors; what their `confdev` takes."""

SHARED = "shm"
"""HMCL group of the costs of messages between processors of one host."""

MESSAGES = (*sorted({device.group for device in DEVICES.values() if device.group}), SHARED)
"""HMCL groups that give the costs of messages."""

MEMORY = "memory"
"""HMCL group of the costs of moving bytes between processor and memory."""

MEMORY_LEVELS = tuple((f"{level}_size", f"{level}_bandwidth") for level in ("L1", "L2", "L3"))
"""Settings of that group for each cache, the nearest to the processor first."""

MEMORY_SETTINGS = (*(name for level in MEMORY_LEVELS for name in level), "bandwidth")
"""All settings of that group; `bandwidth` is that of main memory."""

HOSTS = "hosts"
"""HMCL group that lists hosts of other configurations."""

GROUPS = ("hardware", *MESSAGES, "clc", MEMORY, HOSTS)
"""Groups of an HMCL configuration."""

OPTIONS: Mapping[str, str] = {
    "hrduse": "string",
    "decompose": "string",
    "error": "numeric",
    "error_below": "numeric",
    "error_above": "numeric",
    "nstage": "numeric",
    "seval": "numeric",
}
"""Options of objects and their types."""
