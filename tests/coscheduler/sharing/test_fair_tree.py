from __future__ import annotations

from collections import Counter

import pytest

from cosched.coscheduler.sharing.fair_tree import fair_order, fair_tree_factors
from cosched.coscheduler.sharing.shares import Share, Shares

TREE = Shares(
    groups={"physics": Share(3.0), "biology": Share(1.0)},
    users={"ada": Share(2.0)},
    members={"ada": "physics", "bob": "physics", "cyd": "biology"},
)


def users_in_order(shares: Shares, used: dict[str, float], tasks: list[tuple[str, float]]) -> list[str]:
    return [tasks[place][0] for place in fair_order(shares, used, tasks)]


def test_users_alternate_by_what_they_are_charged_and_own_tasks_keep_their_order() -> None:
    tasks = [("ada", 1.0)] * 3 + [("bob", 1.0)] * 3
    assert fair_order(Shares(), {}, tasks) == [0, 3, 1, 4, 2, 5]


def test_who_has_had_more_waits_until_the_others_have_had_as_much() -> None:
    tasks = [("ada", 1.0)] * 2 + [("bob", 1.0)] * 3
    assert users_in_order(Shares(), {"ada": 2.5}, tasks) == ["bob", "bob", "bob", "ada", "ada"]


@pytest.mark.parametrize("seconds", [1.0, 7.0])
def test_groups_get_their_parts_and_users_theirs_of_the_groups(seconds: float) -> None:
    tasks = [(user, seconds) for user in ("cyd", "bob", "ada") for _ in range(400)]
    first = Counter(users_in_order(TREE, {}, tasks)[:400])
    assert (first["ada"], first["bob"], first["cyd"]) == pytest.approx((200, 100, 100), abs=1)


def test_a_group_that_has_had_much_comes_last_whichever_member_had_it() -> None:
    tasks = [("ada", 1.0), ("cyd", 1.0)]
    assert users_in_order(TREE, {"bob": 100.0}, tasks) == ["cyd", "ada"]


def test_factors_rank_users_from_the_root_down_and_equals_alike() -> None:
    assert fair_tree_factors(TREE, {"cyd": 1.0}, ["ada", "bob", "cyd"]) == {
        "ada": 1.0,
        "bob": 1.0,
        "cyd": pytest.approx(1 / 3),
    }
    ranked = fair_tree_factors(TREE, {"ada": 1.0, "bob": 1.0, "cyd": 2.0}, ["ada", "bob", "cyd"])
    assert ranked == pytest.approx({"ada": 1.0, "bob": 2 / 3, "cyd": 1 / 3})
