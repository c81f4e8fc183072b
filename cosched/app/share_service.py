"""Shares are shown and set here; what is set by command wins over the configuration.

Start at `ShareService`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.access.principals import require_administrator
from cosched.api.documents import ShareView
from cosched.api.problems import ConflictError, NotFoundError, QuotaError
from cosched.coscheduler.events import SharesChanged
from cosched.coscheduler.sharing.shares import ShareKind, ShareSetting, fewest_hosts, share_user, with_settings
from cosched.coscheduler.sharing.standing import standings
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.user_names import checked_user_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import ShareChange
    from cosched.app.core_access import CoreClient
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.sharing.standing import Standing
    from cosched.coscheduler.task import Task
    from cosched.store.shares import ShareTable

__all__ = ["ShareService", "check_share_limits", "check_share_of_hosts"]

_HOUR = 3600.0
_LARGEST_WEIGHT = 1e6
_LARGEST_LIMIT = 10**9  # hosts, or waiting tasks


class ShareService:
    """Shows and sets shares. Methods may block; any thread may call them."""

    def __init__(self, core: CoreClient, table: ShareTable, configured: Shares | None) -> None:
        """Set up.

        Args:
            core: decides by the shares.
            table: keeps what is set by command.
            configured: shares of the configuration; None where they are not in force.
        """
        self._core = core
        self._table = table
        self._configured = configured

    def shares(self, principal: Principal) -> list[ShareView]:
        """Return the shares of all groups and known users; users see no other user's.

        Raises:
            ConflictError: shares are not in force.
        """
        configured = self._in_force()
        set_by_command = {(each.kind, each.name): each for each in self._table.settings()}
        found = self._core.ask(standings)
        return [
            _view(each, configured, set_by_command.get((each.kind, each.name)))
            for each in found
            if each.kind is ShareKind.GROUP or principal.may_see(each.name)
        ]

    def change(self, principal: Principal, kind: str, name: str, change: ShareChange) -> ShareView:
        """Set the share of a user or group.

        Raises:
            ForbiddenError: the principal is no administrator.
            ConflictError: shares are not in force.
            UserError: the change is at fault.
        """
        require_administrator(principal, "set shares")
        configured = self._in_force()
        settings = {(each.kind, each.name): each for each in self._table.settings()}
        kinds = {str(each): each for each in ShareKind}
        if kind not in kinds:
            raise NotFoundError(f"shares are of a user or a group, not of a {kind[:20]!r}")
        checked_user_name(name.removeprefix("@"))  # "@" and a name stand for a neighbouring domain
        key = (kinds[kind], name)
        _check(change, key[0])
        earlier = None if change.reset else settings.pop(key, None)
        settings.pop(key, None)
        new = replace(
            earlier or ShareSetting(*key),
            **{
                field: value
                for field in ("weight", "budget", "hosts", "waiting", "group")
                if (value := getattr(change, field)) is not None
            },
            by=principal.name,
            time=self._core.now(),
        )
        empty = replace(new, by="", time=0.0) == ShareSetting(*key)
        if not empty:
            settings[key] = new
        tree = with_settings(configured, settings.values())
        if new.group and new.group not in tree.groups:
            raise UserError(f"there is no group {new.group!r}: set its weight first (`cosched share set --group`)")
        if empty:
            self._table.remove(*key)
        else:
            self._table.put(new)
        self._core.apply(SharesChanged(self._core.now(), tree))
        found = self._core.ask(partial(_standing, kind=key[0], name=name))
        return _view(found, configured, settings.get(key))

    def _in_force(self) -> Shares:
        if self._configured is None:
            raise ConflictError("shares are not in force here: an administrator sets `enabled = true` in [shares]")
        return self._configured


def check_share_limits(core: Coscheduler, tasks: Sequence[Task]) -> None:
    """Refuse new tasks beyond the limits of their user or group.

    Raises:
        QuotaError: too many would wait.
        UserError: a task needs more hosts than it may have.
    """
    tree = core.fair_shares.tree
    if tree is None or not tasks:
        return
    user = share_user(tasks[0])
    group = tree.group_of(user)
    for task in tasks:
        check_share_of_hosts(core, task)
    limits = [(f"user {user}", tree.of_user(user).waiting)]
    limits += [(f"group {group}", tree.of_group(group).waiting)] if group else []
    if all(limit is None for _, limit in limits):
        return
    waits = Counter(share_user(task) for task in core.tasks.values() if task.status.state is TaskState.QUEUED)
    counts = waits[user], sum(count for other, count in waits.items() if tree.group_of(other) == group)
    for (name, limit), waiting in zip(limits, counts, strict=False):
        if limit is not None and waiting + len(tasks) > limit:
            raise QuotaError(
                f"{waiting} tasks of {name} wait, and {limit} may: submit {len(tasks)} more when some have begun"
            )


def check_share_of_hosts(core: Coscheduler, task: Task) -> None:
    """Refuse a task that needs more hosts than its user or group may have.

    Raises:
        UserError: the task does.
    """
    most = core.host_room().most(share_user(task))
    if (least := fewest_hosts(task)) > most:
        raise UserError(f"it needs {least:g} hosts and your share allows {most:g} at once: ask for fewer")


def _check(change: ShareChange, kind: ShareKind) -> None:
    if change.weight is not None and not 0 < change.weight <= _LARGEST_WEIGHT:
        raise UserError(f"the weight is {change.weight:g}: give a number above 0, at most {_LARGEST_WEIGHT:g}")
    if change.budget is not None and not (change.budget >= 0 and math.isfinite(change.budget)):
        raise UserError(f"the budget is {change.budget:g} host-hours: give a number of 0 or more")
    for name, value in (("hosts", change.hosts), ("waiting", change.waiting)):
        if value is not None and not 0 <= value <= _LARGEST_LIMIT:
            raise UserError(f"the limit of {name} is {value}: give a whole number of 0 or more")
    if change.group is not None and kind is ShareKind.GROUP:
        raise UserError("a group stands in no other group: leave its group out")


def _standing(core: Coscheduler, time: float, kind: ShareKind, name: str) -> Standing:
    found = [each for each in standings(core, time) if (each.kind, each.name) == (kind, name)]
    if not found:
        raise NotFoundError(f"nothing is known of the {kind} {name!r} any more: the configuration does not name it")
    return found[0]


def _view(standing: Standing, configured: Shares, setting: ShareSetting | None) -> ShareView:
    named = configured.groups if standing.kind is ShareKind.GROUP else configured.users
    in_file = standing.name in named or standing.name in configured.members
    share = standing.share
    return ShareView(
        kind=str(standing.kind),
        name=standing.name,
        group=standing.group,
        weight=share.weight,
        entitled=standing.entitled,
        used=standing.part,
        host_hours=standing.used / _HOUR,
        factor=standing.factor,
        budget=share.budget,
        claimed=standing.claimed / _HOUR,
        hosts=share.hosts,
        running_hosts=standing.hosts,
        waiting=share.waiting,
        waiting_tasks=standing.waiting,
        source="command" if setting is not None else "configuration" if in_file else "default",
        by="" if setting is None else setting.by,
        time=None if setting is None else setting.time,
    )
