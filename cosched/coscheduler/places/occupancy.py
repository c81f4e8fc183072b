"""Occupancy of shared hosts over time: how much of them others had while an attempt ran.

Start at `HostOccupancy`. Of each host the core-seconds that jobs have had are summed up as jobs begin and end, so that
an attempt needs only the sums at its own begin and end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.places.hosts import DomainHosts

__all__ = ["HostOccupancy", "OccupancySnapshot"]


@dataclass(frozen=True, slots=True)
class HostCores:
    """Cores that jobs have of a host, and have had.

    Attributes:
        own: cores of our running attempts.
        others: cores of foreign jobs.
        since: epoch seconds since when these are so many.
        total: core-seconds until then.
    """

    own: int = 0
    others: int = 0
    since: float = 0.0
    total: float = 0.0

    def at(self, time: float) -> HostCores:
        """Return the same with all core-seconds until a time."""
        passed = max(time - self.since, 0.0)
        return replace(self, since=self.since + passed, total=self.total + (self.own + self.others) * passed)


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run under way.

    Attributes:
        cores: what it takes of each host.
        hosts: core-seconds of each of its hosts at its begin.
        begun: epoch seconds at which it was seen to begin; None where it was not.
    """

    cores: int
    hosts: Mapping[str, float]
    begun: float | None


@dataclass(frozen=True, slots=True)
class OccupancySnapshot:
    """Memory of the occupancy.

    Attributes:
        hosts: cores of each host that jobs have had.
        runs: attempts that have hosts.
    """

    hosts: Mapping[str, HostCores] = field(default_factory=dict)
    runs: Mapping[str, BegunRun] = field(default_factory=dict)


class HostOccupancy:
    """Follows attempts on shared hosts; where hosts are not shared it knows nothing, and costs nothing."""

    def __init__(self, domain: DomainHosts) -> None:
        self._domain = domain
        self._hosts: dict[str, HostCores] = {}
        self._runs: dict[str, BegunRun] = {}

    def snapshot(self) -> OccupancySnapshot:
        """Return all that is remembered."""
        return OccupancySnapshot(dict(self._hosts), dict(self._runs))

    def load(self, snapshot: OccupancySnapshot) -> None:
        """Go on from a snapshot."""
        self._hosts, self._runs = dict(snapshot.hosts), dict(snapshot.runs)

    def observe(self, time: float) -> None:
        """Take in what foreign jobs have of hosts now; hosts that are gone are forgotten."""
        if not self._domain.shared:
            return
        for name, host in self._domain.hosts.items():
            known = self._hosts.get(name, HostCores())
            if known.others != host.others.cores:
                self._hosts[name] = replace(known.at(time), others=host.others.cores)
        for name in self._hosts.keys() - self._domain.hosts.keys():
            if not self._hosts[name].own:
                del self._hosts[name]

    def follow(self, attempt: Attempt, time: float, *, seen: bool = True) -> None:
        """Take in an attempt as it is now.

        Args:
            attempt: live.
            time: epoch seconds.
            seen: whether it begins now, if it runs; else nobody knows what was beside it.
        """
        if not self._domain.shared:
            return
        if attempt.state is AttemptState.RUNNING and attempt.uuid not in self._runs:
            self._begin(attempt, time if seen else None, time)
        elif attempt.state is AttemptState.HELD:  # others have its hosts meanwhile
            self.end(attempt, time)

    def _begin(self, attempt: Attempt, begun: float | None, time: float) -> None:
        self._add(attempt.hosts, attempt.cores, time)
        totals = {host: self._hosts[host].total for host in attempt.hosts}
        self._runs[attempt.uuid] = BegunRun(attempt.cores, totals, begun)

    def end(self, attempt: Attempt, time: float) -> float | None:
        """Forget an attempt; return which part of its fullest host others had, on average over its run.

        It is None where that is not known: its begin was not seen, or its host is a part of a machine whose other parts
        are not looked at. One that had its hosts for itself had nobody beside it.
        """
        run = self._runs.pop(attempt.uuid, None)
        if run is None:
            return None
        self._add(run.hosts, -run.cores, time)
        known = [name for name in run.hosts if name in self._domain.hosts and self._domain.parted(name)]
        if run.begun is None or time <= run.begun or not run.hosts or len(known) < len(run.hosts):
            return None
        if not run.cores:
            return 0.0
        seconds, parts = time - run.begun, []
        for name, before in run.hosts.items():
            others = (self._hosts[name].total - before) / seconds - run.cores
            parts.append(others / self._domain.size(name).cores)
        return min(max(*parts, 0.0), 1.0)

    def _add(self, hosts: Iterable[str], cores: int, time: float) -> None:
        for name in hosts:
            known = self._hosts.get(name, HostCores()).at(time)
            self._hosts[name] = replace(known, own=known.own + cores)
