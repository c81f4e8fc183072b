"""The clc opcodes: elementary operations of C whose costs a hardware configuration gives in microseconds.

An opcode is an operation, a type and a scope, as `psl-hmcl` models of the PACE papers write them; the table is
documented for modellers in docs/modelling.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.diagnostics import suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPCODES", "unknown"]

_SCOPES = {"L": "local", "G": "global"}
_TYPES = {"C": "char", "S": "short", "I": "int", "L": "long", "F": "float", "D": "double"}
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


def _table() -> dict[str, str]:
    table = {
        f"{operation}{width}{scope}": f"{does} {kind}, {where}"
        for operation, does in _ARITHMETIC.items()
        for width, kind in _WIDTHS.items()
        for scope, where in _SCOPES.items()
    }
    table |= {
        f"{operation}{letter}{scope}": f"{does} {kind}, {where}"
        for operation, does in _LOGICAL.items()
        for letter, kind in _TYPES.items()
        for scope, where in _SCOPES.items()
    }
    for letter, kind in _TYPES.items():
        table |= {f"AR{letter}{n}": f"reference to {kind} array of {n} dimensions" for n in range(1, 10)}
        table[f"AR{letter}N"] = f"reference to {kind} array of many dimensions"
        table |= {f"PO{letter}{n}": f"reference through {n} pointers to {kind}" for n in range(1, 5)}
        table |= {f"PO{letter}{scope}": f"pointer to {kind}, {where}" for scope, where in _SCOPES.items()}
    return table | _CONTROL | _MATHS


OPCODES: Mapping[str, str] = _table()
"""Every opcode and what it stands for."""


def unknown(opcode: str) -> str:
    """Return the message for a word that is no opcode, with near matches."""
    return f"unknown opcode {opcode}{suggestion(opcode, OPCODES)}"
