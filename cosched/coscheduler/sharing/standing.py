"""Standings say what users and groups are entitled to and have had.

Start at `standings`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.sharing.fair_tree import fair_tree_factors, group_usage
from cosched.coscheduler.sharing.host_limits import fewest_charged
from cosched.coscheduler.sharing.shares import Share, ShareKind, share_user
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.task import Task

__all__ = ["Standing", "beyond_share", "entitled_parts", "share_obstacle", "standings"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Entitlement and usage of a user or group.

    Attributes:
        group: the user's group, empty for none.
        entitled: part of the domain if all known users have tasks, 0 to 1.
        used: decayed host-seconds.
        part: part of all decayed usage, 0 to 1.
        factor: fair-tree factor among the known users; None of groups.
        claimed: host-seconds that its deadlines have claimed in this window.
        hosts: that its tasks have now.
        waiting: tasks that wait.
    """

    kind: ShareKind
    name: str
    share: Share
    group: str
    entitled: float
    used: float
    part: float
    factor: float | None
    claimed: float
    hosts: int
    waiting: int


def entitled_parts(shares: Shares, users: Iterable[str]) -> dict[str, float]:
    """Return each user's part of the domain if these always have tasks; together 1."""
    known = sorted(set(users))
    members: dict[str, list[str]] = {}
    for user in known:
        members.setdefault(shares.group_of(user), []).append(user)
    alone = members.pop("", [])
    weights = {group: shares.of_group(group).weight for group in members}
    whole = sum(weights.values()) + sum(shares.of_user(user).weight for user in alone)
    parts = {user: shares.of_user(user).weight / whole for user in alone}
    for group, its in members.items():
        inside = sum(shares.of_user(user).weight for user in its)
        parts |= {user: weights[group] / whole * shares.of_user(user).weight / inside for user in its}
    return parts


def standings(core: Coscheduler, time: float) -> list[Standing]:
    """Return the standings of all groups, then of known users, by name.

    There are none where shares are not in force.
    """
    fair = core.fair_shares
    if (tree := fair.tree) is None:
        return []
    used = fair.usage(time, core.attempts.values(), core.tasks)
    hosts, waiting = defaultdict[str, float](float), Counter[str]()
    for attempt in core.attempts.values():
        hosts[share_user(core.tasks[attempt.task])] += attempt.charged_hosts
    for task in core.tasks.values():
        waiting[share_user(task)] += task.status.state is TaskState.QUEUED
    users = sorted(tree.users.keys() | tree.members.keys() | used.keys() | waiting.keys() | hosts.keys())
    parts, factors = entitled_parts(tree, users), fair_tree_factors(tree, used, users)
    window, whole = tree.window_begin(time), sum(used.values()) or 1.0
    claimed = {user: fair.record(user).claimed_in(window) for user in users}
    own = [
        Standing(
            ShareKind.USER,
            user,
            tree.of_user(user),
            tree.group_of(user),
            parts[user],
            used.get(user, 0.0),
            used.get(user, 0.0) / whole,
            factors[user],
            claimed[user],
            math.ceil(hosts[user]),
            waiting[user],
        )
        for user in users
    ]
    groups = sorted(tree.groups.keys() | set(tree.members.values()))
    together = group_usage(tree, used)

    def total(group: str, values: Mapping[str, float]) -> float:
        return sum(value for user, value in values.items() if tree.group_of(user) == group)

    return [
        Standing(
            ShareKind.GROUP,
            group,
            tree.of_group(group),
            "",
            total(group, parts),
            together.get(group, 0.0),
            together.get(group, 0.0) / whole,
            None,
            total(group, claimed),
            math.ceil(total(group, hosts)),
            int(total(group, waiting)),
        )
        for group in groups
    ] + own


def share_obstacle(core: Coscheduler, task: Task) -> str:
    """Say that a task's user or group has its hosts already; empty where not."""
    tree, user, room = core.fair_shares.tree, share_user(task), core.host_room()
    if tree is None or room.left(user) >= fewest_charged(task, core.domain) or beyond_share(core, task):
        return ""
    return f"hosts of other tasks: {_limits_text(tree, user)}"


def beyond_share(core: Coscheduler, task: Task) -> str:
    """Say that a task needs more hosts than its user or group may have, as limits were lowered; empty where not."""
    tree, user = core.fair_shares.tree, share_user(task)
    fewest = fewest_charged(task, core.domain)
    if tree is None or fewest <= core.host_room().most(user):
        return ""
    return (
        f"it needs {fewest:g} hosts, and {_limits_text(tree, user)}: give it fewer, or ask an administrator for a "
        "larger share"
    )


def _limits_text(tree: Shares, user: str) -> str:
    group, limit = tree.group_of(user), tree.of_user(user).hosts
    of = [f"user {user} may have {limit}"] if limit is not None else []
    limit = tree.of_group(group).hosts if group else None
    of += [f"group {group} may have {limit}"] if limit is not None else []
    return f"{' and '.join(of)} at once"
