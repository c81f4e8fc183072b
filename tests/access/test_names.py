from __future__ import annotations

import pytest

from cosched.access.principals import checked_user_name, is_user_name
from cosched.errors import UserError


@pytest.mark.parametrize("name", ["ann", "ann.lee@example.org", "uid1234", "a" * 64, "_x", "7"])
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
