"""Documents of hosts: what is free of them, their owners' loads, and reservations."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FreeView", "HostLoadView", "HostView", "ReservationRequest", "ReservationView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeView:
    """Free share of a host that tasks share; `memory` in MiB, null where the manager does not say how much it has."""

    memory: int | None
    cores: int
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """A host; `task`, `owner` and `free_at` say what occupies it, and until when.

    Another user's task has no name here: what is not free is `busy`, and `free_at` is null where nobody has predicted
    when that ends. `reserved` says for what the host is kept now.
    `memory` (MiB), `cores` and `gpus` are what a job may have of it; null where the manager does not say.
    Where tasks share hosts, `tasks` are all that have names here, `free` is what is left, and `free_at` is when the
    last of them ends; `task` is the one if there is only one, `owner` names the owners of all, joined by ", ". Else
    `tasks` is empty, `free` null.
    What jobs that are not cosched's hold of it counts in plans until `others_until` (null: there are none), whether or
    not the manager says when they end; `others_cores` are the cores that they hold, 0 for the whole host.
    `cluster` names the hosts, such as those of a site, between which communication is quick; empty where nobody says.
    """

    name: str
    host_class: str
    up: bool
    reason: str
    task: str
    free_at: float | None
    reserved: str = ""
    owner: str = ""
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    tasks: tuple[str, ...] = ()
    free: FreeView | None = None
    others_until: float | None = None
    others_cores: int = 0
    cluster: str = ""
    busy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoadView:
    """Share of a host that an owner or a foreign job takes. Parts of the host are 0 to 1.

    Attributes:
        host: its name.
        cause: "owner", for whom tasks there wait or with whom they share the host; "jobs", which the resource manager
            runs for others in between.
        now: part that is taken now.
        coming: parts that are expected in this hour and the next ones.
        planned: part that plans reckon with; 0 for a cause that lengthens no run.
        departed: whether the load is another than its past foretells, so that plans follow what is seen.
        rate: how often it begins in an hour in which the host is idle.
        mean: how long it lasts, seconds.
        deviation: standard deviation of that, seconds.
        hours: from how many hours this was learnt.
    """

    host: str
    cause: str
    now: float
    coming: tuple[float, ...]
    planned: float
    departed: bool
    rate: float
    mean: float
    deviation: float
    hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRequest:
    """Hosts to be kept for others until `end`.

    Attributes:
        start: its begin; null: now.
        name: its purpose, for people.
    """

    hosts: tuple[str, ...]
    end: float
    start: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationView:
    """Hosts that are kept for others.

    Attributes:
        owner: the user who made it.
        tasks: tasks that are predicted to run into it and are left to run; of other users' nothing.
    """

    id: str
    name: str
    hosts: tuple[str, ...]
    start: float
    end: float
    owner: str
    created: float
    tasks: tuple[str, ...] = ()
