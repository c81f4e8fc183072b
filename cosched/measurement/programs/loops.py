"""Loops in the order of a program's calls: what is repeated is written once, with its count.

Repeated neighbours are folded, the shortest first, until nothing changes (Noeth et al. 2009 call the result PRSDs).
Start at `folded`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Part", "Repetition", "expanded", "folded", "loop_text"]

_LONGEST = 64  # parts of a loop's body


@dataclass(frozen=True, slots=True)
class Repetition:
    """A body that is repeated.

    Attributes:
        count: how often, 2 or more.
        body: calls, and loops.
    """

    count: int
    body: tuple[Part, ...]


Part = int | Repetition
"""A call, by its number, or a loop."""


def folded(calls: Sequence[int]) -> tuple[Part, ...]:
    """Return calls with their loops."""
    numbers: dict[Part, int] = {}
    parts: list[Part] = []

    def number(part: Part) -> int:
        if part not in numbers:
            numbers[part] = len(parts)
            parts.append(part)
        return numbers[part]

    line = [number(call) for call in calls]
    length = 1
    while length <= _LONGEST and 2 * length <= len(line):
        shorter = _fold(
            line, length, lambda count, body: number(Repetition(count, tuple(parts[each] for each in body)))
        )
        length = 1 if len(shorter) < len(line) else length + 1  # what was folded may now be like its neighbour
        line = shorter
    return tuple(parts[each] for each in line)


def _fold(line: list[int], length: int, loop: Callable[[int, Sequence[int]], int]) -> list[int]:
    """Return the line with neighbours of one length folded where they are equal."""
    found, place = [], 0
    while place < len(line):
        body, count = line[place : place + length], 1
        if line[place + length : place + length + 1] == body[:1]:  # most places end here
            while line[place + count * length : place + (count + 1) * length] == body:
                count += 1
        if count > 1 and len(body) == length:
            found.append(loop(count, body))
            place += count * length
        else:
            found.append(line[place])
            place += 1
    return found


def expanded(parts: Sequence[Part]) -> list[int]:
    """Return the calls in full."""
    found: list[int] = []
    for part in parts:
        found += [part] if isinstance(part, int) else part.count * expanded(part.body)
    return found


def loop_text(parts: Sequence[Part], name: Callable[[int], str]) -> str:
    """Return calls and loops for people: `2*(10*(irecv isend wait) allreduce)`."""
    words = [name(part) if isinstance(part, int) else _loop_word(part, name) for part in parts]
    return " ".join(words)


def _loop_word(part: Repetition, name: Callable[[int], str]) -> str:
    inner = loop_text(part.body, name)
    return f"{part.count}*({inner})" if " " in inner or "*" in inner else f"{part.count}*{inner}"
