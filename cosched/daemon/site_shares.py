"""Shares of the configuration, with the members of Unix groups.

Start at `configured_shares`.
"""

from __future__ import annotations

import grp
import pwd
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched.daemon.config.sections import SharesSection, UserShareSection

__all__ = ["configured_shares"]


def configured_shares(section: SharesSection) -> Shares | None:
    """Return the shares of the configuration; None where they are not in force.

    A user whom several Unix groups would take is in the first one that is named.

    Raises:
        UserError: a group has no users, and there is no Unix group of its name.
    """
    if not section.enabled:
        return None
    members: dict[str, str] = {}
    for listed in (True, False):
        for group, table in section.groups.items():
            if (table.users is not None) is listed:
                for user in _unix_members(group) if table.users is None else table.users:
                    members.setdefault(user, group)
    return Shares(
        half_life=section.half_life,
        window=section.window,
        groups={name: _share(table) for name, table in section.groups.items()},
        users={name: _share(table, section) for name, table in section.users.items()},
        members=members,
        default=Share(1.0, section.budget, section.hosts, section.waiting),
    )


def _share(table: UserShareSection, each: SharesSection | None = None) -> Share:
    """Return a share; where its table says nothing, `each` user's bounds hold."""
    bounds = table.model_dump(include={"budget", "hosts", "waiting"}, exclude_none=True)
    default = Share() if each is None else Share(1.0, each.budget, each.hosts, each.waiting)
    return replace(default, weight=table.weight, **bounds)


def _unix_members(name: str) -> list[str]:
    try:
        found = grp.getgrnam(name)
    except KeyError:
        raise UserError(
            f"[shares.groups.{name}] has no users, and this machine has no group {name}: write users = [...]"
        ) from None
    primary = [user.pw_name for user in pwd.getpwall() if user.pw_gid == found.gr_gid]
    return sorted({*found.gr_mem, *primary})
