"""Toy sizes are drawn from what the user allows: `nx=16..48 ny=16..48 n=16..256:*2 steps=10`."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from itertools import combinations, pairwise

from cosched.errors import UserError
from cosched.language.vocabulary import FUNCTION_ARITIES, HARDWARE_OBJECT, KEYWORDS, PROCESSORS

__all__ = ["FEWEST_RUNS", "Parameter", "draw_sizes", "parse_sizes"]

FEWEST_RUNS = 5
_MOST_VALUES = 100_000
_MOST_PARAMETERS = 8
_MOST_PROCESSES = 64
_LARGEST = 10**9
_TRIES = 60  # of one size; a size whose parameters have a common factor does for the last
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}", re.ASCII)
_RANGE = re.compile(r"(\d{1,10})\.\.(\d{1,10})(?::(\*?)(\d{1,10}))?", re.ASCII)
_RESERVED = {*KEYWORDS, *FUNCTION_ARITIES, HARDWARE_OBJECT}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a program, with the values it may take in toy runs.

    Attributes:
        name: as in the model; `Nproc` is the number of processes.
        values: ascending; a single one is kept constant.
        dense: whether all whole numbers between the least and the greatest are there.
    """

    name: str
    values: tuple[int, ...]
    dense: bool = False


def parse_sizes(text: str) -> tuple[Parameter, ...]:
    """Return the parameters in order.

    Raises:
        UserError: the text says something else.
    """
    found: list[Parameter] = []
    for setting in text.split():
        name, separator, values = setting.partition("=")
        if not separator or not values:
            raise _unreadable(setting)
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise UserError(
                f"--sizes: {name[:40]!r} cannot name a parameter: use letters, digits and '_', no word of PSL"
            )
        if any(each.name == name for each in found):
            raise UserError(f"--sizes: {name} is there twice: list its values behind one another, as in {name}=16,24")
        numbers = sorted({number for part in values.split(",") for number in _numbers(part, setting)})
        if name == PROCESSORS and not 1 <= numbers[0] <= numbers[-1] <= _MOST_PROCESSES:
            raise UserError(f"--sizes: {setting[:80]!r}: a run has 1 to {_MOST_PROCESSES} processes")
        found.append(Parameter(name, tuple(numbers), len(numbers) == numbers[-1] - numbers[0] + 1 > 1))
    if not found:
        raise UserError(
            "--sizes names no parameter: write the program's arguments in order, as in 'nx=16..48 steps=2..9'"
        )
    if len(found) > _MOST_PARAMETERS:
        raise UserError(f"--sizes: {len(found)} parameters are more than {_MOST_PARAMETERS}: put some into --run")
    return tuple(found)


def _numbers(text: str, setting: str) -> range | list[int]:
    if match := _RANGE.fullmatch(text):
        first, last, step = int(match[1]), int(match[2]), int(match[4] or 1)
        if last <= first or last > _LARGEST or step < 1 or (match[3] and (first < 1 or step < 2)):
            raise UserError(f"--sizes: {setting[:80]!r} runs nowhere: write LEAST..GREATEST, with :STEP or :*FACTOR")
        if match[3]:
            return [first * step**turn for turn in range(64) if first * step**turn <= last]
        if (last - first) // step >= _MOST_VALUES:
            raise UserError(f"--sizes: {setting[:80]!r} has more than {_MOST_VALUES} values: give it a :STEP")
        return range(first, last + 1, step)
    if re.fullmatch(r"\d{1,10}", text, re.ASCII) and int(text) <= _LARGEST:
        return [int(text)]
    raise _unreadable(setting)


def draw_sizes(parameters: tuple[Parameter, ...], runs: int, seed: int = 1) -> list[dict[str, int]]:
    """Return sizes, all different, the smallest and the largest values among them.

    Parameters of one size are coprime where they can be: counts in which they appear as quotients tell them apart.

    Raises:
        UserError: there are too few.
    """
    combinations_there = math.prod(len(each.values) for each in parameters)
    if combinations_there == 1:
        raise UserError(
            "--sizes is one size only, which cannot tell how the counts grow: give a range, as in "
            f"{parameters[0].name}={parameters[0].values[0]}..{max(3 * parameters[0].values[0], 8)}"
        )
    if combinations_there < FEWEST_RUNS:
        raise UserError(f"--sizes has {combinations_there} different sizes: give at least {FEWEST_RUNS}")
    generator = random.Random(seed)  # noqa: S311  the same sizes in every run
    wanted = min(runs, combinations_there)
    found: list[dict[str, int]] = []
    strata = {each.name: _strata(each, wanted, generator) for each in parameters}
    turn = 0
    while len(found) < wanted and turn < 100 * wanted:
        for attempt in range(_TRIES):
            size = {
                each.name: _one_of(
                    each, strata[each.name][turn] if turn < wanted and attempt < _TRIES / 2 else None, generator
                )
                for each in parameters
            }
            if size not in found and (attempt == _TRIES - 1 or _coprime(size, parameters)):
                found.append(size)
                break
        turn += 1
    return found


def _strata(parameter: Parameter, wanted: int, generator: random.Random) -> list[tuple[int, int]]:
    """Return the slices of the values that the draws are made from, in random order."""
    cuts = [turn * len(parameter.values) // wanted for turn in range(wanted + 1)]
    slices = [(first, max(last, first + 1)) for first, last in pairwise(cuts)]
    generator.shuffle(slices)
    return slices


def _one_of(parameter: Parameter, stratum: tuple[int, int] | None, generator: random.Random) -> int:
    first, last = stratum or (0, len(parameter.values))
    return parameter.values[generator.randrange(first, min(last, len(parameter.values)))]


def _coprime(size: dict[str, int], parameters: tuple[Parameter, ...]) -> bool:
    # Processes form grids only where their number is no prime, and few numbers have nothing in common with all sizes.
    dense = [size[each.name] for each in parameters if each.dense and each.name != PROCESSORS]
    return all(math.gcd(one, other) == 1 for one, other in combinations(dense, 2))


def _unreadable(setting: str) -> UserError:
    return UserError(f"--sizes: {setting[:80]!r} is no NAME=VALUES: write nx=16..48, n=16..256:*2, k=3,5,9 or steps=10")
