"""Hosts as a resource manager shows them, and parts of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Host", "HostShare"]


@dataclass(frozen=True, slots=True)
class HostShare:
    """Part of a host: memory in MiB, cores, GPUs."""

    memory: int = 0
    cores: int = 0
    gpus: int = 0

    def __add__(self, other: HostShare) -> HostShare:
        return HostShare(self.memory + other.memory, self.cores + other.cores, self.gpus + other.gpus)

    def __sub__(self, other: HostShare) -> HostShare:
        return HostShare(self.memory - other.memory, self.cores - other.cores, self.gpus - other.gpus)

    def within(self, other: HostShare) -> bool:
        """Return whether another share has as much of each."""
        return self.memory <= other.memory and self.cores <= other.cores and self.gpus <= other.gpus


@dataclass(frozen=True, slots=True)
class Host:
    """One place in a domain: a machine, a static slot.

    Attributes:
        name: the manager's own name for it, unique in the domain.
        host_class: name of its resource model (HMCL); empty where the manager does not say, then configuration decides.
        up: False while it is down, draining, off-line or absent.
        reason: why it is not up, or the job that has it, for people.
        claimed: True while a foreign job has it; nothing is pinned to it then. Where hosts are shared it only counts if
            `others` is empty.
        free_at: when the manager expects it to be free of that; None where it does not say.
        memory: MiB that a job may have of it; None where the manager does not say, as for cores and GPUs.
        cores: that a job may have of it.
        gpus: that a job may have of it.
        others: what foreign jobs hold of these; in a domain that shares its hosts the rest may be pinned. Said beside
            `claimed`, which counts where hosts are not shared.
        owner_takes: part of it that its owner takes now, 0…1: jobs there stand still, or share it with him. Other jobs
            of the manager are no owner.
        unparted: whether one job has all of it, whatever it asks for, although hosts are shared: a static slot.
        cluster: name of the hosts (a site, a switch) between which communication is quick; empty where nobody says.
        partitions: the manager's partitions that it is in, sorted; empty where the manager has none.
    """

    name: str
    host_class: str = ""
    up: bool = True
    reason: str = ""
    claimed: bool = False
    free_at: float | None = None
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    others: HostShare = HostShare()
    owner_takes: float = 0.0
    unparted: bool = False
    cluster: str = ""
    partitions: tuple[str, ...] = ()

    def offers(self, memory: int, cores: int, gpus: int) -> bool:
        """Return whether a job may have so much of it, as far as is known."""
        return (
            (self.memory is None or memory <= self.memory)
            and (self.cores is None or cores <= self.cores)
            and (self.gpus is None or gpus <= self.gpus)
        )

    def takes_jobs_of(self, partition: str) -> bool:
        """Return whether a job may run on it that is to run in a partition; empty for any."""
        return not (partition and self.partitions) or partition in self.partitions
