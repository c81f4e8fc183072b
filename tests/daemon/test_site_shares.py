from __future__ import annotations

import grp
import pwd

import pytest

from cosched.coscheduler.sharing.shares import Share
from cosched.daemon.config.sections import SharesSection
from cosched.daemon.site_shares import configured_shares
from cosched.errors import UserError


def test_shares_are_in_force_only_where_they_are_enabled() -> None:
    assert configured_shares(SharesSection()) is None
    shares = configured_shares(SharesSection(enabled=True))
    assert shares is not None
    assert (shares.groups, shares.users, shares.members) == ({}, {}, {})


def test_a_users_table_leaves_the_bounds_of_each_user_where_it_says_nothing() -> None:
    tables = {"groups": {"physics": {"weight": 3.0, "users": ["ada"]}}, "users": {"ada": {"hosts": 4}}}
    shares = configured_shares(SharesSection.model_validate({"enabled": True, "budget": 8.0, "hosts": 2, **tables}))
    assert shares is not None
    assert (shares.of_user("ada"), shares.of_user("bob")) == (Share(1.0, 8.0, 4), Share(1.0, 8.0, 2))
    assert (shares.of_group("physics"), shares.group_of("ada")) == (Share(3.0), "physics")


def test_a_group_without_users_has_those_of_the_unix_group() -> None:
    user = pwd.getpwall()[0]
    name = grp.getgrgid(user.pw_gid).gr_name
    shares = configured_shares(SharesSection.model_validate({"enabled": True, "groups": {name: {}}}))
    assert shares is not None
    assert shares.group_of(user.pw_name) == name
    missing = SharesSection.model_validate({"enabled": True, "groups": {"no-such-group": {}}})
    with pytest.raises(UserError, match=r"no users, and this machine has no group no-such-group: write users"):
        configured_shares(missing)


def test_a_user_of_two_groups_is_refused() -> None:
    groups = {"physics": {"users": ["ada"]}, "biology": {"users": ["ada"]}}
    with pytest.raises(ValueError, match="user 'ada' stands in groups 'physics' and 'biology'"):
        SharesSection.model_validate({"groups": groups})
