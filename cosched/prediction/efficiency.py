"""Efficiency of a running program, measured by its workers, and what it foretells of other numbers of hosts.

Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 3.1. The speed-up of a program with the
average parallelism A on n equal hosts is taken as S(n) = nA/(n + A - 1) (Eager, Zahorjan and Lazowska 1989).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "WorkerStatistics",
    "average_parallelism",
    "efficiency_profile",
    "hosts_for_efficiency",
    "parallel_speedup",
    "weighted_average_efficiency",
]

_ROUNDING = 1e-9  # a whole number of hosts stays one


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """What a worker measured in a period.

    Attributes:
        worker: its number.
        host: name of its host.
        cluster: name of the host's cluster.
        speed: its speed, above 0; only ratios between workers count.
        overhead: part of the period in which it was idle or communicated, 0…1.
        inter_cluster: part of the period in which it communicated with other clusters, at most `overhead`.
    """

    worker: int
    host: str
    cluster: str
    speed: float
    overhead: float
    inter_cluster: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot have been measured.

        Raises:
            ValueError: the speed is not above 0, or a part is not within its bounds.
        """
        if not 0 < self.speed < math.inf:
            raise ValueError(f"worker {self.worker}: a speed of {self.speed!r}: it must be above 0")
        if not 0 <= self.inter_cluster <= self.overhead <= 1:
            raise ValueError(f"worker {self.worker}: overheads must be parts of the period, of other clusters at most")


def weighted_average_efficiency(statistics: Sequence[WorkerStatistics]) -> float:
    """Return the mean of speed · (1 - overhead), the fastest worker's speed being 1.

    The paper's sums run from 0 to n; n workers are meant.

    Args:
        statistics: of at least one worker.
    """
    fastest = max(each.speed for each in statistics)
    return fmean(each.speed / fastest * (1 - each.overhead) for each in statistics)


def parallel_speedup(hosts: float, parallelism: float) -> float:
    """Return the speed-up on hosts of the speed 1, or on so many times that speed in all.

    Args:
        hosts: number of hosts, or the sum of their speeds; 1 or more.
        parallelism: the average parallelism, 1 or more.
    """
    return hosts * parallelism / (hosts + parallelism - 1)


def average_parallelism(statistics: Sequence[WorkerStatistics]) -> float:
    """Return the average parallelism that the measured efficiency tells; infinite where no host was wasted.

    Args:
        statistics: of at least two workers, the work of one host among them.
    """
    fastest = max(each.speed for each in statistics)
    speeds = sum(each.speed / fastest for each in statistics)
    speedup = len(statistics) * weighted_average_efficiency(statistics)
    if speedup >= speeds * (1 - _ROUNDING):
        return math.inf
    return max(1.0, speedup * (speeds - 1) / (speeds - speedup))


def efficiency_profile(seconds: float, parallelism: float, counts: int) -> tuple[float, ...]:
    """Return run times on 1…`counts` hosts.

    Args:
        seconds: run time on one host.
        parallelism: the average parallelism; may be infinite.
        counts: number of host counts.
    """
    if math.isinf(parallelism):
        return tuple(seconds / count for count in range(1, counts + 1))
    return tuple(seconds / parallel_speedup(count, parallelism) for count in range(1, counts + 1))


def hosts_for_efficiency(hosts: int, efficiency: float, target: float) -> int:
    """Return the number of hosts that would have the target's efficiency if the useful work stayed the same.

    The paper says only "the higher the efficiency, the more"; this is the proportional reading. How many come and how
    many go is rounded up.

    Args:
        hosts: hosts with this efficiency.
        efficiency: the weighted average efficiency, 0…1.
        target: above 0.
    """
    wanted = hosts * efficiency / target
    return math.ceil(wanted - _ROUNDING) if wanted >= hosts else hosts - math.ceil(hosts - wanted - _ROUNDING)
