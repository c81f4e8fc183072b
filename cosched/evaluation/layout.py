"""Place processors on hosts, and split a host count into grid sides.

The hosts stand in order, each with all its processors (`layout`); `factors` serves the option `decompose`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.errors import UserError
from cosched.language.vocabulary import SHARED_MEMORY_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.hardware import Hardware

    Indices = NDArray[np.int64]

__all__ = ["MOST_EVALUATED_HOSTS", "Layout", "TooFewHostsError", "factors", "layout", "most_hosts"]


@lru_cache(maxsize=4096)
def factors(count: int, sides: int) -> tuple[int, ...]:
    """Return `sides` factors of `count`, most nearly equal, the largest first.

    Args:
        count: at least 1.
        sides: at least 1.
    """
    if sides == 1:
        return (count,)
    candidates = ((side, *factors(count // side, sides - 1)) for side in _divisors(count))
    return min((tuple(sorted(found, reverse=True)) for found in candidates), key=lambda found: (sum(found), found))


def _divisors(count: int) -> list[int]:
    small = [side for side in range(1, math.isqrt(count) + 1) if count % side == 0]
    return small + [count // side for side in small]


MOST_EVALUATED_HOSTS = 100_000
"""Most hosts one evaluation may have, and most processors."""


class TooFewHostsError(UserError):
    """More hosts than a hardware lists."""


class Layout(NamedTuple):
    """The processors of some numbers of hosts, numbered through.

    Attributes:
        processors: processors of each number of hosts, shape (counts,).
        host: host of each processor, shape (processors of all,); numbered through as well.
        classes: the kinds of hosts among them.
        kind: index into `classes` of each processor's host, shape (processors of all,).
    """

    processors: Indices
    host: Indices
    classes: tuple[Hardware, ...]
    kind: Indices

    @property
    def alike(self) -> bool:
        """Return whether a message costs the same between any two different processors."""
        return len(self.classes) == 1 and SHARED_MEMORY_GROUP not in self.classes[0].messages


def most_hosts(hardware: Hardware) -> int:
    """Return the greatest number of hosts that can be evaluated."""
    return len(hardware.hosts) or MOST_EVALUATED_HOSTS // hardware.processors


def layout(hardware: Hardware, hosts: Sequence[int]) -> Layout:
    """Return the processors that some numbers of hosts have.

    Args:
        hardware: one kind of host, or a list of hosts of which the first ones are taken.
        hosts: each at least 1.

    Raises:
        UserError: no such number of hosts.
        TooFewHostsError: the hosts are listed, and there are not so many.
    """
    most = most_hosts(hardware)
    for count in hosts:
        if not 1 <= count <= most:
            if hardware.hosts and count > most:
                raise TooFewHostsError(f"{count} hosts: {hardware.name} lists {most}")
            raise UserError(f"{count} hosts: the number of hosts is 1 to {most}")
    if not hardware.hosts:
        processors = np.array(hosts, np.int64) * hardware.processors
        total = int(processors.sum())
        return Layout(processors, np.arange(total) // hardware.processors, (hardware,), np.zeros(total, np.int64))
    listed = hardware.hosts[: max(hosts)]
    classes = tuple(dict.fromkeys(listed))
    number = {item: place for place, item in enumerate(classes)}
    kinds = np.array([number[item] for item in listed])
    sizes = np.array([item.processors for item in listed])
    taken = np.concatenate([np.arange(count) for count in hosts])
    each = sizes[taken]
    processors = np.array([sizes[:count].sum() for count in hosts])
    return Layout(processors, np.repeat(np.arange(len(taken)), each), classes, np.repeat(kinds[taken], each))
