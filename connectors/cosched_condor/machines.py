"""The pool's machines as hosts: slot ClassAds, and which of their jobs are cosched's.

Start at `pool_hosts`; `OwnClusters` knows the clusters that cosched has submitted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from cosched.connector import Host, HostShare
from cosched_condor.job_ads import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cosched_condor.condor_settings import CondorSettings

    OfSlot = Callable[[Mapping[str, Any]], bool]

__all__ = ["IdleClaims", "JobRequirements", "OwnClusters", "PlaceAttributes", "pool_hosts", "slot_projection"]

_IDLE_CLAIM_HELD = 20.0  # seconds: a claim whose job is about to begin, or has just ended, is idle for a moment


class OwnClusters:
    """Clusters that slots show: which of them cosched has submitted.

    The number of a cluster means something only beside the name of its scheduler, and beside the time of its
    submission: a scheduler that has lost its queue counts from 1 again, and others' jobs get the numbers of ours.
    """

    def __init__(self) -> None:
        self._scheduler = ""
        self._own: dict[str, set[str]] = {}  # cluster → its times of submission, as far as slots have shown them
        self._foreign: set[tuple[str, str]] = set()  # clusters with these times

    @property
    def scheduler(self) -> str:
        """Name of the scheduler that has the clusters ("submit.example.org"); empty while it is not known."""
        return self._scheduler

    def named(self, scheduler: str) -> None:
        """Take in the scheduler's name."""
        self._scheduler = scheduler

    def add(self, jobs: Iterable[str]) -> None:
        """Take in jobs of cosched's ("12.0")."""
        for job in jobs:
            self._own.setdefault(job.partition(".")[0], set())

    def resolve(self, slots: Iterable[Mapping[str, Any]], own: Callable[[], Iterable[str]]) -> None:
        """Find out whose the clusters are that slots show for the first time.

        A process that has just been started knows none, and its own jobs are no reason to call others back.

        Args:
            slots: ads of slots.
            own: asks the scheduler for cosched's clusters in its queue.
        """
        shown = {_submission(slot) for slot in slots if "JobId" in slot and self._is_schedulers(slot)}
        self._foreign &= shown
        for cluster, time in shown:
            if self._own.get(cluster) == set():  # submitted a moment ago
                self._own[cluster].add(time)
        if new := {each for each in shown - self._foreign if not self._is_own(*each)}:
            ours = set(own())
            for cluster, time in new:
                if cluster in ours:
                    self._own.setdefault(cluster, set()).add(time)
                else:
                    self._foreign.add((cluster, time))

    def owns(self, slot: Mapping[str, Any]) -> bool:
        """Return whether a slot's job is cosched's."""
        return self._is_schedulers(slot) and self._is_own(*_submission(slot))

    def _is_own(self, cluster: str, time: str) -> bool:
        times = self._own.get(cluster)
        return times is not None and (not times or not time or time in times)

    def _is_schedulers(self, slot: Mapping[str, Any]) -> bool:
        """Return whether a slot's job is in the scheduler's queue, as far as is known."""
        scheduler = str(slot.get("GlobalJobId", "")).partition("#")[0]
        return not scheduler or not self._scheduler or scheduler == self._scheduler


def _submission(slot: Mapping[str, Any]) -> tuple[str, str]:
    """Return the cluster of a slot's job, and when it was submitted; empty where the slot does not show that."""
    return str(slot.get("JobId", "")).partition(".")[0], str(slot.get("GlobalJobId", "")).rpartition("#")[2]


class IdleClaims:
    """Slots that other users keep claimed without a job: no job of cosched's can begin there.

    The dedicated scheduler keeps a claim after a parallel job (`UNUSED_CLAIM_TIMEOUT`, ten minutes by default), and
    any user does so by `keep_claim_idle`.
    """

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def held(self, slots: Iterable[Mapping[str, Any]], own_names: Collection[str], now: float) -> frozenset[str]:
        """Return the names of the slots that others have kept idle for a while.

        Args:
            slots: ads of all slots.
            own_names: as whom the scheduler knows cosched, whose claims wait for its own next jobs; empty while that
                is not known.
            now: seconds of a clock that goes on steadily.
        """
        shown: dict[tuple[str, str], float] = {}
        for slot in slots:
            owner = str(slot.get("RemoteOwner", ""))
            idle = slot.get("State") == "Claimed" and slot.get("Activity") == "Idle" and "JobId" not in slot
            if idle and own_names and owner and owner.partition("@")[0] not in own_names:
                claim = (str(slot.get("Name", "")), owner)
                shown[claim] = self._since.get(claim, now)
        self._since = shown
        return frozenset(name for (name, _), since in shown.items() if now - since >= _IDLE_CLAIM_HELD)


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
    "DynamicSlot",
    "TotalSlotCpus",
    "TotalSlotMemory",
    "TotalSlotGPUs",
)


@dataclass(frozen=True, slots=True)
class JobRequirements:
    """Resources that a job takes of its host.

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
        """Return the requirements that the administrator has set."""
        return cls(settings.request_cpus, settings.request_memory, settings.request_disk, settings.request_gpus)

    def met_by(self, slots: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether these slots together have all of them."""
        parts = list(slots)
        return all(
            sum(_amount(part, name) for part in parts) >= getattr(self, name)
            for name in ("Cpus", "Memory", "Disk", "GPUs")
        )


class PlaceAttributes(NamedTuple):
    """Attributes of machines that an administrator has made; empty for those that there are not.

    Attributes:
        host_class: the one that names a machine's class.
        cluster: the one that names its cluster.
    """

    host_class: str = ""
    cluster: str = ""


def slot_projection(places: PlaceAttributes) -> list[str]:
    """Return the attributes of slots that `pool_hosts` reads."""
    return [*_SLOT_ATTRIBUTES, *filter(None, places)]


def pool_hosts(
    slots: Iterable[Mapping[str, Any]],
    places: PlaceAttributes,
    ours: OfSlot,
    requirements: JobRequirements,
    *,
    idle_claims: Collection[str] = (),
    slot_hosts: bool = False,
) -> list[Host]:
    """Return one host for each machine, sorted by name; with `slot_hosts` one for each static slot.

    Args:
        slots: ads of slots; a machine with several is up when one of them is.
        places: the attributes that name a machine's class and cluster.
        ours: returns whether a slot's job is cosched's.
        requirements: requirements of a job of cosched's; a partitionable slot that has less left is claimed.
        idle_claims: names of the slots that other users keep claimed without a job.
        slot_hosts: whether each static slot is a host by its own name.
    """

    def is_foreign(slot: Mapping[str, Any]) -> bool:
        return _is_foreign(slot, ours) or slot.get("Name") in idle_claims

    by_machine: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for slot in slots:
        parted = slot.get("PartitionableSlot") is True or slot.get("DynamicSlot") is True
        name = str(slot.get("Name" if slot_hosts and not parted else "Machine", ""))
        if name and "," not in name:
            by_machine[name].append(slot)
    hosts = [_machine_host(name, by_machine[name], places, is_foreign, requirements) for name in sorted(by_machine)]
    return [replace(host, unparted=slot_hosts and _is_slot(host.name)) for host in hosts]


def _is_slot(name: str) -> bool:
    """Return whether a host is a static slot ("slot2@machine"), which no other job shares."""
    return "@" in name


def _machine_host(
    name: str,
    slots: Sequence[Mapping[str, Any]],
    places: PlaceAttributes,
    is_foreign: OfSlot,
    requirements: JobRequirements,
) -> Host:
    usable = [slot for slot in slots if not _why_unavailable(slot)]
    named, cluster = (str((usable or slots)[0].get(each, "")) if each else "" for each in places)
    memory, cores, gpus = (_largest(slots, resource) for resource in ("Memory", "Cpus", "GPUs"))
    owner = sum(map(_has_owner, slots)) / len(slots)
    host = Host(
        name,
        named,
        memory=memory,
        cores=cores,
        gpus=gpus,
        others=_others_share(slots, is_foreign),
        owner_takes=owner,
        cluster=cluster,
    )
    if not usable:
        return replace(host, up=False, reason=_why_unavailable(slots[0]))
    foreign = [slot for slot in usable if is_foreign(slot)]
    rest = [slot for slot in usable if slot not in foreign]
    parted = any(slot.get("PartitionableSlot") is True for slot in usable)
    if parted:  # what is left of it counts, with what our own jobs have of it now
        claimed = not requirements.met_by(rest)
        # The collector shows what has just become free a moment late.
        claimed = claimed and bool(foreign or not requirements.met_by([{"Disk": math.inf, **_whole_machine(host)}]))
    else:
        claimed = not rest
    if not claimed and host.others == HostShare():
        return host
    owners = sorted({str(slot.get("RemoteOwner", "")) for slot in foreign} - {""})
    return replace(host, reason=f"claimed by {', '.join(owners) or 'others'}", claimed=claimed)


def _whole_machine(host: Host) -> dict[str, float]:
    return {"Cpus": host.cores or 0, "Memory": host.memory or 0, "GPUs": host.gpus or 0}


def _others_share(slots: Iterable[Mapping[str, Any]], is_foreign: OfSlot) -> HostShare:
    """Return what foreign jobs and claims hold of a machine's partitionable slots."""
    held = [slot for slot in slots if slot.get("DynamicSlot") is True and is_foreign(slot)]
    memory, cores, gpus = (sum(whole_number(slot, name) for slot in held) for name in ("Memory", "Cpus", "GPUs"))
    return HostShare(memory, cores, gpus)


def _largest(slots: Sequence[Mapping[str, Any]], resource: str) -> int | None:
    """Return the most that one job may have of a machine; None if unknown."""
    found = [
        whole_number(slot, f"TotalSlot{resource}" if slot.get("PartitionableSlot") is True else resource, -1)
        for slot in slots
        if slot.get("DynamicSlot") is not True  # its partitionable one stands for it
    ]
    sizes = [size for size in found if size >= 0]
    if resource == "GPUs" and not sizes and any("Cpus" in slot for slot in slots):
        return 0  # only slots with GPUs name them
    return max(sizes) if sizes else None


def _amount(slot: Mapping[str, Any], name: str) -> float:
    """Return how much of a resource a slot has; 0 where its host says nothing that makes sense."""
    value = slot.get(name)
    return math.inf if value == math.inf else float(max(whole_number(slot, name), 0))


def _is_foreign(slot: Mapping[str, Any], ours: OfSlot) -> bool:
    """Return whether the machine's owner or a foreign job occupies the slot."""
    if slot.get("State") == "Owner":
        return True
    # One that is driven away may take minutes to go: meanwhile nothing else begins there.
    return slot.get("State") in ("Claimed", "Preempting") and "JobId" in slot and not ours(slot)


def _has_owner(slot: Mapping[str, Any]) -> bool:
    """Return whether the machine's owner uses a slot: no job may begin there, and one that had begun stands still."""
    if slot.get("Offline") is True or slot.get("Draining") is True:
        return False
    if slot.get("State") == "Unclaimed":  # by default HTCondor no longer calls it Owner
        return slot.get("Start") is False
    return slot.get("State") == "Owner" or slot.get("Activity") == "Suspended"


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
