"""Clusters whose links to the others are too slow for a program, as its lead measures how its workers spend their time.

After Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 3.3: a cluster whose workers spend
more than a quarter of their time on communication with other clusters leaves whole. Start at `ClusterLinks.report`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.bad_places import BadPlaces
from cosched.scheduling.elastic.adaptation import AdaptationParameters, cluster_links, worker_badness

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from cosched.prediction.efficiency import WorkerStatistics

__all__ = ["ClusterLinks", "cluster_ranks"]


class ClusterLinks(BadPlaces):
    """Keeps the clusters with slow links: the mean part of their workers' time that goes to other clusters.

    Attributes:
        statistics: of the workers of each task, as reported last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.statistics: dict[str, tuple[WorkerStatistics, ...]] = {}

    def report(self, task: str, statistics: Sequence[WorkerStatistics], stays: str, limit: float, time: float) -> None:
        """Take how the workers of a task spend their time.

        Args:
            task: its name.
            statistics: of its workers, that on the lead's own host among them.
            stays: cluster of the lead's host; it never leaves, as the lead cannot.
            limit: part of the time beyond which a link is too slow.
            time: now, epoch seconds.
        """
        links = cluster_links(statistics)
        bad = {name: part for name, part in links.items() if part > limit and name not in ("", stays)}
        self.statistics[task] = tuple(statistics)
        self.note(task, bad, time)

    def badness(self, task: str) -> dict[int, float]:
        """Return the badness of each worker of a task, by number; those that are not known are left out."""
        found = self.statistics.get(task, ())
        return worker_badness(found, AdaptationParameters()) if found else {}

    def keep(self, tasks: Container[str]) -> None:
        """Forget all tasks but these."""
        super().keep(tasks)
        self.statistics = {name: found for name, found in self.statistics.items() if name in tasks}


def cluster_ranks(idle: Iterable[str], held: Iterable[str], clusters: Mapping[str, str]) -> dict[str, int]:
    """Return the rank of each idle host for a task that grows: hosts of the cluster where it has most come first.

    Of clusters where it has as many, that with the most idle hosts is first, so that it speaks with few others.

    Args:
        idle: hosts.
        held: hosts of the task.
        clusters: cluster of each host, empty where it is not known.
    """
    of_host = {host: clusters.get(host, "") for host in idle}
    there, mine = Counter(of_host.values()), Counter(clusters.get(host, "") for host in held)
    order = sorted(there, key=lambda name: (-mine[name], -there[name], name))
    return {host: order.index(cluster) for host, cluster in of_host.items()}
