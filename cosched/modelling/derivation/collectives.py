"""Collective operations of MPI in a source become calls of the library's templates.

Start at `collectives_of`. How often each is called was counted; its bytes are what its arguments say, where they are
arithmetic in the parameters. Messages between two processes are named, not modelled: their peers are not in the source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.modelling.derivation.expressions import known_variables, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cosched.modelling.derivation.blocks import Block
    from cosched.modelling.derivation.symbolic import Formula

__all__ = ["Collective", "collectives_of"]

# The template, and the places of the arguments that are the number of elements and their type; None without data.
_TEMPLATES: dict[str, tuple[str, int | None]] = {
    "mpi_allreduce": ("allreduce", 2),
    "mpi_reduce": ("reduce", 2),
    "mpi_bcast": ("broadcast", 1),
    "mpi_alltoall": ("transpose", 1),
    "mpi_barrier": ("allreduce", None),
}
_BYTES = {
    "char": 1,
    "byte": 1,
    "int": 4,
    "integer": 4,
    "unsigned": 4,
    "float": 4,
    "real": 4,
    "long": 8,
    "unsigned_long": 8,
    "int64_t": 8,
    "uint64_t": 8,
    "double": 8,
    "double_precision": 8,
    "c_float_complex": 8,
    "complex": 8,
    "c_double_complex": 16,
    "double_complex": 16,
}
_CALL = re.compile(r"\b(MPI_\w+)\s*\(", re.IGNORECASE)
_BETWEEN_TWO = re.compile(r"mpi_(?:i?[bsr]?send|i?recv|sendrecv(?:_replace)?|start(?:all)?)", re.IGNORECASE)
_LONGEST_CALL = 12  # lines


@dataclass(frozen=True, slots=True)
class Collective:
    """Calls of MPI at a place of a source.

    Attributes:
        name: of the operation, as the source has it.
        file: index of the source.
        line: of the call.
        template: of the library; empty where the model has none.
        size: bytes, as PSL writes them; empty where they are not known.
        count: of calls by all processes.
    """

    name: str
    file: int
    line: int
    template: str
    size: str
    count: Formula


def collectives_of(
    texts: Sequence[Sequence[str]],
    parameters: Sequence[str],
    blocks: Sequence[Block],
    solve: Callable[[Block], Formula],
) -> list[Collective]:
    """Return the operations of MPI that move data, in the order of the source.

    Args:
        texts: lines of the sources.
        parameters: in order.
        blocks: all, for their counts.
        solve: returns the formula of a block's count.
    """
    known = known_variables("\n".join(line for text in texts for line in text), parameters, constant=True)
    counted = {number: block for block in blocks for number in block.numbers()}
    found = []
    for file, line, name, arguments in _calls(texts):
        plain = name.lower()
        block = counted.get((file, line))
        if block is None or (plain not in _TEMPLATES and not _BETWEEN_TWO.fullmatch(plain)):
            continue
        template, place = _TEMPLATES.get(plain, ("", None))
        size = "" if not template else "0 B" if place is None else _size(arguments[place : place + 2], known)
        found.append(Collective(name, file, line, template if size else "", size, solve(block)))
    return found


def _size(arguments: Sequence[str], known: dict[str, str]) -> str:
    if len(arguments) < 2:
        return ""
    number, kind = resolved(arguments[0], known), arguments[1].strip().lower().removeprefix("mpi_")
    if number is None or kind not in _BYTES:
        return ""
    return f"{_BYTES[kind]} B" + ("" if number == "1" else f" * {number}" if number.isalnum() else f" * ({number})")


def _calls(texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, str, list[str]]]:
    """Yield source, line, name and arguments of each call."""
    for file, text in enumerate(texts):
        for number, line in enumerate(text, 1):
            for match in _CALL.finditer(line):
                rest = " ".join([line[match.end() :], *text[number : number + _LONGEST_CALL]])
                yield file, number, match[1], _arguments(rest.replace("&", " "))


def _arguments(text: str) -> list[str]:
    """Return the arguments in front of the bracket that ends them."""
    depth, found = 0, [""]
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found]
