"""Users' own files become requests; what is said on the command line wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.cli.task.submission import requests_of_file
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000.0
SCRIPT = "#!/bin/sh\n#SBATCH -N2-4 -J night --time=10\n#COSCHED --deadline=now+2h --profile=9,5,4,3\ntrue\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    return tmp_path / "job.sh"


def test_a_script_is_one_request_with_all_its_wishes(script: Path) -> None:
    (request,), _ = requests_of_file(script, now=NOW, options={})
    assert (request.name, request.hosts, request.time_limit) == ("night", "2-4", 600.0)
    assert (request.deadline, request.profile) == (NOW + 7200, (9.0, 5.0, 4.0, 3.0))
    assert request.directory == str(script.parent)
    assert request.native is not None
    assert request.native.script == SCRIPT


def test_the_command_line_wins(script: Path) -> None:
    options = {
        "deadline": "now+1h",
        "hosts": "3",
        "name": "mine",
        "time_limit": "1m",
        "application": "sweep3d",
        "after": ["7"],
        "notify": ["ada@example.org"],
    }
    (request,), _ = requests_of_file(script, now=NOW, options=options)
    assert (request.deadline, request.hosts, request.name, request.time_limit) == (NOW + 3600, "3", "mine", 60.0)
    assert request.after == ("7",)
    assert request.notify == ("mailto:ada@example.org",)
    assert request.application == "sweep3d"


def test_an_array_is_as_many_requests(script: Path) -> None:
    script.write_text("#!/bin/sh\n#SBATCH --array=0-9\ntrue\n")
    requests, _ = requests_of_file(script, now=NOW, options={})
    assert [request.environment["SLURM_ARRAY_TASK_ID"] for request in requests] == list("0123456789")


def test_a_file_names_those_it_comes_after_and_the_command_line_more(script: Path) -> None:
    script.write_text("#!/bin/sh\n#SBATCH --array=0-1\n#COSCHED --after=3 --after 4,5\ntrue\n")
    requests, _ = requests_of_file(script, now=NOW, options={"after": ["7", "4"]})
    assert [request.after for request in requests] == [("3", "4", "5", "7")] * 2


def test_a_preparation_beside_a_file_is_refused(script: Path) -> None:
    with pytest.raises(UserError, match="--prepare"):
        requests_of_file(script, now=NOW, options={"prepare": "/bin/true"})


def test_a_file_and_a_command_are_too_much(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["task", "submit", "--file", str(script), "--", "/bin/true"]) == 1
    assert "not both" in capsys.readouterr().err
