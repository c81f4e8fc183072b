"""Measurements of several hosts become those of their class; hosts that are off it are named."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from cosched.measurement.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.measurement.host_program import HostMeasurement

__all__ = ["HostDeviation", "class_samples", "deviations"]

_OFF = 0.10
_JUDGED = ("operation", "memory", "shm")


@dataclass(frozen=True, slots=True)
class HostDeviation:
    """One host against the median of its class.

    Attributes:
        host: its name.
        group: what was timed: `operation`, `memory` or `shm`.
        ratio: times as long as the median of the class, the median over the tests.
    """

    host: str
    group: str
    ratio: float

    @property
    def off(self) -> bool:
        """Whether the host is not like its class."""
        return abs(self.ratio - 1) > _OFF


def class_samples(measured: Sequence[HostMeasurement]) -> Samples:
    """Return each test's samples from the host in the middle.

    Of an even number it is the lower of the two.
    """
    found: dict[str, list[tuple[float, Sequence[float]]]] = defaultdict(list)
    for each in measured:
        for name in each.samples:
            found[name].append((each.samples.value(name), each.samples.of(name)))
    return Samples({name: sorted(hosts, key=lambda h: h[0])[(len(hosts) - 1) // 2][1] for name, hosts in found.items()})


def deviations(measured: Sequence[HostMeasurement]) -> list[HostDeviation]:
    """Return how each host compares with the median of all, for each group of tests."""
    found = []
    for group in _JUDGED:
        names = [
            name
            for name in measured[0].samples
            if name.startswith(f"{group} ") and all(name in set(each.samples) for each in measured)
        ]
        middle = {name: median(each.samples.value(name) for each in measured) for name in names}
        for each in measured if names else ():
            ratios = [each.samples.value(name) / middle[name] for name in names]
            ratio = float(np.median(ratios))
            found.append(HostDeviation(each.host, group, 1 / ratio if group == "memory" else ratio))
    return found
