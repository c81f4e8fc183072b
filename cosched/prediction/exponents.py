"""Exponents say how run times grow with a program's numbers, and fall with its hosts.

Start at `Exponent`; `HostScaling` has one for each doubling of hosts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["USUAL_HOSTS", "USUAL_HOSTS_STATED", "USUAL_NUMBER", "Exponent", "HostScaling"]

_MOST_DOUBLINGS = 64


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
USUAL_HOSTS = Exponent(-0.7, 0.5)
"""Of the number of hosts, likewise."""
USUAL_HOSTS_STATED = Exponent(0.0, 0.5)
"""Of the number of hosts in how far stated times are off, likewise."""


@dataclass(frozen=True, slots=True)
class HostScaling:
    """Exponents of the number of hosts by doubling: what programs do from 1 to 2 says nothing of 8 to 16.

    Attributes:
        usual: that of doublings of which nothing is told.
        doublings: the others; 0 is that from one host to two.
    """

    usual: Exponent
    doublings: Mapping[int, Exponent] = field(default_factory=dict)

    def between(self, hosts: float, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the logarithm of run times on some numbers of hosts by that on another: mean and deviation.

        Exponents of a program's doublings are taken to be all above their means, or all below.

        Args:
            hosts: logarithm of the number whose run time is known.
            counts: logarithms of the others. Deviations are below 0 for fewer hosts.
        """
        steps = [self.doublings.get(doubling, self.usual) for doubling in range(max(self.doublings, default=-1) + 1)]
        knots = math.log(2) * np.array([*range(len(steps) + 1), _MOST_DOUBLINGS])
        each = np.diff(knots)[:, np.newaxis] * np.array([*steps, self.usual])
        sums = np.vstack((np.zeros(2), np.cumsum(each, axis=0)))
        mean, deviation = (np.interp(counts, knots, column) - np.interp(hosts, knots, column) for column in sums.T)
        return mean, deviation
