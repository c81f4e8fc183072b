from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        yield


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the command printed; the daemon of this very process writes its log there, too."""
    return "".join(line for line in capsys.readouterr().out.splitlines(keepends=True) if "[info" not in line)


def test_the_secret_alone_goes_to_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["token", "create", "--user", "ann", "--role", "user", "--scope", "read", "--note", "laptop"]) == 0
    token = printed(capsys).strip()
    assert token.startswith("cosched_")
    assert run(["token", "list", "--all"]) == 0
    listed = printed(capsys)
    assert (token in listed, "laptop" in listed) == (False, True)
    monkeypatch.setenv("COSCHED_TOKEN", token)
    assert run(["task", "list"]) == 0
    assert run(["task", "submit", "halving"]) == 1
    assert "has no scope submit" in capsys.readouterr().err


def test_the_list_says_what_gives_each_role(capsys: pytest.CaptureFixture[str]) -> None:
    for user in ("ann", ""):
        assert run(["token", "create", "--user", user, "--note", f"of {user}"]) == 0
    capsys.readouterr()
    assert run(["token", "list", "--all"]) == 0
    lines = printed(capsys).splitlines()
    assert "SOURCE" in lines[0]
    assert ["granted" in line for line in lines if "of ann" in line] == [True]
    assert ["system" in line for line in lines[1:] if "of ann" not in line] == [True]


def test_all_tokens_are_revoked_that_can_be_and_the_others_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Those behind a slip stayed good."""
    made = []
    for _ in range(2):
        assert run(["token", "create", "--json"]) == 0
        made.append(json.loads(printed(capsys))["id"])
    assert run(["token", "revoke", made[0], "nosuch", made[1]]) == 1
    told = capsys.readouterr()
    assert [line for line in told.out.splitlines() if line.startswith("token")] == [
        f"token {each} revoked" for each in made
    ]
    assert "nosuch" in told.err
    assert run(["token", "list", "--json"]) == 0
    assert json.loads(printed(capsys)) == []


def test_a_token_is_revoked_and_that_is_in_the_audit_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "create", "--json"]) == 0
    made = json.loads(printed(capsys))
    assert run(["token", "revoke", made["id"]]) == 0
    assert printed(capsys) == f"token {made['id']} revoked\n"
    assert run(["token", "revoke", made["id"]]) == 1
    capsys.readouterr()
    assert run(["audit", "list", "--json"]) == 0
    assert [deed["action"] for deed in json.loads(printed(capsys))] == ["token revoked", "token created"]
