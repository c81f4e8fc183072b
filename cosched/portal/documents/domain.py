"""The domain: its hosts, its neighbours, how it is, and how right its predictions were."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "Accuracy",
    "HostView",
    "PeerView",
    "ReservationRequest",
    "ReservationView",
    "Status",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """A host; `task` and `free_at` say what occupies it and until when that is expected.

    Another user's task has no name here: what is not free has `free_at`. `reserved` says for what the host is kept now.
    """

    name: str
    host_class: str
    up: bool
    reason: str
    task: str
    free_at: float | None
    reserved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRequest:
    """Hosts to be kept for others until `end`.

    Attributes:
        start: from when; null: from now.
        name: what for, for people.
    """

    hosts: tuple[str, ...]
    end: float
    start: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationView:
    """Hosts that are kept for others.

    Attributes:
        owner: who made it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    """A neighbouring domain.

    Attributes:
        role: "neighbour", "upper" or "lower".
        paused: nothing new is exchanged with it.
        heard: when it was heard of last; null: not since the daemon started.
        hosts: how many it advertises, and how many of them are `free` now by what it said.
        hardware: resource models of its hosts.
        given: our tasks that it has.
        taken: its tasks that we have.
        fault: why it cannot be reached; empty while it can.
    """

    name: str
    address: str
    role: str
    paused: bool
    heard: float | None
    hosts: int
    free: int
    hardware: tuple[str, ...]
    given: int
    taken: int
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How well an application's run times were predicted on a class of hosts.

    Attributes:
        ratios: measured / predicted as it was at dispatch, the newest run last.
        factor: what the model's own figures are multiplied by now.
        runs: how many runs that was learned from.
    """

    application: str
    hardware: str
    ratios: tuple[float, ...]
    factor: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The daemon in short: `faults` says in sentences what does not work; empty: all is well.

    `tasks` counts those that the asker may see, `calls` how often the manager was asked since the daemon began.
    """

    domain: str
    version: str
    time: float
    connector: str
    policy: str
    hosts_up: int
    hosts_down: int
    tasks: dict[str, int]
    faults: tuple[str, ...]
    calls: dict[str, int] = field(default_factory=dict)
