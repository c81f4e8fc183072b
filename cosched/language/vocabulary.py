"""The words that a model uses without declaring them: devices, functions, opcodes, units.

A new device, function, option or opcode is declared here; its meaning is in `cosched.evaluation.interpreter`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.diagnostics import suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BLOCKS_GROUP",
    "BLOCK_ERROR",
    "COLLECTIVES",
    "CONTROL",
    "COUPLINGS",
    "CURVES",
    "DEVICES",
    "DIMENSIONLESS",
    "FUNCTION_ARITIES",
    "HARDWARE_OBJECT",
    "HOSTS_GROUP",
    "KEYWORDS",
    "MEMORY_GROUP",
    "MEMORY_LEVELS",
    "MEMORY_SETTINGS",
    "MESSAGE_GROUPS",
    "MESSAGE_SHARES",
    "NOISE_GROUP",
    "NOISE_SETTINGS",
    "OBJECT_KINDS",
    "OPCODES",
    "OPTION_TYPES",
    "PROCESSORS",
    "RATE",
    "SETTING_GROUPS",
    "SHARED_MEMORY_GROUP",
    "SIZE",
    "TIME",
    "TIME_A_BYTE",
    "TUNABLE_WORDS",
    "UNITS",
    "VARIABLE_TYPES",
    "CurveKind",
    "Device",
    "Dimension",
    "dimension",
    "quantity",
    "unknown_opcode",
]

# Inside a model times are microseconds, sizes bytes and rates bytes a microsecond.


Dimension = tuple[int, int]
"""Powers of time and of size."""

DIMENSIONLESS: Dimension = (0, 0)
TIME: Dimension = (1, 0)
SIZE: Dimension = (0, 1)
RATE: Dimension = (-1, 1)
TIME_A_BYTE: Dimension = (1, -1)

_TIMES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}
_SIZES = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "bit": 0.125,
    "kbit": 125.0,
    "Mbit": 125e3,
    "Gbit": 125e6,
}

UNITS = {**_TIMES, **_SIZES, **{f"{size}/s": factor / 1e6 for size, factor in _SIZES.items()}}
"""Factor by which a number with the unit is multiplied."""

_QUANTITY = re.compile(r"(.*?)[ \t]*([A-Za-z]+(?:/s)?)")


def dimension(unit: str) -> Dimension:
    """Return the dimension of a unit; plain for none."""
    if not unit:
        return DIMENSIONLESS
    return RATE if unit.endswith("/s") else TIME if unit in _TIMES else SIZE


def quantity(literal: str) -> tuple[float, str]:
    """Return a literal such as `12.5 us` in base units, and its unit."""
    match = _QUANTITY.fullmatch(literal)
    assert match, "the grammar lets only a number and a known unit through"
    return float(match[1]) * UNITS[match[2]], match[2]


OBJECT_KINDS = ("application", "subtask", "partmp")
"""What an object of PSL may be."""

VARIABLE_TYPES = ("numeric", "string", "vector", "compute")
"""Types of variables; `compute` is another word for `numeric`."""

KEYWORDS = (
    *OBJECT_KINDS,
    *VARIABLE_TYPES,
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

TUNABLE_WORDS = ("control", "tunable", "task", "task_select", "when", "finally", "task_loop", "by", "model")
"""Words of tunable procedures, which may name other things, too."""

CONTROL = "control"
"""Type of the control parameters of a tunable application."""

PROCESSORS = "Nproc"
"""The external variable that holds the number of processors."""

HARDWARE_OBJECT = "hardware"
"""The built-in object that an application may include and link `Nproc` into."""

FUNCTION_ARITIES: Mapping[str, tuple[int, int]] = {
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
    """A device of steps: its `confdev` arguments and the HMCL group with its costs."""

    arguments: tuple[str, ...]
    group: str
    sends: bool = False


_MESSAGE_ARGUMENTS = ("source", "destination", "bytes")
DEVICES: Mapping[str, Device] = {
    "cpu": Device(("time",), ""),
    "mpisend": Device(_MESSAGE_ARGUMENTS, "mpi", sends=True),
    "mpirecv": Device(_MESSAGE_ARGUMENTS, "mpi"),
    "pvmsend": Device(_MESSAGE_ARGUMENTS, "pvm", sends=True),
    "pvmrecv": Device(_MESSAGE_ARGUMENTS, "pvm"),
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

SHARED_MEMORY_GROUP = "shm"
"""HMCL group of the costs of messages between processors of one host."""

MESSAGE_GROUPS = (*sorted({device.group for device in DEVICES.values() if device.group}), SHARED_MEMORY_GROUP)
"""HMCL groups that give the costs of messages."""

MEMORY_GROUP = "memory"
"""HMCL group of the costs of moving bytes between processor and memory."""

MEMORY_LEVELS = tuple((f"{level}_size", f"{level}_bandwidth") for level in ("L1", "L2", "L3"))
"""Settings of that group for each cache, the nearest to the processor first."""

MEMORY_SETTINGS = (*(name for level in MEMORY_LEVELS for name in level), "bandwidth")
"""All settings of that group; `bandwidth` is that of main memory."""

NOISE_GROUP = "noise"
"""HMCL group that says how much equal runs differ."""

NOISE_SETTINGS = ("phase", "launch", "run")
"""Settings of that group: standard deviations of phases, launches and single runs, as parts of their times."""

BLOCKS_GROUP = "blocks"
"""HMCL group of what applications' named blocks cost: APPLICATION.BLOCK = a time."""

BLOCK_ERROR = "error"
"""No block: APPLICATION.error is the part of the run time that these costs may be off, beside the model's own error."""


class CurveKind(NamedTuple):
    """A curve's name, and the dimension of what it gives for sizes."""

    name: str
    dimension: Dimension


CURVES: Mapping[str, CurveKind] = {
    MEMORY_GROUP: CurveKind("curve", RATE),
    **{group: CurveKind("points", TIME) for group in MESSAGE_GROUPS},
}
"""The curve that each group of HMCL may have."""

MESSAGE_SHARES = ("send_share", "receive_share")
"""Parts of a message's time, where it is given by points, that occupy the processors at its ends."""

HOSTS_GROUP = "hosts"
"""HMCL group that lists hosts of other configurations."""

SETTING_GROUPS = ("hardware", *MESSAGE_GROUPS, "clc", MEMORY_GROUP, NOISE_GROUP, BLOCKS_GROUP, HOSTS_GROUP)
"""Groups of an HMCL configuration."""

OPTION_TYPES: Mapping[str, str] = {
    "hrduse": "string",
    "decompose": "string",
    "error": "numeric",
    "error_below": "numeric",
    "error_above": "numeric",
    "coupling": "string",
    "nstage": "numeric",
    "seval": "numeric",
    "fitted": "string",
    "tool": "string",
    "samples": "string",
    "seen": "string",
}

"""Options of objects and their types; the last four say where a fitted model comes from."""

COUPLINGS = ("coupled", "independent")
"""Values of an application's option `coupling`."""


# A clc opcode is an operation, a type and a scope, as the models of the PACE papers write them; its cost is
# microseconds in a hardware configuration. The table is documented for modellers in docs/modelling.md.


_SCOPES = {"L": "local", "G": "global"}
_TYPE_LETTERS = {"C": "char", "S": "short", "I": "int", "L": "long", "F": "float", "D": "double"}
# With the one-letter operations the type has two letters: kind and width.
_WIDTHS = {"IC": "char", "IS": "short", "II": "int", "IL": "long", "FS": "float", "FF": "float", "FD": "double"}
_ARITHMETIC = {"S": "store", "T": "transfer", "A": "add", "M": "multiply", "D": "divide"}
_LOGICAL = {"IN": "increment", "CM": "compare", "AN": "logical and", "OR": "logical or"}
_CONTROL = {
    "LFOR": "one turn of a for loop",
    "LWHI": "one turn of a while loop",
    "LDOW": "one turn of a do-while loop",
    "IFBR": "branch of an if",
    "SWCH": "branch of a switch",
    "FCAL": "function call",
    "FARC": "char argument of a call",
    "FARS": "short argument of a call",
    "FARI": "int argument of a call",
    "FARL": "long argument of a call",
    "FARF": "float argument of a call",
    "FARD": "double argument of a call",
    "FARP": "pointer argument of a call",
}
_MATHS = {
    "SQRT": "square root",
    "EXPF": "exponential",
    "LOGF": "natural logarithm",
    "LG10": "logarithm to base 10",
    "POWF": "power",
    "FABS": "absolute value",
    "CEIL": "round up",
    "FLOR": "round down",
    "FMOD": "remainder",
    "SINF": "sine",
    "COSF": "cosine",
    "TANF": "tangent",
    "ASIN": "arc sine",
    "ACOS": "arc cosine",
    "ATAN": "arc tangent",
}


def _opcode_table() -> dict[str, str]:
    table = {
        f"{operation}{width}{scope}": f"{does} {kind}, {where}"
        for operation, does in _ARITHMETIC.items()
        for width, kind in _WIDTHS.items()
        for scope, where in _SCOPES.items()
    }
    table |= {
        f"{operation}{letter}{scope}": f"{does} {kind}, {where}"
        for operation, does in _LOGICAL.items()
        for letter, kind in _TYPE_LETTERS.items()
        for scope, where in _SCOPES.items()
    }
    for letter, kind in _TYPE_LETTERS.items():
        table |= {f"AR{letter}{n}": f"reference to {kind} array of {n} dimensions" for n in range(1, 10)}
        table[f"AR{letter}N"] = f"reference to {kind} array of many dimensions"
        table |= {f"PO{letter}{n}": f"reference through {n} pointers to {kind}" for n in range(1, 5)}
        table |= {f"PO{letter}{scope}": f"pointer to {kind}, {where}" for scope, where in _SCOPES.items()}
    return table | _CONTROL | _MATHS


OPCODES: Mapping[str, str] = _opcode_table()
"""Every opcode with its meaning."""


def unknown_opcode(opcode: str) -> str:
    """Return the message for a word that is no opcode, with near matches."""
    return f"unknown opcode {opcode}{suggestion(opcode, OPCODES)}"
