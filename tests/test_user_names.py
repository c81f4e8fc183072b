from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.user_names import checked_user_name, guest_owner, is_user_name


@pytest.mark.parametrize("name", ["ann", "ann.lee@example.org", "ann@north", "uid1234", "a" * 64, "_x", "7"])
def test_names(name: str) -> None:
    assert checked_user_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ann", "ann\n", "ann, root", "-x", ".x", "a" * 65, "änn", "<script>", "{{7*7}}", "a/b", "a\0", "\u202eann"],
)
def test_what_names_nobody(name: str) -> None:
    assert not is_user_name(name)
    with pytest.raises(UserError, match="cannot name a user"):
        checked_user_name(name)


@pytest.mark.parametrize("name", ["ann", "ann@site.org", "", "ann\nroot", "x" * 4096])
def test_the_owner_of_a_guest_is_no_user_of_this_domain(name: str) -> None:
    assert not is_user_name(guest_owner(name, "north"))


def test_the_owner_of_a_guest_has_no_name_that_names_nobody() -> None:
    assert guest_owner("ann@site.org", "north") == "ann@site.org:north"
    assert guest_owner("ann\nroot", "north") == ":north"
