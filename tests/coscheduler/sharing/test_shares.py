from __future__ import annotations

import pytest

from cosched.coscheduler.sharing.shares import (
    Share,
    ShareKind,
    Shares,
    ShareSetting,
    UserUsage,
    decayed_host_seconds,
    share_user,
    with_settings,
)
from tests.tasks import make_task

HALF_LIFE = 100.0


def test_usage_counts_half_after_a_half_life() -> None:
    usage = UserUsage("ada", 8.0, time=0.0)
    assert [usage.at(time, HALF_LIFE) for time in (0.0, 100.0, 300.0)] == pytest.approx([8.0, 4.0, 1.0])


def test_what_is_charged_does_not_depend_on_how_often() -> None:
    at_once = UserUsage("ada").charged(decayed_host_seconds(4, 0.0, 90.0, HALF_LIFE), 90.0, HALF_LIFE)
    usage = UserUsage("ada")
    for begin in (0.0, 30.0, 60.0):
        usage = usage.charged(decayed_host_seconds(4, begin, begin + 30.0, HALF_LIFE), begin + 30.0, HALF_LIFE)
    assert usage.host_seconds == pytest.approx(at_once.host_seconds)
    assert 4 * 90.0 / 2 < usage.host_seconds < 4 * 90.0


def test_hosts_that_are_always_taken_count_for_a_bounded_usage() -> None:
    assert decayed_host_seconds(1, 0.0, 1e6, HALF_LIFE) == pytest.approx(HALF_LIFE / 0.6931, rel=1e-3)


def test_claims_of_an_earlier_window_are_forgotten() -> None:
    usage = UserUsage("ada").claiming(5.0, window=0.0).claiming(2.0, window=0.0)
    assert (usage.claimed_in(0.0), usage.claimed_in(100.0)) == (7.0, 0.0)
    assert usage.claiming(1.0, window=100.0).claimed_in(100.0) == 1.0
    assert usage.claiming(-9.0, window=0.0).claimed_in(0.0) == 0.0


def test_all_tasks_of_a_neighbouring_domain_are_one_users() -> None:
    assert share_user(make_task(owner="ada")) == "ada"
    assert share_user(make_task(owner="ada:north", origin="north")) == "@north"


def test_a_setting_wins_over_the_configuration_field_by_field() -> None:
    shares = Shares(groups={"physics": Share(3.0, budget=10.0)}, members={"ada": "physics"}, default=Share(hosts=4))
    changed = with_settings(
        shares,
        [
            ShareSetting(ShareKind.GROUP, "physics", weight=5.0),
            ShareSetting(ShareKind.GROUP, "biology", weight=2.0),
            ShareSetting(ShareKind.USER, "ada", weight=2.0, group=""),
            ShareSetting(ShareKind.USER, "bob", group="biology"),
        ],
    )
    assert changed.groups == {"physics": Share(5.0, budget=10.0), "biology": Share(2.0)}
    assert (changed.of_user("ada"), changed.of_user("cyd")) == (Share(2.0, hosts=4), Share(hosts=4))
    assert [changed.group_of(user) for user in ("ada", "bob", "cyd")] == ["", "biology", ""]
