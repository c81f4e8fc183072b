"""Hosts of a domain and what occupies them, whole or in part.

Start at `DomainHosts`. Where hosts are shared, a task takes a `HostShare` of each of its hosts, unless it has them for
itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.attempts.attempt import AttemptState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.task import Task, TaskSpec
    from cosched.prediction.loads.host_load import HostLoad
    from cosched.scheduling.schedule import Assignment

__all__ = [
    "DomainHosts",
    "HeldShare",
    "expected_end",
    "heaviest_load",
    "needs_of_alternative",
    "needs_on_host",
    "overrun",
    "predicted_end",
    "share_of",
]

# A job that has outrun its prediction is expected to go on for a part of it, and longer the later it is already:
# the estimate must grow, or a job that never ends would hold back everything planned behind it.
_OVERRUN_SHARE = 0.05
_OVERRUN_GROWTH = 0.5
_TOLERANCE, _LEAST = 0.1, 1.0  # of the prediction, and seconds, beyond which a run lasts too long: runs vary
_SHORTEST_CLAIM = 10.0  # seconds for which a host that others have is planned to stay theirs at least
_PLENTY = 1 << 40  # MiB of a shared host whose memory nobody tells
_NOTHING = HostShare()
_NO_LOADS: Mapping[str, HostLoad] = {}
_NOTHING_APART: Mapping[str, str] = {}


def expected_end(attempt: Attempt, now: float, handover: float = 0.0) -> float:
    """Return when a live attempt should free its hosts, epoch seconds; never before `now`.

    Args:
        attempt: live.
        now: epoch seconds.
        handover: seconds from a decision to the start of its job.
    """
    predicted = attempt.predicted or 0.0
    if attempt.worker:  # it leaves when it is told to, or with its lead
        return now + predicted
    start = max(attempt.begins(now, handover), attempt.created)  # the host's clock may be behind ours
    end = start + predicted
    if end >= now:  # what tells of an end that is due now may come next
        return end
    return now + max(_OVERRUN_SHARE * predicted, _OVERRUN_GROWTH * (now - end))


def predicted_end(attempt: Attempt, now: float, handover: float = 0.0) -> float | None:
    """Return `expected_end`; None where nobody has predicted it, and plans only reckon with one."""
    return None if attempt.predicted is None else expected_end(attempt, now, handover)


class HeldShare(NamedTuple):
    """A share of a host that an attempt or a foreign job holds until an epoch time."""

    host: str
    until: float
    share: HostShare


def overrun(attempt: Attempt, time: float) -> float:
    """Return how many seconds a run is past its predicted end; 0 within the usual, and for what has to leave."""
    unforeseen = attempt.predicted is None or attempt.loan or attempt.leave_by is not None
    if attempt.state is not AttemptState.RUNNING or attempt.started is None or unforeseen:
        return 0.0
    assert attempt.predicted is not None
    past = time - attempt.started - attempt.predicted
    return past if past > max(_TOLERANCE * attempt.predicted, _LEAST) else 0.0


def share_of(spec: TaskSpec, memory_per_core: int) -> HostShare | None:
    """Return what a task takes of each of its shared hosts; None for the whole.

    A task that names no cores has one for each of its processes; one that names no memory has that of its cores. A job
    in its manager's own words shares hosts only where its cores are known.
    """
    if spec.exclusive or ((spec.native is not None or spec.adopted) and not spec.cores):
        return None
    cores = spec.cores or spec.processes_per_host
    return HostShare(spec.memory or cores * memory_per_core, cores, spec.gpus)


def needs_on_host(spec: TaskSpec, memory_per_core: int | None) -> tuple[int, int, int]:
    """Return the memory, cores and GPUs that a host must have for a task.

    Args:
        spec: the request.
        memory_per_core: MiB; None where hosts are not shared.
    """
    share = None if memory_per_core is None else share_of(spec, memory_per_core)
    return spec.needs if share is None else (share.memory, share.cores, share.gpus)


def needs_of_alternative(spec: TaskSpec, each: Alternative, memory_per_core: int | None) -> tuple[int, int, int]:
    """Return `needs_on_host` of a task in one of its alternatives."""
    if memory_per_core is None or spec.exclusive or each.memory:
        return each.needs
    return each.cores * memory_per_core, each.cores, each.gpus


def heaviest_load(hosts: Iterable[str], loads: Mapping[str, HostLoad]) -> HostLoad | None:
    """Return the load of the host that has most; None where all are dedicated."""
    found = [loads[host] for host in hosts if host in loads] if loads else []
    return max(found, key=lambda load: load.lost, default=None)


class DomainHosts:
    """Hosts and what occupies them. Holds no task; the core tells it of attempts.

    Attributes:
        shared: whether tasks share hosts.
        hosts: by name, as the connector tells of them.
        loads: what the owners of hosts are expected to take of them, by host; empty where all are dedicated.
    """

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared
        self.hosts: dict[str, Host] = {}
        self.loads: Mapping[str, HostLoad] = {}
        self._sizes: dict[str, HostShare] = {}
        self._memory_per_core = 0
        self._parts: dict[HostShare, float] = {}  # of all hosts
        self._shares: dict[HostShare, HostShare] = {}
        self._up: list[str] = []  # asked for at every event, and changed by few
        self._classes: dict[str, str] = {}
        self._clusters: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._claimed: dict[str, float] = {}  # host that others have → since when, epoch seconds

    def observe(self, hosts: Iterable[Host], time: float, loads: Mapping[str, HostLoad] = _NO_LOADS) -> bool:
        """Take the connector's list, and loads; return True where a host came, went or changed."""
        seen = {host.name: host for host in hosts}
        before, changed = self.hosts, seen != self.hosts or loads != self.loads
        if changed:
            self.hosts, self.loads = seen, dict(loads)
            self._up = sorted(name for name, host in seen.items() if host.up)
            self._classes = {name: host.host_class for name, host in seen.items()}
            self._clusters = {name: host.cluster for name, host in seen.items() if host.cluster}
            self._parts, self._shares = {}, {}
            if self.shared:
                self._sizes = {name: _size(host) for name, host in seen.items()}
                known = [(host.memory, host.cores) for host in seen.values() if host.memory and host.cores]
                self._memory_per_core = min((memory // cores for memory, cores in known), default=0)
            self._kinds = _kinds_of(seen)
            if loads:
                self._kinds = {name: _kind_at(kind, loads.get(name)) for name, kind in self._kinds.items()}
        self._claimed = {
            name: self._claimed.get(name, time) if self._same_others(before.get(name), host) else time
            for name, host in seen.items()
            if host.claimed or (self.shared and host.others != _NOTHING)
        }
        return changed

    def _same_others(self, before: Host | None, now: Host) -> bool:
        return before is None or not self.shared or before.others == now.others

    def claimed(self) -> dict[str, float]:
        """Return since when others have what they have of hosts, epoch seconds."""
        return dict(self._claimed)

    def load(self, hosts: Iterable[Host], claimed: Mapping[str, float], loads: Mapping[str, HostLoad]) -> None:
        """Restore hosts, since when others have what they have of them (epoch seconds), and loads."""
        self.observe(hosts, math.inf, loads)
        self._claimed = dict(claimed)

    def claims(self, now: float) -> dict[str, float]:
        """Return when each host that others have whole is expected to be free, epoch seconds, always after `now`.

        Where the manager does not say, what has lasted so long is expected to last as long again.
        """
        return {name: self._given_back(name, now) for name in self._claimed if self._whole(self.hosts[name])}

    def _given_back(self, name: str, now: float) -> float:
        since = self._claimed[name]
        return max(self.hosts[name].free_at or now + (now - since), now + _SHORTEST_CLAIM)

    def _whole(self, host: Host) -> bool:
        """Return whether others have a host for themselves."""
        return host.claimed and not (self.shared and host.others != _NOTHING)

    def mine(self) -> list[str]:
        """Return the usable hosts, sorted by name, without those that others have whole."""
        return [name for name in self.up() if not self._whole(self.hosts[name])]

    def up(self) -> list[str]:
        """Return the names of the usable hosts, sorted."""
        return list(self._up)

    def offering(self, needs: tuple[int, int, int], partition: str = "") -> list[str]:
        """Return the usable hosts that offer the memory, cores and GPUs of a task, in its partition."""
        up = [name for name in self._up if self.hosts[name].takes_jobs_of(partition)]
        if self.shared:
            return [name for name in up if HostShare(*needs).within(self._sizes[name])]
        return [name for name in up if self.hosts[name].offers(*needs)]

    def classes(self) -> dict[str, str]:
        """Return the class of each host, empty where the manager does not say."""
        return dict(self._classes)

    def clusters(self) -> dict[str, str]:
        """Return the cluster of each host that has one."""
        return dict(self._clusters)

    def classes_of(self, hosts: Iterable[str]) -> set[str]:
        """Return the classes of some hosts; a host that is gone has none."""
        return {self._classes.get(host, "") for host in hosts}

    def kinds(self, apart: Mapping[str, str] = _NOTHING_APART) -> tuple[dict[str, str], dict[str, Host]]:
        """Return the kind of each host, and a host of each kind.

        Hosts of one kind are of one class and in the same partitions, have the same load, and a job may have as much
        of one as of the other.

        Args:
            apart: what sets hosts apart from others of their kinds, by host: "sun", and "sun not for 7".
        """
        kinds = self._kinds
        if apart:
            kinds = {name: f"{kind} {apart[name]}" if name in apart else kind for name, kind in kinds.items()}
        of_kind = {kinds[name]: self.hosts[name] for name in sorted(self.hosts, reverse=True)}
        if self.shared:
            of_kind = {kind: self._plain(host) for kind, host in of_kind.items()}
        return dict(kinds), of_kind

    def _plain(self, host: Host) -> Host:
        """Return the part of a host's description that no job changes."""
        size = self._sizes[host.name]
        return Host(
            "",
            host.host_class,
            memory=size.memory,
            cores=size.cores,
            gpus=size.gpus,
            unparted=host.unparted,
            partitions=host.partitions,
        )

    @property
    def memory_per_core(self) -> int | None:
        """MiB that a task gets with each core where it names no memory; None where hosts are not shared.

        It is the least that any host has, so that all cores can be given out.
        """
        return self._memory_per_core if self.shared else None

    def size(self, name: str) -> HostShare:
        """Return what tasks may have of a shared host in all.

        Where the manager does not say: one core, all the memory that is asked for, and no GPU.
        """
        return self._sizes[name]

    def share_of(self, spec: TaskSpec) -> HostShare | None:
        """Return what a task takes of each of its hosts; None for the whole.

        Equal shares are one object: thousands of tasks ask for few different ones.
        """
        if not self.shared:
            return None
        share = share_of(spec, self._memory_per_core)
        return None if share is None else self._shares.setdefault(share, share)

    def planned_shape(self, task: Task, place: Assignment) -> Task:
        """Return a waiting task in the shape in which it is planned to run."""
        hosts = [self.hosts[host] for host in place.hosts if host in self.hosts]
        return task.shaped(place.taken[0] if place.taken else 0, hosts)

    def cores_of(self, spec: TaskSpec) -> int:
        """Return on how many cores of each host a task runs, those that it takes or asked for; 0 for whole hosts."""
        if (share := self.share_of(spec)) is not None:
            return share.cores
        if self.shared:
            return 0
        return spec.cores or (spec.processes_per_host if spec.processes_per_host > 1 else 0)

    def parted(self, name: str) -> bool:
        """Return whether several tasks may have parts of a shared host at one time."""
        return not self.hosts[name].unparted

    def taken(self, host: str, share: HostShare | None) -> HostShare:
        """Return what a job takes of a shared host that has asked for a share, or for all.

        Of a host that is not parted it takes all; of one that is gone, where it has asked for all, nothing.
        """
        if share is not None and (host not in self.hosts or self.parted(host)):
            return share
        return self._sizes.get(host, _NOTHING)

    def part(self, share: HostShare | None) -> float:
        """Return which part of a host a share is: that of its dominant resource, on average over the hosts that are up.

        It is the same wherever a task comes to run: limits reckon with it before hosts are chosen, and charge it then.
        """
        if share is None:
            return 1.0
        if share not in self._parts:
            sizes = [self._sizes[name] for name in self._up if name in self._sizes]
            self._parts[share] = sum(_dominant(share, size) for size in sizes) / len(sizes) if sizes else 1.0
        return self._parts[share]

    def occupied(self, attempts: Iterable[Attempt], now: float, handover: float = 0.0) -> dict[str, float]:
        """Return when each host that is taken whole is expected to be free.

        A held attempt takes no host: its manager gives them to others meanwhile.
        """
        free: dict[str, float] = {}
        for attempt in attempts:
            if attempt.takes_hosts and not (self.shared and attempt.cores):
                end = expected_end(attempt, now, handover)
                for host in attempt.reckoned_hosts:
                    free[host] = max(free.get(host, 0.0), end)
        return free

    def held(self, attempts: Iterable[Attempt], now: float, handover: float = 0.0) -> list[HeldShare]:
        """Return what attempts and foreign jobs hold of shared hosts."""
        if not self.shared:
            return []
        found = [
            HeldShare(name, self._given_back(name, now), self.hosts[name].others)
            for name in self._claimed
            if self.hosts[name].others != _NOTHING
        ]
        for attempt, on in _places(attempts):
            if share := attempt.share:
                end = expected_end(attempt, now, handover)
                found += [HeldShare(host, end, self.taken(host, share)) for host in on]
        return found

    def full(self, attempts: Iterable[Attempt]) -> set[str]:
        """Return the shared hosts without a free core."""
        cores = {name: size.cores - self.hosts[name].others.cores for name, size in self._sizes.items()}
        for attempt, on in _places(attempts):
            for host in on:
                if host in cores:
                    cores[host] -= attempt.cores if attempt.cores and self.parted(host) else cores[host]
        return {name for name, free in cores.items() if free <= 0}

    def left(self, attempts: Iterable[Attempt]) -> dict[str, HostShare]:
        """Return what attempts and foreign jobs leave of each shared host.

        It is below 0 where they hold more than there is.
        """
        left, live = dict(self._sizes), list(attempts)
        for attempt in live:
            if attempt.takes_hosts and attempt.share is None:
                left |= {host: _NOTHING for host in attempt.reckoned_hosts if host in left}
        for host, _, share in self.held(live, 0.0):
            if host in left:
                left[host] = left[host] - share
        return left


def _places(attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, tuple[str, ...]]]:
    """Yield the attempts that hold hosts, each with its hosts.

    A lead takes a share of each promised host, whether a worker is there or not; that worker takes nothing beside.
    """
    live = [attempt for attempt in attempts if attempt.takes_hosts]
    promised = {(each.task, host) for each in live if each.lead is not None for host in each.lead.promised}
    for attempt in live:
        if not (attempt.worker and not attempt.loan and (attempt.task, attempt.hosts[0]) in promised):
            yield attempt, attempt.reckoned_hosts


def _dominant(share: HostShare, size: HostShare) -> float:
    pairs = ((share.cores, size.cores), (share.memory, size.memory), (share.gpus, size.gpus))
    return min(max(taken / had for taken, had in pairs if had), 1.0)


def _size(host: Host) -> HostShare:
    return HostShare(_PLENTY if host.memory is None else host.memory, host.cores or 1, host.gpus or 0)


def _kind_at(kind: str, load: HostLoad | None) -> str:
    """Return the name of a kind with a load: "sun@0.25"."""
    return kind if load is None else f"{kind}@{load.lost:g}"


def _kinds_of(hosts: Mapping[str, Host]) -> dict[str, str]:
    alike: dict[str, dict[tuple[object, ...], int]] = {}  # class → what its hosts have, and where they are → a number
    kinds = {}
    for name, host in sorted(hosts.items()):
        what = (host.memory, host.cores, host.gpus, host.unparted, host.partitions)
        number = alike.setdefault(host.host_class, {}).setdefault(what, len(alike[host.host_class]))
        kinds[name] = f"{host.host_class}#{number}" if number else host.host_class
    return kinds
