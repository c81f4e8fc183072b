from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from cosched.cli.task.submission import request_of
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_750_000_000.0


def test_words_become_a_request() -> None:
    request, note = request_of(
        "sweep3d",
        (),
        now=NOW,
        deadline="now+1h",
        settings=["nx=50", "title=a=b"],
        hosts="2-4",
        profile="5,-,3",
        name="n",
        environment=["A="],
        time_limit="2m",
        best_effort=True,
        after=["1", "2"],
    )
    assert note == ""
    assert request == TaskRequest(
        application="sweep3d",
        parameters={"nx": "50", "title": "a=b"},
        deadline=NOW + 3600,
        hosts="2-4",
        profile=(5.0, None, 3.0),
        name="n",
        environment={"A": ""},
        best_effort=True,
        time_limit=120.0,
        after=("1", "2"),
    )


def test_a_preparation_is_words_as_a_shell_splits_them() -> None:
    assert request_of("sweep3d", (), now=NOW, prepare="/bin/sh -c 'echo $X'")[0].prepare == (
        "/bin/sh",
        "-c",
        "echo $X",
    )
    for wrong in ("'", " ", "/no/such/program"):
        with pytest.raises(UserError, match=r"prepare|no program"):
            request_of("sweep3d", (), now=NOW, prepare=wrong)


def test_a_program_is_found_where_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    by_path, _ = request_of("", ("./tool", "x"), now=NOW)
    assert by_path.command == (str(tmp_path / "tool"), "x")
    assert by_path.directory == str(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert request_of("", ("tool",), now=NOW)[0].command == (str(tmp_path / "tool"),)


def test_a_directory_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert request_of("sweep3d", (), now=NOW, directory="runs")[0].directory == str(tmp_path / "runs")
    assert request_of("sweep3d", (), now=NOW)[0].directory == ""


@pytest.mark.parametrize("setting", ["nx", "=5", ""])
def test_a_setting_needs_a_name_and_a_value(setting: str) -> None:
    with pytest.raises(UserError, match="is not NAME=VALUE"):
        request_of("sweep3d", (), now=NOW, settings=[setting])
