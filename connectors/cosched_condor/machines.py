"""The pool's machines as hosts: slot ClassAds, and which of their jobs are cosched's.

Start at `pool_hosts`; `OwnClusters` knows the clusters that cosched has submitted.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.connector import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cosched_condor.condor_settings import CondorSettings

    Ours = Callable[[Mapping[str, Any]], bool]

__all__ = ["JobRequirements", "OwnClusters", "pool_hosts", "slot_projection"]

# ── Which jobs on slots are cosched's: numbers of clusters mean something only beside the name of their scheduler.


class OwnClusters:
    """The clusters that cosched has submitted, as far as this process or its news know.

    Attributes:
        scheduler: the name of the one that they are with ("submit.example.org"); empty while it is not known.
    """

    def __init__(self) -> None:
        self.scheduler = ""
        self._clusters: set[str] = set()
        self._submitting = False

    def add(self, jobs: Iterable[str]) -> None:
        """Take in jobs of cosched's ("12.0")."""
        self._clusters.update(job.partition(".")[0] for job in jobs)

    @contextmanager
    def submitting(self) -> Iterator[None]:
        """Take every newer cluster for ours meanwhile: its number is known here later than on its slot."""
        self._submitting = True
        try:
            yield
        finally:
            self._submitting = False

    def has(self, slot: Mapping[str, Any]) -> bool:
        """Whether a slot's job is cosched's."""
        scheduler = str(slot.get("GlobalJobId", "")).partition("#")[0]
        if scheduler and self.scheduler and scheduler != self.scheduler:
            return False
        cluster = str(slot.get("JobId", "")).partition(".")[0]
        if cluster in self._clusters:
            return True
        return self._submitting and cluster.isdecimal() and int(cluster) > max(map(int, self._clusters), default=0)


# ── The pool's machines: slot ClassAds to hosts.


_OUT_OF_USE = ("Drained", "Draining", "Delete", "Shutdown", "Backfill")
_SLOT_ATTRIBUTES = (
    "Machine",
    "Name",
    "State",
    "Activity",
    "Offline",
    "Draining",
    "DrainReason",
    "Start",
    "JobId",
    "GlobalJobId",
    "RemoteOwner",
    "PartitionableSlot",
    "Cpus",
    "Memory",
    "Disk",
    "GPUs",
)


@dataclass(frozen=True, slots=True)
class JobRequirements:
    """What a job takes of its host.

    Attributes:
        Cpus: cores.
        Memory: MiB.
        Disk: KiB.
        GPUs: devices.
    """

    Cpus: float = 1
    Memory: float = 0
    Disk: float = 0
    GPUs: float = 0

    @classmethod
    def of(cls, settings: CondorSettings) -> JobRequirements:
        """Return what the administrator has jobs ask for."""
        return cls(settings.request_cpus, settings.request_memory, settings.request_disk, settings.request_gpus)

    def met_by(self, slots: Iterable[Mapping[str, Any]]) -> bool:
        """Whether these slots together have it."""
        parts = list(slots)
        return all(
            sum(float(part.get(name, 0)) for part in parts) >= getattr(self, name)
            for name in ("Cpus", "Memory", "Disk", "GPUs")
        )


def slot_projection(class_attribute: str) -> list[str]:
    """Return the attributes that `machines` reads."""
    return [*_SLOT_ATTRIBUTES, class_attribute] if class_attribute else [*_SLOT_ATTRIBUTES]


def pool_hosts(
    slots: Iterable[Mapping[str, Any]], class_attribute: str, ours: Ours, needs: JobRequirements
) -> list[Host]:
    """Return one host for each machine, sorted by name.

    Args:
        slots: ads of slots; a machine with several is up when one of them is.
        class_attribute: the attribute that names a machine's class; empty for none.
        ours: whether a slot's job is cosched's.
        needs: what a job of cosched takes; a partitionable slot that has less left is claimed.
    """
    by_machine: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for slot in slots:
        name = str(slot.get("Machine", ""))
        if name and "," not in name:
            by_machine[name].append(slot)
    return [_machine_host(name, by_machine[name], class_attribute, ours, needs) for name in sorted(by_machine)]


def _machine_host(
    name: str,
    slots: Sequence[Mapping[str, Any]],
    class_attribute: str,
    ours: Ours,
    needs: JobRequirements,
) -> Host:
    usable = [slot for slot in slots if not _why_unavailable(slot)]
    host_class = str((usable or slots)[0].get(class_attribute, "")) if class_attribute else ""
    if not usable:
        return Host(name, host_class, up=False, reason=_why_unavailable(slots[0]))
    strangers = [slot for slot in usable if _is_foreign(slot, ours)]
    rest = [slot for slot in usable if slot not in strangers]
    parted = any(slot.get("PartitionableSlot") is True for slot in usable)
    # Of a partitionable slot counts what is left of it, with what our own jobs have of it now.
    if needs.met_by(rest) if parted else rest:
        return Host(name, host_class)
    owners = sorted({str(slot.get("RemoteOwner", "")) for slot in strangers} - {""})
    return Host(name, host_class, reason=f"claimed by {', '.join(owners) or 'others'}", claimed=True)


def _is_foreign(slot: Mapping[str, Any], ours: Ours) -> bool:
    """Whether somebody else's job has the slot; a claim that waits for its owner's next job counts when it has one."""
    if slot.get("State") == "Owner":
        return True
    return slot.get("State") == "Claimed" and "JobId" in slot and not ours(slot)


def _why_unavailable(slot: Mapping[str, Any]) -> str:
    """Return why a slot takes no jobs; empty if it does."""
    if slot.get("Offline") is True:
        return "offline: it sleeps or was switched off"
    if slot.get("Draining") is True or slot.get("State") == "Drained":
        words = " ".join(str(slot.get("DrainReason", "")).split())
        return f"draining: {words}" if words else "draining: it takes no new jobs"
    if slot.get("Start") is False:
        return "its policy (START) lets no job begin"
    state = str(slot.get("State", ""))
    return f"in state {state}" if state in _OUT_OF_USE else ""
