"""A connector's table: each wrong value is named with what was expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector.settings_table import SettingsTable, numbered_hosts, read_settings, setting
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable


def _table(**values: object) -> SettingsTable:
    return SettingsTable("mine", values, ["key"])


def test_an_unknown_key_is_named_with_those_that_exist() -> None:
    with pytest.raises(UserError, match=r"connector mine has no setting 'other': choose from key"):
        _table(other=1)


@pytest.mark.parametrize(
    ("value", "read", "expected"),
    [
        ("relative", lambda t: t.path("key", "/x", "a folder"), "a folder"),
        ("/a\nb", lambda t: t.path("key", "/x", "a folder"), "'\\\\n'"),
        ("/no/such", lambda t: t.optional_path("key", "a file"), "a file"),
        (3, lambda t: t.name("key"), "a name"),
        ("$x", lambda t: t.name("key"), r"'\$'"),
        ("c", lambda t: t.choice("key", "a", "b"), "one of a, b"),
        ("2s", lambda t: t.seconds("key", 1, 0, 5), "a number of seconds from 0 to 5"),
        (True, lambda t: t.number("key", 1, 0, 5), "a number from 0 to 5"),
        (float("nan"), lambda t: t.number("key", 1, 0, 5), "a number from 0 to 5"),
        (1.5, lambda t: t.whole("key", 1, 0, 5), "a whole number from 0 to 5"),
        ("relative", lambda t: t.state_folder("key"), "the absolute path of a folder"),
        (4097, lambda t: t.hosts("key", 16), "a number from 1 to 4096 or a list of different names"),
        (["a", "a"], lambda t: t.hosts("key", 16), "a number from 1 to 4096 or a list of different names"),
        (["a/b"], lambda t: t.hosts("key", 16), "a number from 1 to 4096 or a list of different names"),
    ],
)
def test_what_cannot_be_used_says_what_can(
    value: object, read: Callable[[SettingsTable], object], expected: str
) -> None:
    with pytest.raises(UserError, match=expected) as refusal:
        read(_table(key=value))
    assert "key" in str(refusal.value)


def test_what_is_left_out_has_its_default() -> None:
    table = _table()
    assert table.path("key", "/x", "a folder") == Path("/x")
    assert table.optional_path("key", "a file") is None
    assert table.name("key") == ""
    assert table.choice("key", "a", "b") == "a"
    assert table.seconds("key", 2, 0, 5) == 2.0
    assert table.whole("key", 3, 0, 5) == 3
    assert table.hosts("key", 2) == ("host01", "host02")


@pytest.mark.parametrize(("base", "root"), [("/x", "/x"), ("", "/h/.local/state"), ("relative", "/h/.local/state")])
def test_a_connectors_state_is_in_the_users_unless_set(base: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("XDG_STATE_HOME", base)
    assert _table().state_folder("key") == Path(root) / "cosched" / "mine"
    assert _table(key="/spool").state_folder("key") == Path("/spool")


@dataclass(frozen=True)
class _Settings:
    spool: Path = setting(SettingsTable.path, "/x", "a folder")
    poll: float = setting(SettingsTable.seconds, 2.0, 0.1, 60)
    kind: str = setting(SettingsTable.choice, "a", "b")


def test_a_table_is_read_by_the_fields_of_its_settings() -> None:
    assert read_settings(_Settings, "mine", {"poll": 5}) == _Settings(Path("/x"), 5.0, "a")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"pol": 5}, "connector mine has no setting 'pol': choose from spool, poll, kind"),
        ({"poll": 0}, "connector mine: poll = 0 is not usable: give a number of seconds from 0.1 to 60"),
    ],
)
def test_a_table_with_a_fault_is_refused_with_its_key(table: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        read_settings(_Settings, "mine", table)


def test_hosts_are_numbered_or_named() -> None:
    assert _table(key=["b", "a"]).hosts("key", 2) == ("b", "a")
    assert numbered_hosts(100)[::99] == ("host001", "host100")
