"""Advice for one program on hosts of several clusters: how many more, which ones leave, which ones to keep away from.

Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 3.3. Start at `advise_workers`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.prediction.efficiency import hosts_for_efficiency, weighted_average_efficiency

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.prediction.efficiency import WorkerStatistics

__all__ = [
    "AdaptationParameters",
    "AvoidedPlaces",
    "WorkerAdvice",
    "advise_workers",
    "cluster_links",
    "worker_badness",
]


@dataclass(frozen=True, slots=True)
class AdaptationParameters:
    """The thresholds and weights of the paper.

    Attributes:
        least_efficiency: workers leave below it (E_min).
        most_efficiency: workers are asked for above it (E_max).
        speed_weight: of 1/speed in the badness (alpha).
        link_weight: of the communication with other clusters (beta).
        cluster_weight: of being in the worst cluster (gamma).
        link_limit: a cluster whose workers spend more than this part with other clusters leaves as a whole.
        avoided: seconds for which places are kept away from that workers had to leave; twice as long at each relapse.
            Infinite as in the paper.
    """

    least_efficiency: float = 0.3
    most_efficiency: float = 0.5
    speed_weight: float = 1.0
    link_weight: float = 100.0
    cluster_weight: float = 10.0
    link_limit: float = 0.25
    avoided: float = math.inf


@dataclass(frozen=True, slots=True)
class AvoidedPlaces:
    """Hosts and clusters that the program left because they were bad.

    Attributes:
        hosts: until when each host is kept away from, seconds.
        clusters: until when each cluster is.
        times: how often each place has been left, hosts and clusters by name.
    """

    hosts: Mapping[str, float] = field(default_factory=dict)
    clusters: Mapping[str, float] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)

    def allows(self, host: str, cluster: str, time: float) -> bool:
        """Return whether the program may go to a host at a time."""
        return time >= max(self.hosts.get(host, -math.inf), self.clusters.get(cluster, -math.inf))

    def with_left(self, hosts: Sequence[str], clusters: Sequence[str], time: float, seconds: float) -> AvoidedPlaces:
        """Return these places and others that the program leaves now."""
        times = {**self.times, **{name: self.times.get(name, 0) + 1 for name in (*hosts, *clusters)}}
        until = {name: time + seconds * 2.0 ** (times[name] - 1) for name in (*hosts, *clusters)}
        return AvoidedPlaces(
            {**self.hosts, **{name: until[name] for name in hosts}},
            {**self.clusters, **{name: until[name] for name in clusters}},
            times,
        )


@dataclass(frozen=True, slots=True)
class WorkerAdvice:
    """Advice to a program after a period.

    Attributes:
        more: how many more workers it should have.
        leave: numbers of the workers that should leave, the worst first.
        avoided: places to keep away from, from now on.
        efficiency: the weighted average efficiency that it follows from.
    """

    more: int
    leave: tuple[int, ...]
    avoided: AvoidedPlaces
    efficiency: float


def advise_workers(
    statistics: Sequence[WorkerStatistics], avoided: AvoidedPlaces, parameters: AdaptationParameters, time: float
) -> WorkerAdvice:
    """Return what to do after a period.

    The worst workers leave below the lower threshold, or a whole cluster that is badly connected; one worker at least
    stays. How many is not printed: as many as `hosts_for_efficiency` says.

    Args:
        statistics: of each worker in the period; at least one.
        avoided: places that were left before.
        parameters: thresholds and weights.
        time: now, seconds.
    """
    workers = len(statistics)
    efficiency = weighted_average_efficiency(statistics)
    wanted = hosts_for_efficiency(workers, efficiency, parameters.most_efficiency)
    if efficiency > parameters.most_efficiency:
        return WorkerAdvice(wanted - workers, (), avoided, efficiency)
    if efficiency >= parameters.least_efficiency:
        return WorkerAdvice(0, (), avoided, efficiency)
    severed = _severed_cluster(statistics, parameters)
    if severed is not None:
        leave = tuple(each.worker for each in statistics if each.cluster == severed)
        kept_from = avoided.with_left((), (severed,), time, parameters.avoided)
        return WorkerAdvice(0, leave, kept_from, efficiency)
    badness = worker_badness(statistics, parameters)
    worst = sorted(statistics, key=lambda each: (-badness[each.worker], -each.worker))[: workers - max(wanted, 1)]
    kept_from = avoided.with_left([each.host for each in worst], (), time, parameters.avoided)
    return WorkerAdvice(0, tuple(each.worker for each in worst), kept_from, efficiency)


def worker_badness(statistics: Sequence[WorkerStatistics], parameters: AdaptationParameters) -> dict[int, float]:
    """Return the badness of each worker, by number.

    It is alpha/speed + beta · (part of the time spent with other clusters) + gamma for those of the worst cluster.
    """
    fastest = max(each.speed for each in statistics)
    clusters = _cluster_badness(statistics, parameters)
    worst = max(clusters, key=lambda name: (clusters[name], name))
    return {
        each.worker: parameters.speed_weight * fastest / each.speed
        + parameters.link_weight * each.inter_cluster
        + parameters.cluster_weight * (each.cluster == worst)
        for each in statistics
    }


def _cluster_badness(statistics: Sequence[WorkerStatistics], parameters: AdaptationParameters) -> dict[str, float]:
    """Return alpha/speed + beta · (mean part spent with other clusters) by cluster; the fastest has the speed 1."""
    speeds: dict[str, float] = {}
    for each in statistics:
        speeds[each.cluster] = speeds.get(each.cluster, 0.0) + each.speed
    fastest, links = max(speeds.values()), cluster_links(statistics)
    return {
        name: parameters.speed_weight * fastest / speed + parameters.link_weight * links[name]
        for name, speed in speeds.items()
    }


def cluster_links(statistics: Sequence[WorkerStatistics]) -> dict[str, float]:
    """Return the mean part of the period spent with other clusters, by cluster."""
    parts: dict[str, list[float]] = {}
    for each in statistics:
        parts.setdefault(each.cluster, []).append(each.inter_cluster)
    return {name: fmean(values) for name, values in parts.items()}


def _severed_cluster(statistics: Sequence[WorkerStatistics], parameters: AdaptationParameters) -> str | None:
    """Return the worst connected cluster beyond the limit; None where it is the only one."""
    links = cluster_links(statistics)
    worst = max(links, key=lambda name: (links[name], name))
    return worst if links[worst] > parameters.link_limit and len(links) > 1 else None
