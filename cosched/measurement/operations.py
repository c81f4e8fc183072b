"""Operations of clc become kernels in C, and their samples become microseconds an operation.

Kernels are eight independent chains, so that a cost is the machine's throughput. Types that a machine treats alike
share one kernel, and references to arrays of more than four dimensions continue what the third and fourth add.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["operation_costs", "operation_source"]

_CHAINS = range(8)
_LEAST = 1e-5  # microseconds; what was measured as less is noise
_MOST_MEASURED, _MOST_DIMENSIONS = 4, 9
_TURNS = 64  # of a loop inside a kernel's loop


@dataclass(frozen=True, slots=True)
class _Type:
    """A type of C.

    Attributes:
        c: its name.
        kind: the registers that it lives in.
        first: what its chains begin with.
        second: the other operand; it leaves a chain's value nearly as it is.
    """

    c: str
    kind: str
    first: str
    second: str


_TYPES = {
    "C": _Type("unsigned char", "INTEGER", "120", "1"),
    "S": _Type("unsigned short", "INTEGER", "30000", "1"),
    "I": _Type("unsigned int", "INTEGER", "1234567890", "1"),
    "L": _Type("unsigned long", "INTEGER", "1234567890123456789", "1"),
    "F": _Type("float", "FLOATING", "1.5f", "1.0000002f"),
    "D": _Type("double", "FLOATING", "1.5", "1.0000001"),
}
_KINDS = {"C": "I", "S": "I", "I": "I", "L": "I", "F": "F", "D": "F"}
# Statements with a{k} for a local variable, g[k] for a global one, w for the other operand.
_LOCAL = {
    "S": "a{k} = 7;",
    "T": "a{k} = w;",
    "A": "a{k} += w;",
    "M": "a{k} *= w;",
    "D": "a{k} /= w;",
    "IN": "a{k} += 1;",
    "CM": "a{k} = a{k} < w;",
    "AN": "a{k} = a{k} && w;",
    "OR": "a{k} = a{k} || w;",
}
_GLOBAL = {
    "S": "g[{k}] = 7;",
    "T": "g[{k}] = other_{t};",
    "A": "g[{k}] = g[{k}] + w;",
    "M": "g[{k}] = g[{k}] * w;",
    "D": "g[{k}] = g[{k}] / w;",
    "IN": "g[{k}] = g[{k}] + 1;",
    "CM": "a{k} = g[{k}] < w;",
    "AN": "a{k} = g[{k}] && w;",
    "OR": "a{k} = g[{k}] || w;",
}
# The index is opaque for each reference, so that no address is kept from the one before.
_REFERENCES = {
    "AR{t}1": "OPAQUE(INTEGER, i1); a{k} = one_{t}[i1];",
    "AR{t}2": "OPAQUE(INTEGER, i1); OPAQUE(INTEGER, i2); a{k} = two_{t}[i2][i1];",
    "AR{t}3": "OPAQUE(INTEGER, i1); OPAQUE(INTEGER, i2); OPAQUE(INTEGER, i3); a{k} = three_{t}[i3][i2][i1];",
    "AR{t}4": "OPAQUE(INTEGER, i1); OPAQUE(INTEGER, i2); OPAQUE(INTEGER, i3); OPAQUE(INTEGER, i4); "
    "a{k} = four_{t}[i4][i3][i2][i1];",
    "PO{t}1": "{{ volatile {c} *q = g; OPAQUE(INTEGER, q); a{k} = *q; }}",
    "PO{t}2": "a{k} = *pointer1_{t};",
    "PO{t}3": "a{k} = **pointer2_{t};",
    "PO{t}4": "a{k} = ***pointer3_{t};",
}
_SAME = {"PO{t}L": "PO{t}1", "PO{t}G": "PO{t}2"}
_BRANCHES = {
    "IFBR": 'if (a{k} != w) __asm__ volatile("" : "+" INTEGER(a{k}));',
    "SWCH": "switch (a{k} & 7) {{"
    + "".join(f' case {case}: __asm__ volatile("# {case}"); break;' for case in _CHAINS)
    + " }}",
}
_LOOPS = {
    "LFOR": 'for (long t = 0; t < turns_inside; t++) __asm__ volatile("");',
    "LWHI": '{{ long t = turns_inside; while (t) {{ t--; __asm__ volatile("" : "+" INTEGER(t)); }} }}',
    "LDOW": '{{ long t = turns_inside; do {{ t--; __asm__ volatile("" : "+" INTEGER(t)); }} while (t); }}',
}
_MATHS = {
    "SQRT": "sqrt(x)",
    "EXPF": "exp(x)",
    "LOGF": "log(x)",
    "LG10": "log10(x)",
    "POWF": "pow(x, 1.7)",
    "FABS": "fabs(x)",
    "CEIL": "ceil(x)",
    "FLOR": "floor(x)",
    "FMOD": "fmod(7.3, x)",
    "SINF": "sin(x)",
    "COSF": "cos(x)",
    "TANF": "tan(x)",
    "ASIN": "asin(x)",
    "ACOS": "acos(x)",
    "ATAN": "atan(x)",
}


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A loop that does one operation over and over.

    Attributes:
        name: the opcode, or one that begins with `empty`.
        letter: its type.
        statements: the body of the loop.
        empty: name of the kernel that has the same loop around nothing.
        calls: whether functions are called in it: it keeps nothing in registers then.
        operations: how many a turn does.
    """

    name: str
    letter: str
    statements: tuple[str, ...]
    empty: str
    calls: bool = False
    operations: int = len(_CHAINS)

    @property
    def type(self) -> _Type:
        """Return the type of its variables."""
        return _TYPES[self.letter]


def operation_source() -> str:
    """Return the program in C that times all kernels."""
    text = (files("cosched.measurement") / "native" / "operations.c.j2").read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701  C
    return environment.from_string(text).render(types=_TYPES, kernels=list(_kernels()), turns=_TURNS)


def operation_costs(nanoseconds: Mapping[str, float]) -> dict[str, float]:
    """Return microseconds of each opcode.

    Args:
        nanoseconds: what an eighth of a turn takes, by kernel.
    """
    measured = {
        kernel.name: max(
            (nanoseconds[kernel.name] - nanoseconds[kernel.empty]) * len(_CHAINS) / kernel.operations / 1e3, _LEAST
        )
        for kernel in _kernels()
        if kernel.name != kernel.empty
    }
    costs: dict[str, float] = {}
    for letter in _TYPES:
        for width in _widths(letter):
            costs |= {f"{code}{width}{at}": measured[f"{code}{letter}{at}"] for code in "STAMD" for at in "LG"}
        for code in ("IN", "CM", "AN", "OR"):
            costs |= {f"{code}{letter}{at}": measured[f"{code}{letter}{at}"] for at in "LG"}
        costs |= {name.format(t=letter): measured[name.format(t=letter)] for name in _REFERENCES}
        costs |= {name.format(t=letter): measured[same.format(t=letter)] for name, same in _SAME.items()}
        last, step = costs[f"AR{letter}4"], max(costs[f"AR{letter}4"] - costs[f"AR{letter}3"], 0.0)
        for dimensions in range(_MOST_MEASURED + 1, _MOST_DIMENSIONS + 1):
            costs[f"AR{letter}{dimensions}"] = last + step * (dimensions - _MOST_MEASURED)
        costs[f"AR{letter}N"] = costs[f"AR{letter}{_MOST_DIMENSIONS}"]
        costs[f"FAR{letter}"] = max(measured[f"FAR{letter}"] - measured["FCAL"], _LEAST)
    costs["FARP"] = max(measured["FARP"] - measured["FCAL"], _LEAST)
    costs |= {name: max(measured[name] - measured["moved"], _LEAST) for name in _MATHS}
    return costs | {name: measured[name] for name in (*_BRANCHES, *_LOOPS, "FCAL")}


def _widths(letter: str) -> tuple[str, ...]:
    """Return how operations of one letter write a type; a short float is a float."""
    return ("FS", "FF") if letter == "F" else (f"{_KINDS[letter]}{letter}",)


def _kernels() -> Iterator[_Kernel]:
    yield _Kernel("empty_calls", "D", (), "empty_calls", calls=True)
    for letter in _TYPES:
        empty = f"empty_{letter}"
        yield _Kernel(empty, letter, (), empty)
        for statements, at in ((_LOCAL, "L"), (_GLOBAL, "G")):
            for code, statement in statements.items():
                yield _Kernel(f"{code}{letter}{at}", letter, _chains(statement, letter), empty)
        for name, statement in _REFERENCES.items():
            yield _Kernel(name.format(t=letter), letter, _chains(statement, letter), empty)
        yield _calling(f"FAR{letter}", letter, f"argument_{letter}(other_{letter});")
    for name, statement in _BRANCHES.items():
        yield _Kernel(name, "I", _chains(statement, "I"), "empty_I")
    for name, statement in _LOOPS.items():
        yield _Kernel(name, "I", (statement.format(),), "empty_I", operations=_TURNS)
    yield _calling("FARP", "D", "argument_P((void *)&x);")
    yield _calling("FCAL", "D", "function();")
    yield _calling("moved", "D", "g[{k}] = x;")
    for name, call in _MATHS.items():
        yield _calling(name, "D", f"g[{{k}}] = {call};")


def _calling(name: str, letter: str, statement: str) -> _Kernel:
    return _Kernel(name, letter, _chains(statement, letter), "empty_calls", calls=True)


def _chains(statement: str, letter: str) -> tuple[str, ...]:
    return tuple(statement.format(k=k, t=letter, c=_TYPES[letter].c) for k in _CHAINS)
