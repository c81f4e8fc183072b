"""Shares divide a domain between groups and users.

Usage decays by its half-life, as in HTCondor's effective user priority. Start at `Shares`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.task import Task

__all__ = [
    "Share",
    "ShareKind",
    "ShareSetting",
    "Shares",
    "UserUsage",
    "decayed_host_seconds",
    "fewest_hosts",
    "share_user",
    "with_settings",
]

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Share:
    """Part of the domain that a user or group is entitled to; None bounds nothing.

    Attributes:
        weight: its part among its siblings, above 0.
        budget: host-hours that its deadlines may claim in a window.
        hosts: most hosts that its tasks have at once.
        waiting: most of its tasks that wait at once.
    """

    weight: float = 1.0
    budget: float | None = None
    hosts: int | None = None
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """The tree of shares: groups, and users in groups or without one.

    Attributes:
        half_life: seconds after which usage counts half.
        window: seconds of a window for budgets; windows are counted from 1970-01-01 00:00 UTC.
        groups: by name.
        users: by name; each other one has the share `default`.
        members: user → group.
    """

    half_life: float = 7 * 24 * _HOUR
    window: float = 24 * _HOUR
    groups: Mapping[str, Share] = field(default_factory=dict)
    users: Mapping[str, Share] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    default: Share = Share()

    @property
    def limits_hosts(self) -> bool:
        """Return whether anybody's running hosts are limited."""
        every = (self.default, *self.groups.values(), *self.users.values())
        return any(share.hosts is not None for share in every)

    def of_user(self, user: str) -> Share:
        """Return a user's share."""
        return self.users.get(user, self.default)

    def of_group(self, group: str) -> Share:
        """Return a group's share."""
        return self.groups.get(group, Share())

    def group_of(self, user: str) -> str:
        """Return a user's group, empty for none."""
        return self.members.get(user, "")

    def window_begin(self, time: float) -> float:
        """Return when the window of a time began, epoch seconds."""
        return math.floor(time / self.window) * self.window


class ShareKind(StrEnum):
    """Kinds of shares."""

    GROUP = "group"
    USER = "user"


@dataclass(frozen=True, slots=True)
class ShareSetting:
    """A share that was set by command; None leaves the configuration's value.

    Attributes:
        name: the user's or group's.
        group: group that a user is moved to; empty for none.
        by: name of the administrator.
        time: when, epoch seconds.
    """

    kind: ShareKind
    name: str
    weight: float | None = None
    budget: float | None = None
    hosts: int | None = None
    waiting: int | None = None
    group: str | None = None
    by: str = ""
    time: float = 0.0

    def over(self, share: Share) -> Share:
        """Return a share with the values that are set here."""
        given = {name: getattr(self, name) for name in ("weight", "budget", "hosts", "waiting")}
        return replace(share, **{name: value for name, value in given.items() if value is not None})


def with_settings(shares: Shares, settings: Iterable[ShareSetting]) -> Shares:
    """Return the shares of the configuration with settings over them."""
    groups, users, members = dict(shares.groups), dict(shares.users), dict(shares.members)
    for setting in settings:
        if setting.kind is ShareKind.GROUP:
            groups[setting.name] = setting.over(groups.get(setting.name, Share()))
            continue
        users[setting.name] = setting.over(users.get(setting.name, shares.default))
        if setting.group:
            members[setting.name] = setting.group
        elif setting.group is not None:
            members.pop(setting.name, None)
    return replace(shares, groups=groups, users=users, members=members)


@dataclass(frozen=True, slots=True)
class UserUsage:
    """Hosts that a user has had and claims, as of a time.

    Attributes:
        host_seconds: decayed, of ended attempts.
        time: for which it is so, epoch seconds.
        claimed: host-seconds that deadlines have claimed in the window which began at `window`.
        window: epoch seconds.
    """

    user: str
    host_seconds: float = 0.0
    time: float = 0.0
    claimed: float = 0.0
    window: float = 0.0

    def at(self, time: float, half_life: float) -> float:
        """Return the decayed host-seconds at a time."""
        return self.host_seconds * math.exp2(-max(time - self.time, 0.0) / half_life)

    def claimed_in(self, window: float) -> float:
        """Return the host-seconds claimed in the window that began then."""
        return self.claimed if self.window == window else 0.0

    def charged(self, host_seconds: float, time: float, half_life: float) -> UserUsage:
        """Return the usage at a time with more host-seconds, which have decayed up to then."""
        time = max(time, self.time)
        return replace(self, host_seconds=self.at(time, half_life) + host_seconds, time=time)

    def claiming(self, host_seconds: float, window: float) -> UserUsage:
        """Return the usage with a claim added, or given back where negative."""
        return replace(self, claimed=max(self.claimed_in(window) + host_seconds, 0.0), window=window)


def share_user(task: Task) -> str:
    """Return the user whose share a task is charged to.

    All users of a neighbouring domain are one.
    """
    return f"@{task.origin}" if task.origin else task.owner


def decayed_host_seconds(hosts: float, begin: float, end: float, half_life: float) -> float:
    """Return what hosts taken from `begin` to `end` count for at the end.

    It is the integral of hosts · 2^(-age / half_life): it does not matter how often it is counted.
    """
    return hosts * half_life / math.log(2) * -math.expm1(-math.log(2) * max(end - begin, 0.0) / half_life)


def fewest_hosts(task: Task) -> float:
    """Return the fewest hosts that a task can run on."""
    if task.profile is None:
        return task.spec.count
    return next((count for count, value in enumerate(task.profile.seconds, start=1) if math.isfinite(value)), math.inf)
