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


@pytest.fixture
def password(tmp_path: Path) -> str:
    """A private file with a password in it."""
    file = tmp_path / "password"
    file.write_text("correct horse battery\n")
    file.chmod(0o600)
    return str(file)


def test_an_account_is_made_changed_listed_and_forgotten(capsys: pytest.CaptureFixture[str], password: str) -> None:
    assert run(["account", "add", "bob", "--password-file", password]) == 0
    assert run(["account", "add", "bob", "--password-file", password]) == 1
    assert "bob" in capsys.readouterr().err
    assert run(["account", "list", "--json"]) == 0
    (account,) = json.loads(capsys.readouterr().out)
    assert (account["name"], account["role"], account["enabled"]) == ("bob", "user", True)
    capsys.readouterr()
    assert run(["account", "set", "bob"]) == 1
    assert "nothing is set: give --role" in capsys.readouterr().err
    assert run(["account", "remove", "bob"]) == 0
    capsys.readouterr()
    assert run(["account", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_password_that_others_can_read_or_guess_is_refused(
    capsys: pytest.CaptureFixture[str], password: str, tmp_path: Path
) -> None:
    (tmp_path / "password").chmod(0o644)
    assert run(["account", "add", "bob", "--password-file", password]) == 1
    assert "can be read by everybody" in capsys.readouterr().err
    (tmp_path / "password").chmod(0o600)
    (tmp_path / "password").write_text("short\n")
    assert run(["account", "add", "bob", "--password-file", password]) == 1
    assert capsys.readouterr().err.count("\n") == 1
