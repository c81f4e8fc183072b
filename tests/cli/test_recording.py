from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def json_said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the document that was printed, behind lines of the daemon's log."""
    lines = capsys.readouterr().out.splitlines()
    begin = next(place for place, line in enumerate(lines) if line in ("{", "["))
    return json.loads("\n".join(lines[begin:]))


def submitted(address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COSCHED_SERVER", address)
    assert run(["task", "submit", "halving", "--name", "merger", "--env", "KEY=hunter2"]) == 0
    capsys.readouterr()


def test_a_running_daemon_is_asked_and_names_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.jsonl"
    with serving(tmp_path) as (_, address):
        submitted(address, monkeypatch, capsys)
        assert run(["domain", "record", str(saved)]) == 0
        assert "names replaced, saved in" in capsys.readouterr().out
        assert saved.stat().st_mode & 0o777 == 0o600
        assert "merger" not in saved.read_text()
        assert run(["domain", "record", str(saved), "--with-names", "--json"]) == 0
        assert json_said(capsys)["redacted"] is False
        assert "merger" in saved.read_text()
        assert "hunter2" not in saved.read_text()
        assert run(["audit", "list", "--json"]) == 0
        assert "recording saved" in {deed["action"] for deed in json_said(capsys)}


def test_only_administrators_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["token", "create", "--user", "ann", "--role", "user", "--json"]) == 0
        monkeypatch.setenv("COSCHED_TOKEN", json_said(capsys)["token"])
        assert run(["domain", "record", str(tmp_path / "saved.jsonl")]) == 1
        assert "it has no scope manage" in capsys.readouterr().err
    assert not (tmp_path / "saved.jsonl").exists()


def test_the_folder_of_a_daemon_that_does_not_run_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "cosched.toml"
    config.write_text(f'[domain]\nstate = "{tmp_path}"\n')
    monkeypatch.setenv("COSCHED_CONFIG", str(config))
    saved = tmp_path / "saved.jsonl"
    assert run(["domain", "record", str(saved)]) == 1
    assert f"nothing is recorded in {tmp_path}/recording" in capsys.readouterr().err
    with serving(tmp_path) as (_, address):
        submitted(address, monkeypatch, capsys)
    monkeypatch.delenv("COSCHED_SERVER")
    assert run(["domain", "record", str(saved)]) == 0
    assert run(["replay", str(saved)]) == 0
    assert "submitted task 1" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as (_, address):
        submitted(address, monkeypatch, capsys)
        assert run(["domain", "record", str(tmp_path / "none" / "saved.jsonl")]) == 1
    assert "saved.jsonl cannot be written: No such file" in capsys.readouterr().err
