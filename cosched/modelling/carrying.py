"""Costs of blocks are carried from one class of hosts to another, by the ratio of what was measured of both.

Start at `carried`. What bounds a block is not known, and so the ratios of operations and of memory bound its cost
(Saavedra and Smith 1995 predict programs of abstract operations so; no ratio here was checked on a second machine).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.evaluation import Hardware

__all__ = ["CarriedCosts", "carried"]

_FEWEST_OPERATIONS = 5
_LEAST_ERROR = 0.25
_MOST_ERROR = 9.0
_QUANTILES = (0.1, 0.9)  # of the ratios of operations, that bound the ratio of a block
_NEAR, _MIDDLE = float(1 << 14), float(1 << 20)  # bytes gone over
_FAR = 4.0  # times the largest cache
_BEYOND = re.compile(r".*_beyond_L(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class CarriedCosts:
    """Costs of an application's blocks on hosts that have run none of it.

    Attributes:
        costs: microseconds of each block.
        operations: how many times as long as before an operation takes.
        memory: the same of bytes moved within caches and beyond; None where one of the hosts' models has no memory.
        error: part of the run time that a prediction from these costs may be off.
    """

    costs: Mapping[str, float]
    operations: float
    memory: tuple[float, float] | None
    error: float


def carried(blocks: Mapping[str, float], old: Hardware, new: Hardware, off: float = 0.0) -> CarriedCosts:
    """Return what blocks cost on other hosts.

    A cost beyond a cache goes by the ratio of memory there, all others by that of operations. The error covers the
    ratios of the other resource and of eight in ten operations; it is 25 % at least.

    Args:
        blocks: microseconds on the old hosts, by name.
        old: the hosts that they were learnt on.
        new: the others.
        off: part of the run time that the costs on the old hosts may be off, where they are a guess themselves.

    Raises:
        UserError: too few operations were measured on both.
    """
    common = sorted(name for name in old.operations.keys() & new.operations.keys() if old.operations[name] > 0)
    ratios = [math.log(new.operations[name] / old.operations[name]) for name in common if new.operations[name] > 0]
    if len(ratios) < _FEWEST_OPERATIONS:
        raise UserError(
            f"{old.name} and {new.name} have {len(ratios)} costs of operations in common, and {_FEWEST_OPERATIONS} are "
            "needed: `cosched hardware measure` writes them"
        )
    usual = float(np.median(ratios))
    bounds = [float(value) for value in np.quantile(ratios, _QUANTILES)]
    memory = _memory_ratios(old, new)
    bounds += [] if memory is None else list(memory)
    far = usual if memory is None else memory[-1]
    error = max(_LEAST_ERROR, *(math.expm1(abs(bound - usual)) for bound in bounds))
    return CarriedCosts(
        {name: cost * math.exp(far if _BEYOND.fullmatch(name) else usual) for name, cost in blocks.items()},
        math.exp(usual),
        None if memory is None else (math.exp(memory[0]), math.exp(memory[-1])),
        min((1 + off) * (1 + error) - 1, _MOST_ERROR),
    )


def _memory_ratios(old: Hardware, new: Hardware) -> tuple[float, ...] | None:
    """Return logarithms of the ratios of bytes moved near the processor, in a larger cache, and beyond all of them."""
    if old.memory is None or new.memory is None:
        return None
    most = _FAR * max([_MIDDLE, *(size for each in (old.memory, new.memory) for size in each.sizes[-1:])])
    return tuple(
        math.log(float(new.memory.time(1.0, size)) / float(old.memory.time(1.0, size)))
        for size in (_NEAR, _MIDDLE, most)
    )
