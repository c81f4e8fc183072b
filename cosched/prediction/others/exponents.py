"""Exponents say how run times grow with a program's numbers, and fall with its hosts.

Start at `Exponent`; `HostScaling` has one for each doubling of hosts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "BENDS",
    "USUAL_HOSTS",
    "USUAL_HOSTS_STATED",
    "USUAL_NUMBER",
    "USUAL_NUMBER_STATED",
    "Exponent",
    "HostScaling",
    "beyond_hosts",
]

_MOST_DOUBLINGS = 64

BENDS = 0.2
"""Deviation of an exponent of hosts from one doubling of them to the next."""


class Exponent(NamedTuple):
    """A likely exponent, before a program has run.

    Attributes:
        mean: as expected.
        deviation: standard deviation of it.
    """

    mean: float
    deviation: float


USUAL_NUMBER = Exponent(0.0, 1.0)
"""Of a number of the command, or the size of a file, before other programs have told."""
USUAL_NUMBER_STATED = Exponent(0.0, 0.2)
"""Of a number in how far stated times are off, likewise."""
USUAL_HOSTS = Exponent(-0.7, 0.5)
"""Of the number of hosts, likewise."""
USUAL_HOSTS_STATED = Exponent(0.0, 0.5)
"""Of the number of hosts in how far stated times are off, likewise."""


def beyond_hosts(least: float, most: float, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how unsure it is what the exponents of a program's hosts are beyond those that it had.

    That is the deviation of the logarithm of its run times: from doubling to doubling exponents are a random walk, as a
    serial part or messages show more, the more hosts there are.

    Args:
        least: logarithm of the least number of hosts that it had.
        most: that of the largest.
        counts: logarithms of others.
    """
    doublings = np.maximum(np.maximum(counts - most, least - counts), 0.0) / math.log(2)
    squares = doublings * (doublings + 1) * (2 * doublings + 1) / 6  # 1 + 4 + 9 + ...: the first bend is in all steps
    return np.asarray(math.log(2) * BENDS * np.sqrt(squares))


class HostScaling:
    """Exponents of the number of hosts by doubling: what programs do from 1 to 2 says nothing of 8 to 16.

    Attributes:
        doublings: those of which something is told; 0 is that from one host to two.
    """

    def __init__(self, usual: Exponent, doublings: Mapping[int, Exponent]) -> None:
        """Set up, with the exponent of doublings of which nothing is told."""
        self.doublings = doublings
        last = max(doublings, default=-1) + 1
        self._knots = math.log(2) * np.array([*range(last + 1), _MOST_DOUBLINGS])
        self._all, self._told = (
            self._sums([doublings.get(doubling, other) for doubling in range(last + 1)])
            for other in (usual, Exponent(0.0, 0.0))
        )

    def between(
        self, hosts: float, counts: NDArray[np.float64], *, told: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the logarithm of run times on some numbers of hosts by that on another: mean and deviation.

        Exponents of a program's doublings are taken to be all above their means, or all below.

        Args:
            hosts: logarithm of the number whose run time is known.
            counts: logarithms of the others. Deviations are below 0 for fewer hosts.
            told: only what is told counts; of other doublings the exponent is 0.
        """
        sums = self._told if told else self._all
        mean, deviation = (np.interp(counts, self._knots, each) - np.interp(hosts, self._knots, each) for each in sums)
        return mean, deviation

    def _sums(self, exponents: Sequence[Exponent]) -> NDArray[np.float64]:
        """Return means and deviations at the knots, from that of one host on."""
        steps = np.diff(self._knots)[:, np.newaxis] * np.array(exponents)
        return np.vstack((np.zeros(2), np.cumsum(steps, axis=0))).T
