"""The settings of the local connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosched.errors import UserError
from cosched_local import LocalConnector
from cosched_local.local_settings import LocalSettings


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"host": 3}, "no setting 'host': choose from hosts, spool, beside, grace, keep_days"),
        ({"hosts": 0}, "hosts = 0 "),
        ({"hosts": True}, "hosts = True "),
        ({"hosts": 10**9}, "hosts = 1000000000 "),
        ({"hosts": []}, "hosts = [] "),
        ({"hosts": ["a", "a"]}, "hosts = "),
        ({"hosts": ["a/b"]}, "hosts = 'a/b' "),
        ({"hosts": ["a,b"]}, "hosts = 'a,b' "),
        ({"hosts": ["..", "."]}, "hosts = '..' "),
        ({"hosts": "16"}, "hosts = '16' "),
        ({"spool": "relative"}, "the absolute path of a folder"),
        ({"beside": 0}, "beside = 0 "),
        ({"beside": 1.5}, "a whole number from 1 to 4096"),
        ({"grace": "2s"}, "a number from 0 to 3600"),
        ({"grace": float("nan")}, "grace = nan "),
        ({"keep_days": -1}, "keep_days = -1 "),
        ({"clusters": ["delft"]}, "clusters = ['delft'] "),
        ({"clusters": {"delft": "host01"}}, "lists of different slots by name"),
        ({"clusters": {"delft": [1]}}, "lists of different slots by name"),
        ({"clusters": {"": ["host01"]}}, "lists of different slots by name"),
        ({"clusters": {"delft": ["host17"]}}, "lists of different slots by name"),
        ({"clusters": {"delft": ["host01"], "leiden": ["host01"]}}, "lists of different slots by name"),
        ({"clusters": {"del$ft": ["host01"]}}, "cannot be passed to a resource manager"),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(table: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as caught:
        LocalConnector(table)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("base", "root"), [("/x", "/x"), ("", "/h/.local/state"), ("relative", "/h/.local/state")])
def test_the_spool_is_in_the_users_state_unless_set(base: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("XDG_STATE_HOME", base)
    assert LocalSettings.read({}).spool == Path(root) / "cosched" / "local"


def test_hosts_are_numbered_or_named(tmp_path: Path) -> None:
    numbered = LocalConnector({"spool": str(tmp_path / "a")})
    named = LocalConnector({"spool": str(tmp_path / "b"), "hosts": ["alpha", "beta"]})
    assert [host.name for host in numbered.hosts()] == [f"host{number:02}" for number in range(1, 17)]
    assert [host.name for host in named.hosts()] == ["alpha", "beta"]
    numbered.close()
    named.close()
