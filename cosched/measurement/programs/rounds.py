"""Runs several sizes of a program in rounds of a random order: a busy minute hits all of them alike.

Start at `sizes_of` and `rounds`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cosched.measurement.programs.observation import Observation

__all__ = ["PROCESSORS", "Size", "rounds", "sizes_of"]

PROCESSORS = "Nproc"
"""Name of the number of processes in a command; records have it beside their parameters."""

_MOST_RUNS = 10_000
_MOST_PROCESSES = 1_000_000
_TRIES = 3  # runs of a size for each undisturbed one that is wanted


@dataclass(frozen=True, slots=True)
class Size:
    """A command with the numbers that stand in it.

    Attributes:
        name: the numbers, for people.
        command: its words.
        parameters: numbers that decide how long it runs, but for the number of processes.
        processes: that number; 0 where none stands in the command.
    """

    name: str
    command: tuple[str, ...]
    parameters: Mapping[str, float]
    processes: int = 0


def sizes_of(
    command: Sequence[str], swept: Mapping[str, Sequence[float]], constant: Mapping[str, float], repeat: int
) -> list[Size]:
    """Return a size for each combination of values.

    Args:
        command: its words, with `{NAME}` where a value is to stand.
        swept: the values of each name, one at least.
        constant: further parameters, which all sizes have in common.
        repeat: how often each is to be run.

    Raises:
        UserError: a value has no place in the command, a name is given twice, or there are too many runs.
    """
    for name in swept:
        if name in constant:
            raise UserError(f"--sweep {name}: --set gives it, too: leave one of them out")
        if not any(f"{{{name}}}" in word for word in command):
            raise UserError(f"--sweep {name}: no word of the command has {{{name}}}, where the values are to stand")
    if not 1 <= repeat <= _MOST_RUNS or repeat * prod(len(values) for values in swept.values()) > _MOST_RUNS:
        raise UserError(f"--sweep and --repeat give 1 to {_MOST_RUNS:,} runs: take fewer sizes, or --repeat less")
    for count in swept.get(PROCESSORS, ()):
        if not 1 <= count <= _MOST_PROCESSES or count != int(count):
            raise UserError(f"--sweep {PROCESSORS}: {count:g} processes cannot be: give whole numbers from 1")
    return [
        _size(command, dict(zip(swept, chosen, strict=True)), constant)
        for chosen in product(*(dict.fromkeys(values) for values in swept.values()))
    ]


def _size(command: Sequence[str], values: Mapping[str, float], constant: Mapping[str, float]) -> Size:
    words = {name: f"{value:.15g}" for name, value in values.items()}
    filled = tuple(command)
    for name, word in words.items():
        filled = tuple(each.replace(f"{{{name}}}", word) for each in filled)
    return Size(
        " ".join(f"{name}={word}" for name, word in words.items()),
        filled,
        {**constant, **{name: value for name, value in values.items() if name != PROCESSORS}},
        int(values.get(PROCESSORS, 0)),
    )


def rounds(
    sizes: Sequence[Size], repeat: int, observe: Callable[[Size], Observation], seed: int = 1
) -> Iterator[tuple[Size, Observation]]:
    """Run each size in turn until it has had enough undisturbed runs; yield each run.

    A size is run three times as often at most. So others on the machine hit all sizes alike (Hoefler and Belli:
    Scientific Benchmarking of Parallel Computing Systems, SC 2015).

    Args:
        sizes: what to run.
        repeat: how many undisturbed runs of each.
        observe: runs one.
        seed: of the orders.
    """
    order = random.Random(seed)  # noqa: S311  an order, not a secret
    undisturbed = dict.fromkeys(range(len(sizes)), 0)
    for _ in range(_TRIES * repeat):
        wanted = [each for each, count in undisturbed.items() if count < repeat]
        order.shuffle(wanted)
        for each in wanted:
            seen = observe(sizes[each])
            undisturbed[each] += seen.record.undisturbed
            yield sizes[each], seen
