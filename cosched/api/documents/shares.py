"""Documents of shares: what users and groups are entitled to, and what they have had."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ShareChange", "ShareView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareView:
    """The share of a user or group, and what it has had.

    Attributes:
        kind: "group" or "user".
        group: the user's group; empty for none, and of groups.
        entitled: its part of the domain, 0 to 1, if all users that are known have tasks.
        used: its part of all decayed usage, 0 to 1.
        host_hours: decayed usage.
        factor: fair-tree factor among all known users: 1 for who is next, 1/n for the last of n; null of groups.
        budget: host-hours that its deadlines may claim in a window; null for no bound.
        claimed: host-hours that they have claimed in this window.
        hosts: most hosts at once; null for no bound.
        running_hosts: hosts that it has.
        waiting: most waiting tasks; null for no bound.
        waiting_tasks: its waiting tasks.
        source: where the share comes from: "command", "configuration" or "default".
        by: administrator who set it by command, empty for none.
        time: when, null for never.
    """

    kind: str
    name: str
    group: str
    weight: float
    entitled: float
    used: float
    host_hours: float
    factor: float | None
    budget: float | None
    claimed: float
    hosts: int | None
    running_hosts: int
    waiting: int | None
    waiting_tasks: int
    source: str
    by: str = ""
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareChange:
    """Changes of a share; null stays as it is.

    Attributes:
        group: group that a user is moved to; empty for none.
        reset: forget what was set by command first.
    """

    weight: float | None = None
    budget: float | None = None
    hosts: int | None = None
    waiting: int | None = None
    group: str | None = None
    reset: bool = False
